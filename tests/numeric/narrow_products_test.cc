// SPDX-License-Identifier: Apache-2.0
// Untuned products of bytes and of bfloat16, and what follows them: right at every edge of tiles
// and vectors, whichever this machine has.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "autotune/log/replay.h"
#include "autotune/search/prior_schedule.h"
#include "lower/llvm/compile.h"
#include "runtime/half.h"
#include "runtime/thread_pool.h"
#include "schedule/te/text.h"

namespace tw::autotune {
namespace {

struct Case {
  int64_t m, n, k;
  const char *a, *b, *sum;
  bool weights;  // B is known when the kernel is built
  int threads = 1;
};

std::string program_of(const Case& c) {
  return fmt::format(
      "te 1\nA = placeholder({a}, [{m}, {k}])\nB = placeholder({b}, [{k}, {n}]{constant})\n"
      "bias = placeholder({s}, [{n}])\n"
      "C = compute([i: {m}, j: {n}], reduce [r: {k}], sum(({s}(A(i, r))*{s}(B(r, j)))))\n"
      "D = compute([i: {m}, j: {n}], max((C(i, j) + bias(j)), {s}(0)))\n"
      "arguments A B bias D\noutputs D\n",
      fmt::arg("a", c.a), fmt::arg("b", c.b), fmt::arg("s", c.sum), fmt::arg("m", c.m),
      fmt::arg("n", c.n), fmt::arg("k", c.k), fmt::arg("constant", c.weights ? ", constant" : ""));
}

// Small integers, whose sums are exact in every type.
struct Numbers {
  NDArray array;
  std::vector<int> values;
};
Numbers numbers(const std::vector<int64_t>& shape, const char* type, std::mt19937& rng) {
  const DType dtype = parse_dtype(type);
  Numbers result{NDArray::empty(shape, dtype), {}};
  std::uniform_int_distribution<int> range(dtype.is_uint() ? 0 : -5, 9);
  for (int64_t i = 0; i < result.array.size(); ++i) {
    const int value = range(rng);
    result.values.push_back(value);
    if (dtype.bits == 8) {
      result.array.data_as<uint8_t>()[i] = static_cast<uint8_t>(value);
    } else if (dtype == bfloat_type(16)) {
      result.array.data_as<uint16_t>()[i] = float_to_bfloat16(static_cast<float>(value));
    } else if (dtype.is_float()) {
      result.array.data_as<float>()[i] = static_cast<float>(value);
    } else {
      result.array.data_as<int32_t>()[i] = value;
    }
  }
  return result;
}

void check(const Case& c) {
  SCOPED_TRACE(program_of(c));
  std::mt19937 rng(11);
  const Numbers a = numbers({c.m, c.k}, c.a, rng), b = numbers({c.k, c.n}, c.b, rng),
                bias = numbers({c.n}, c.sum, rng);
  const NDArray d = NDArray::empty({c.m, c.n}, parse_dtype(c.sum));
  std::memset(d.data(), 0xff, static_cast<size_t>(4 * d.size()));

  const Task task = make_task(program_of(c), Target::host(), c.threads);
  const Schedule s = Schedule::create(task.program.outputs);
  s.apply(prior_schedule(task));
  const std::vector<te::Tensor> constants = te::constants_of(task.program);
  KernelModule module = lower_program(task.program, s, constants, task.target, "kernel");
  std::vector<ConstantValue> bound;
  for (const te::Tensor& t : constants) bound.push_back({t, b.array});
  bind_constants(module, bound);
  ThreadPool::global().set_num_threads(c.threads);
  std::vector<CallArgument> arguments = {a.array};
  if (!c.weights) arguments.emplace_back(b.array);
  arguments.insert(arguments.end(), {bias.array, d});
  const Kernel kernel = prepare(std::move(module), task.target).entry();
  compile({kernel}, task.target)->get_function("kernel").call(arguments);

  for (int64_t i = 0; i < c.m; ++i) {
    for (int64_t j = 0; j < c.n; ++j) {
      int sum = bias.values[size_t(j)];
      for (int64_t r = 0; r < c.k; ++r)
        sum += a.values[size_t(i * c.k + r)] * b.values[size_t(r * c.n + j)];
      const int64_t at = i * c.n + j;
      const int found = d.dtype().is_float() ? static_cast<int>(d.data_as<float>()[at])
                                             : d.data_as<int32_t>()[at];
      ASSERT_EQ(found, std::max(sum, 0)) << "at " << i << ", " << j;
    }
  }
}

TEST(NarrowProducts, OfAllEdges) {
  check({.m = 64, .n = 96, .k = 128, .a = "uint8", .b = "int8", .sum = "int32", .weights = true});
  check({.m = 65, .n = 97, .k = 130, .a = "int8", .b = "int8", .sum = "int32", .weights = true});
  check({.m = 15, .n = 33, .k = 63, .a = "uint8", .b = "uint8", .sum = "int32", .weights = true});
  check({.m = 33, .n = 40, .k = 64, .a = "int8", .b = "uint8", .sum = "int32", .weights = false});
  check({.m = 47, .n = 64, .k = 192, .a = "uint8", .b = "int8", .sum = "int32", .weights = false});
  const char* half = "bfloat16";
  check({.m = 32, .n = 64, .k = 96, .a = half, .b = half, .sum = "float32", .weights = true});
  check({.m = 50, .n = 75, .k = 61, .a = half, .b = half, .sum = "float32", .weights = true});
  check({.m = 70, .n = 30, .k = 64, .a = half, .b = half, .sum = "float32", .weights = false});
}

// Tile registers are each thread's own.
TEST(NarrowProducts, OnSeveralThreads) {
  check({.m = 256,
         .n = 320,
         .k = 128,
         .a = "uint8",
         .b = "int8",
         .sum = "int32",
         .weights = true,
         .threads = 3});
  check({.m = 130,
         .n = 130,
         .k = 70,
         .a = "bfloat16",
         .b = "bfloat16",
         .sum = "float32",
         .weights = true,
         .threads = 3});
}

}  // namespace
}  // namespace tw::autotune
