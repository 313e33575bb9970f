// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <cmath>
#include <cstring>
#include <string>
#include <unordered_map>

#include "lower/llvm/jit.h"
#include "lower/llvm/vector_math.h"
#include "runtime/c_api.h"

namespace tw::codegen {
namespace {

template <class F>
void* pointer(F* f) {
  return reinterpret_cast<void*>(f);
}

using Unary = double(double);
using UnaryF = float(float);
using Binary = double(double, double);
using BinaryF = float(float, float);
using Ternary = double(double, double, double);
using TernaryF = float(float, float, float);

}  // namespace

void* runtime_symbol(std::string_view name) {
#define TW_SYMBOL(Name) {#Name, pointer(&Name)}
#define TW_UNARY(Name) \
  {#Name, pointer<Unary>(&::Name)}, { #Name "f", pointer<UnaryF>(&::Name##f) }
#define TW_BINARY(Name) \
  {#Name, pointer<Binary>(&::Name)}, { #Name "f", pointer<BinaryF>(&::Name##f) }
  static const std::unordered_map<std::string_view, void*> table = {
      TW_SYMBOL(tw_set_error),
      TW_SYMBOL(tw_raise_argument_error),
      TW_SYMBOL(tw_check_arguments),
      TW_SYMBOL(tw_parallel_for),
      TW_SYMBOL(tw_parallel_for_dynamic),
      TW_SYMBOL(tw_num_threads),
      TW_SYMBOL(tw_tensor_overlap),
      TW_SYMBOL(tw_request_tile_data),
      TW_SYMBOL(tw_workspace_alloc),
      TW_SYMBOL(tw_workspace_free),
      TW_UNARY(exp),
      TW_UNARY(exp2),
      TW_UNARY(expm1),
      TW_UNARY(log),
      TW_UNARY(log2),
      TW_UNARY(log10),
      TW_UNARY(log1p),
      TW_UNARY(sin),
      TW_UNARY(cos),
      TW_UNARY(tan),
      TW_UNARY(sinh),
      TW_UNARY(cosh),
      TW_UNARY(tanh),
      TW_UNARY(asin),
      TW_UNARY(acos),
      TW_UNARY(atan),
      TW_UNARY(asinh),
      TW_UNARY(acosh),
      TW_UNARY(atanh),
      TW_UNARY(erf),
      TW_UNARY(erfc),
      TW_UNARY(tgamma),
      TW_UNARY(lgamma),
      TW_UNARY(cbrt),
      TW_UNARY(sqrt),
      TW_UNARY(fabs),
      TW_UNARY(floor),
      TW_UNARY(ceil),
      TW_UNARY(trunc),
      TW_UNARY(round),
      TW_UNARY(rint),
      TW_UNARY(nearbyint),
      TW_BINARY(atan2),
      TW_BINARY(pow),
      TW_BINARY(fmod),
      TW_BINARY(hypot),
      TW_BINARY(fmin),
      TW_BINARY(fmax),
      {"ldexp", pointer<double(double, int)>(&::ldexp)},
      {"ldexpf", pointer<float(float, int)>(&::ldexpf)},
      {"fma", pointer<Ternary>(&::fma)},
      {"fmaf", pointer<TernaryF>(&::fmaf)},
      {"memcpy", pointer<void*(void*, const void*, size_t)>(&std::memcpy)},
      {"memmove", pointer<void*(void*, const void*, size_t)>(&std::memmove)},
      {"memset", pointer<void*(void*, int, size_t)>(&std::memset)},
  };
#undef TW_BINARY
#undef TW_UNARY
#undef TW_SYMBOL
  const auto it = table.find(name);
  if (it != table.end()) return it->second;
  if (void* known = vector_symbol(name)) return known;
  // What a tensor intrinsic calls may be any function of the process's libraries.
  return dlsym(RTLD_DEFAULT, std::string(name).c_str());
}

}  // namespace tw::codegen
