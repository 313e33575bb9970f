// SPDX-License-Identifier: Apache-2.0
#include "autotune/measure/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/expr.h"
#include "lower/pipeline.h"
#include "runtime/checksum.h"
#include "runtime/element.h"
#include "runtime/error.h"

namespace tw::autotune {
namespace {

// Vigna, "splitmix64": the k-th number of a stream without the ones before it.
uint64_t random_bits(uint64_t stream, uint64_t k) {
  uint64_t z = stream + (k + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// As compare() below, for a type with a plain representation.
template <class T>
std::optional<Mismatch> compare_as(const T* expected, const T* got, const float* tolerance,
                                   int64_t size) {
  Mismatch first;
  for (int64_t i = 0; i < size; ++i) {
    const double e = static_cast<double>(expected[i]), g = static_cast<double>(got[i]);
    const double allowed = tolerance == nullptr ? 0 : static_cast<double>(tolerance[i]);
    if (std::abs(g - e) <= allowed || e == g) continue;
    if (std::isnan(e) && std::isnan(g)) continue;
    // No bound is known where the reference divides by nothing: any number will do.
    if (!std::isfinite(allowed) && !std::isnan(g)) continue;
    if (first.count++ == 0) first = {i, 1, e, g, allowed};
  }
  if (first.count == 0) return {};
  return first;
}

// The i-th of `n`: any of them, or where rows of random lengths end, the last at the end of all.
int64_t some_position(const Positions& p, uint64_t bits, uint64_t i, uint64_t n) {
  const auto count = static_cast<uint64_t>(p.count);
  if (!p.ascending) return static_cast<int64_t>((bits >> 32) % count);
  if (i + 1 == n) return p.count;
  const double share =
      (static_cast<double>(i) + static_cast<double>(bits >> 11) * 0x1p-53) / static_cast<double>(n);
  return i == 0 ? 0 : static_cast<int64_t>(share * static_cast<double>(count));
}

}  // namespace

void fill_input(const NDArray& array, uint64_t seed, size_t argument, Positions positions) {
  const DType type = array.dtype();
  const uint64_t stream = random_bits(seed, argument);
  auto* bytes = static_cast<char*>(array.data());
  const auto n = static_cast<uint64_t>(array.size());
  const auto step = static_cast<size_t>(type.element_bytes());
  for (uint64_t i = 0; i < n; ++i) {
    const uint64_t bits = random_bits(stream, i);
    if (type == float_type(32)) {
      // 24 bits, so that the value is exact.
      reinterpret_cast<float*>(bytes)[i] =
          static_cast<float>(static_cast<double>(bits >> 40) * 0x1p-23 - 1.0);
    } else if (type.is_float()) {
      store_double(bytes + i * step, type, static_cast<double>(bits >> 11) * 0x1p-52 - 1.0);
    } else if (type.is_bool()) {
      store_int(bytes + i * step, type, static_cast<int64_t>(bits >> 63));
    } else if (positions.count > 0) {
      store_int(bytes + i * step, type, some_position(positions, bits, i, n));
    } else {
      const auto value = static_cast<int64_t>((bits >> 32) % 9);
      store_int(bytes + i * step, type, type.is_uint() ? value : value - 4);
    }
  }
}

void fill_garbage(const NDArray& array) {
  const DType type = array.dtype();
  auto* bytes = static_cast<char*>(array.data());
  if (!type.is_float()) {
    std::memset(bytes, 0xa5, static_cast<size_t>(array.byte_size()));
    return;
  }
  // All bits set is a NaN of every floating type.
  std::memset(bytes, 0xff, static_cast<size_t>(array.byte_size()));
}

uint64_t checksum(const NDArray& array) {
  return tw::checksum(array.data(), static_cast<size_t>(array.byte_size()));
}

double rounding_factor(double reduction, double epsilon) {
  constexpr double kWorstCase = 64;
  const double few = std::min(reduction, kWorstCase);
  const double many = std::max(0.0, reduction - kWorstCase) / 64;
  return epsilon * (few + 8 + many);
}

Kernel lower_unscheduled(const te::Program& program, const Target& target,
                         const std::string& name) {
  LowerOptions options;
  options.name = name;
  for (const Pass& pass : passes()) {
    if (pass.optional) options.disabled.emplace_back(pass.name);
  }
  const Schedule schedule = Schedule::create(program.outputs);
  return lower(schedule, {program.arguments.begin(), program.arguments.end()}, target, options);
}

std::optional<Mismatch> compare(const void* expected, const void* got, const float* tolerance,
                                int64_t size, DType type) {
  if (type == float_type(32)) {
    return compare_as(static_cast<const float*>(expected), static_cast<const float*>(got),
                      tolerance, size);
  }
  const auto step = static_cast<size_t>(type.element_bytes());
  if (!type.is_float()) {
    const auto* e = static_cast<const char*>(expected);
    const auto* g = static_cast<const char*>(got);
    Mismatch first;
    if (std::memcmp(e, g, static_cast<size_t>(size) * step) == 0) return {};
    for (int64_t i = 0; i < size; ++i) {
      const size_t at = static_cast<size_t>(i) * step;
      if (std::memcmp(e + at, g + at, step) == 0) continue;
      if (first.count++ == 0) {
        first = {i, 1, static_cast<double>(load_as_int(e + at, type)),
                 static_cast<double>(load_as_int(g + at, type)), 0};
      }
    }
    return first;
  }
  std::vector<double> e(static_cast<size_t>(size)), g(static_cast<size_t>(size));
  for (size_t i = 0; i < e.size(); ++i) {
    e[i] = load_as_double(static_cast<const char*>(expected) + i * step, type);
    g[i] = load_as_double(static_cast<const char*>(got) + i * step, type);
  }
  return compare_as(e.data(), g.data(), tolerance, size);
}

}  // namespace tw::autotune
