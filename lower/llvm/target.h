// SPDX-License-Identifier: Apache-2.0
// What machine code is made for. No LLVM header is needed to use this.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tw {

// Parsed from text such as "llvm -mcpu=znver4 -mattr=+avx512f,-avx512fp16 -mtriple=…".
struct Target {
  std::string triple;
  std::string cpu;
  std::vector<std::string> features;  // "+avx512f", in order, beyond what the cpu implies
  int opt_level = 3;

  // Derived from cpu and features.
  int vector_bits = 128;  // widest vectors that code will use
  int vector_registers = 16;
  bool has_fma = false;
  bool has_masks = false;       // AVX-512 style predicate registers
  bool has_byte_masks = false;  // of lanes of 8 and 16 bits, too
  bool has_ldexp = false;       // floats times powers of two in one instruction
  bool has_f16c = false;        // conversions of float16
  bool has_int8_dot = false;    // groups of four 8-bit products added to 32 bits
  bool has_bf16_dot = false;    // groups of two bfloat16 products added to a float32

  // "llvm" alone is the host. Throws UnknownTarget naming the part and the nearest legal name.
  static Target parse(std::string_view text);
  static Target host();

  // Canonical text: the same machine model gives the same text; part of a log record's key.
  std::string text() const;
  int vector_lanes(int element_bits) const { return vector_bits / element_bits; }
  // Whether accesses of lanes that wide may be masked one by one.
  bool masks(int element_bits) const { return element_bits < 32 ? has_byte_masks : has_masks; }
  // By LLVM's name for it, such as "amx-int8".
  bool has_feature(std::string_view feature) const;
  // What its code may use unasked, such as "avx2"; by LLVM's names.
  std::vector<std::string> instruction_sets() const;
  // Features of this target that the running machine lacks; with any, only a cross build is legal.
  std::vector<std::string> features_missing_on_host() const;
};

// TargetFeature, "<subject> for '<target>', which needs …"; legal: the host, and what else is.
[[noreturn]] void raise_missing_features(const Target& target, std::string_view subject,
                                         std::string_view or_else = {});

// "19.1.7": the code generator's version, for logs.
std::string llvm_version();

}  // namespace tw
