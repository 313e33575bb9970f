// SPDX-License-Identifier: Apache-2.0
// The schedules of bench/hand.cc: right results at every edge, and sums that stay in registers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "autotune/log/replay.h"
#include "autotune/task/workloads.h"
#include "bench/contestant.h"
#include "lower/llvm/compile.h"
#include "runtime/thread_pool.h"
#include "tests/support/assembly.h"

namespace tw::bench {
namespace {

using test::assembly_for;
using test::count;
using test::inner_loop;

// Constants are bound in the order of the program's arguments.
KernelModule lowered(const std::string& workload, const Target& target, int threads,
                     const std::vector<NDArray>& values) {
  const autotune::Workload w = autotune::parse_workload(workload);
  const autotune::Task task = autotune::make_task(w.program, target, threads);
  Problem problem;
  problem.kind = workload.substr(0, workload.find(':'));
  const auto trace = hand_schedule(problem, task);
  EXPECT_TRUE(trace.has_value()) << workload;
  Schedule s = Schedule::create(task.program.outputs);
  s.apply(*trace);
  const std::vector<te::Tensor> constants = te::constants_of(task.program);
  KernelModule module = autotune::lower_program(task.program, s, constants, target, "kernel");
  std::vector<ConstantValue> bound;
  for (size_t k = 0; k < constants.size(); ++k) bound.push_back({constants[k], values.at(k)});
  bind_constants(module, bound);
  return module;
}

// Integers in floats, so that sums are exact in any order.
NDArray integers(const std::vector<int64_t>& shape, std::mt19937& rng) {
  NDArray a = NDArray::empty(shape, float_type(32));
  std::uniform_int_distribution<int> values(-4, 4);
  for (int64_t i = 0; i < a.size(); ++i) a.data_as<float>()[i] = static_cast<float>(values(rng));
  return a;
}

void call(const std::string& workload, int threads, const std::vector<NDArray>& constants,
          const std::vector<CallArgument>& arguments) {
  const Target target = Target::host();
  const Kernel kernel = prepare(lowered(workload, target, threads, constants), target).entry();
  ThreadPool::global().set_num_threads(threads);
  compile({kernel}, target)->get_function("kernel").call(arguments);
}

NDArray unwritten(const std::vector<int64_t>& shape) {
  NDArray a = NDArray::empty(shape, float_type(32));
  std::fill_n(a.data_as<float>(), a.size(), NAN);
  return a;
}

void expect_product(int64_t m, int64_t n, int64_t k, bool weights, int threads) {
  const std::string workload = fmt::format("gemm:m={},n={},k={},w={}", m, n, k, weights ? 1 : 0);
  SCOPED_TRACE(fmt::format("{} on {} threads", workload, threads));
  std::mt19937 rng(1);
  const NDArray a = integers({m, k}, rng), b = integers({k, n}, rng);
  const NDArray c = unwritten({m, n});
  std::vector<CallArgument> arguments = {a};
  if (!weights) arguments.emplace_back(b);
  arguments.emplace_back(c);
  call(workload, threads, {b}, arguments);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t r = 0; r < k; ++r)
        sum += a.data_as<float>()[i * k + r] * b.data_as<float>()[r * n + j];
      ASSERT_EQ(c.data_as<float>()[i * n + j], sum) << i << ", " << j;
    }
  }
}

TEST(HandSchedules, ProductsOfAllSizes) {
  for (const bool weights : {true, false}) {
    for (const auto& [m, n, k] : {std::tuple{1, 100, 33}, {3, 64, 16}, {8, 48, 7}, {50, 131, 40}}) {
      for (const int threads : {1, 3}) expect_product(m, n, k, weights, threads);
    }
  }
}

struct Window {
  int64_t ci, h, w, co, k, stride, padding;
};
void expect_convolution(const Window& x, int threads) {
  const std::string workload =
      fmt::format("conv2d_bias_relu:n=1,ci={},h={},w={},co={},k={},s={},p={}", x.ci, x.h, x.w, x.co,
                  x.k, x.stride, x.padding);
  SCOPED_TRACE(fmt::format("{} on {} threads", workload, threads));
  std::mt19937 rng(1);
  const NDArray data = integers({1, x.ci, x.h, x.w}, rng);
  const NDArray weight = integers({x.co, x.ci, x.k, x.k}, rng), bias = integers({x.co}, rng);
  const int64_t height = (x.h + 2 * x.padding - x.k) / x.stride + 1;
  const int64_t width = (x.w + 2 * x.padding - x.k) / x.stride + 1;
  const NDArray out = unwritten({1, x.co, height, width});
  call(workload, threads, {weight, bias}, {data, out});
  const auto pixel = [&](int64_t c, int64_t i, int64_t j) {
    const bool inside = i >= 0 && i < x.h && j >= 0 && j < x.w;
    return inside ? data.data_as<float>()[(c * x.h + i) * x.w + j] : 0.0F;
  };
  for (int64_t at = 0; at < out.size(); ++at) {
    const int64_t f = at / (height * width), i = at / width % height, j = at % width;
    float sum = bias.data_as<float>()[f];
    for (int64_t r = 0; r < x.ci * x.k * x.k; ++r) {
      const int64_t c = r / (x.k * x.k), y = r / x.k % x.k, z = r % x.k;
      sum += pixel(c, i * x.stride + y - x.padding, j * x.stride + z - x.padding) *
             weight.data_as<float>()[f * x.ci * x.k * x.k + r];
    }
    ASSERT_EQ(out.data_as<float>()[at], std::max(sum, 0.0F)) << f << ", " << i << ", " << j;
  }
}

TEST(HandSchedules, ConvolutionsOfAllKinds) {
  for (const Window& x : {Window{5, 9, 28, 32, 3, 1, 1},
                          {8, 7, 7, 40, 3, 1, 1},
                          {16, 15, 15, 33, 1, 1, 0},
                          {6, 14, 14, 64, 3, 2, 1},
                          {7, 8, 12, 20, 1, 2, 0},
                          {3, 17, 19, 16, 7, 2, 3}}) {
    for (const int threads : {1, 3}) expect_convolution(x, threads);
  }
}

// What each target's tile must look like: so many sums, none of which leaves its register.
TEST(HandSchedules, SumsOfAProductStayInRegisters) {
  struct Row {
    const char* target;
    int sums;
    const char* registers;
  };
  for (const Row& row :
       {Row{"llvm -mcpu=sapphirerapids", 24, "%zmm"}, Row{"llvm -mcpu=x86-64-v3", 12, "%ymm"}}) {
    for (const auto& [m, n, k, w] :
         {std::tuple{1024, 1024, 1024, 1}, {128, 768, 768, 0}, {1023, 1025, 1021, 1}}) {
      const std::string workload = fmt::format("gemm:m={},n={},k={},w={}", m, n, k, w);
      const Target target = Target::parse(row.target);
      const NDArray b = NDArray::empty({k, n}, float_type(32));
      const KernelModule module = lowered(workload, target, 1, {b});
      const std::string loop = inner_loop(assembly_for(target, module.entry()));
      SCOPED_TRACE(fmt::format("{} for {}:\n{}", workload, row.target, loop));
      EXPECT_EQ(count(loop, "vfmadd"), row.sums);
      EXPECT_GE(count(loop, row.registers), row.sums);
      EXPECT_EQ(count(loop, "%rsp"), 0);
      EXPECT_GE(count(loop, "prefetch"), 1);
      // Nothing is stored, and little is done beside multiplying and loading.
      EXPECT_LE(count(loop, "\n"), row.sums + 24);
    }
  }
}

}  // namespace
}  // namespace tw::bench
