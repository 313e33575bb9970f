// SPDX-License-Identifier: Apache-2.0
#include "runtime/instruction_sets.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tw {
namespace {

#if defined(__x86_64__)
enum Register { kEax, kEbx, kEcx, kEdx };

// Registers that the system must save for a process: bits of XCR0.
constexpr uint64_t kAny = 0, kYmm = 0x6, kZmm = 0xe6, kTiles = 0x60000;

struct Row {
  std::string_view name;
  uint32_t leaf, subleaf;
  Register result;
  int bit;
  uint64_t state;
};

// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A, CPUID; for leaf
// 0x80000001 AMD64 Architecture Programmer's Manual, volume 3, appendix E.
constexpr Row kRows[] = {
    {"cx8", 1, 0, kEdx, 8, kAny},
    {"cmov", 1, 0, kEdx, 15, kAny},
    {"mmx", 1, 0, kEdx, 23, kAny},
    {"sse", 1, 0, kEdx, 25, kAny},
    {"sse2", 1, 0, kEdx, 26, kAny},
    {"sse3", 1, 0, kEcx, 0, kAny},
    {"pclmul", 1, 0, kEcx, 1, kAny},
    {"ssse3", 1, 0, kEcx, 9, kAny},
    {"fma", 1, 0, kEcx, 12, kYmm},
    {"cx16", 1, 0, kEcx, 13, kAny},
    {"sse4.1", 1, 0, kEcx, 19, kAny},
    {"sse4.2", 1, 0, kEcx, 20, kAny},
    {"movbe", 1, 0, kEcx, 22, kAny},
    {"popcnt", 1, 0, kEcx, 23, kAny},
    {"avx", 1, 0, kEcx, 28, kYmm},
    {"f16c", 1, 0, kEcx, 29, kYmm},
    {"bmi", 7, 0, kEbx, 3, kAny},
    {"avx2", 7, 0, kEbx, 5, kYmm},
    {"bmi2", 7, 0, kEbx, 8, kAny},
    {"avx512f", 7, 0, kEbx, 16, kZmm},
    {"avx512dq", 7, 0, kEbx, 17, kZmm},
    {"adx", 7, 0, kEbx, 19, kAny},
    {"avx512ifma", 7, 0, kEbx, 21, kZmm},
    {"avx512cd", 7, 0, kEbx, 28, kZmm},
    {"avx512bw", 7, 0, kEbx, 30, kZmm},
    {"avx512vl", 7, 0, kEbx, 31, kZmm},
    {"avx512vbmi", 7, 0, kEcx, 1, kZmm},
    {"avx512vbmi2", 7, 0, kEcx, 6, kZmm},
    {"gfni", 7, 0, kEcx, 8, kAny},
    {"vaes", 7, 0, kEcx, 9, kYmm},
    {"vpclmulqdq", 7, 0, kEcx, 10, kYmm},
    {"avx512vnni", 7, 0, kEcx, 11, kZmm},
    {"avx512bitalg", 7, 0, kEcx, 12, kZmm},
    {"avx512vpopcntdq", 7, 0, kEcx, 14, kZmm},
    {"amx-bf16", 7, 0, kEdx, 22, kTiles},
    {"avx512fp16", 7, 0, kEdx, 23, kZmm},
    {"amx-tile", 7, 0, kEdx, 24, kTiles},
    {"amx-int8", 7, 0, kEdx, 25, kTiles},
    {"avxvnni", 7, 1, kEax, 4, kYmm},
    {"avx512bf16", 7, 1, kEax, 5, kZmm},
    {"avxifma", 7, 1, kEax, 23, kYmm},
    {"avxvnniint8", 7, 1, kEdx, 4, kYmm},
    {"avxneconvert", 7, 1, kEdx, 5, kYmm},
    {"avxvnniint16", 7, 1, kEdx, 10, kYmm},
    {"sahf", 0x80000001, 0, kEcx, 0, kAny},
    {"lzcnt", 0x80000001, 0, kEcx, 5, kAny},
    {"sse4a", 0x80000001, 0, kEcx, 6, kAny},
    {"prfchw", 0x80000001, 0, kEcx, 8, kAny},
    {"xop", 0x80000001, 0, kEcx, 11, kYmm},
    {"fma4", 0x80000001, 0, kEcx, 16, kYmm},
    {"tbm", 0x80000001, 0, kEcx, 21, kAny},
};

// Register states that the system saves.
uint64_t saved_state() {
  std::array<uint32_t, 4> r{};
  __get_cpuid(1, &r[kEax], &r[kEbx], &r[kEcx], &r[kEdx]);
  if ((r[kEcx] >> 27 & 1) == 0) return 0;  // no xgetbv for processes
  uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

bool has(const Row& row) {
  std::array<uint32_t, 4> r{};
  if (__get_cpuid_count(row.leaf, row.subleaf, &r[kEax], &r[kEbx], &r[kEcx], &r[kEdx]) == 0)
    return false;
  return (r[row.result] >> row.bit & 1) != 0 && (saved_state() & row.state) == row.state;
}

bool is_missing(const std::string& name) {
  const auto* row = std::ranges::find(kRows, name, &Row::name);
  return row != std::end(kRows) && !has(*row);
}
#else
bool is_missing(const std::string&) { return false; }  // a library for x86 does not get this far
#endif

}  // namespace

std::vector<std::string> missing_instruction_sets(std::span<const std::string> names) {
  std::vector<std::string> missing;
  std::ranges::copy_if(names, std::back_inserter(missing), is_missing);
  return missing;
}

}  // namespace tw
