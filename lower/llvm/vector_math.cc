// SPDX-License-Identifier: Apache-2.0
#include "lower/llvm/vector_math.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tw::codegen {
namespace {

struct Row {
  std::string_view name;
  int arguments = 1;
};
constexpr Row kFunctions[] = {{"exp"},  {"exp2"}, {"log"},      {"log2"}, {"log10"}, {"sin"},
                              {"cos"},  {"tan"},  {"sinh"},     {"cosh"}, {"tanh"},  {"asin"},
                              {"acos"}, {"atan"}, {"atan2", 2}, {"erf"},  {"pow", 2}};

// Names follow the vector function ABI of x86: a letter says which registers carry the vectors.
struct Registers {
  int bits;
  char letter;
};
Registers widest(const Target& target, int vector_bits) {
  const auto enabled = [&](std::string_view feature) {
    return std::ranges::find(target.features, "-" + std::string(feature)) == target.features.end();
  };
  if (vector_bits >= 512) return {512, 'e'};
  // FMA came with AVX2 on every processor that has both.
  if (vector_bits == 256) return {256, target.has_fma && enabled("avx2") ? 'd' : 'c'};
  return {128, 'b'};
}

void* library() {
  static void* const handle = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
  return handle;
}

}  // namespace

void* vector_symbol(std::string_view symbol) {
  if (!symbol.starts_with("_ZGV") || library() == nullptr) return nullptr;
  return dlsym(library(), std::string(symbol).c_str());
}

VectorFunction find_vector_function(std::string_view name, int bits, int lanes,
                                    const Target& target) {
  const auto* row = std::ranges::find(kFunctions, name, &Row::name);
  if (row == std::end(kFunctions) || !target.triple.starts_with("x86_64")) return {};
  const int wanted =
      std::clamp(bits * static_cast<int>(std::bit_ceil(unsigned(lanes))), 128, target.vector_bits);
  const Registers registers = widest(target, wanted);
  VectorFunction f{.lanes = registers.bits / bits};
  f.symbol = fmt::format("_ZGV{}N{}{}_{}{}", registers.letter, f.lanes,
                         row->arguments == 2 ? "vv" : "v", name, bits == 32 ? "f" : "");
  if (vector_symbol(f.symbol) == nullptr) return {};
  return f;
}

}  // namespace tw::codegen
