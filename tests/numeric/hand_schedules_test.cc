// SPDX-License-Identifier: Apache-2.0
// The schedules of bench/hand.cc: right results at every edge, and sums that stay in registers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "autotune/replay.h"
#include "autotune/workloads.h"
#include "bench/contestant.h"
#include "lower/llvm/compile.h"
#include "runtime/thread_pool.h"
#include "tests/support/assembly.h"

namespace tw::bench {
namespace {

using test::count;
using test::inner_loop;

// The kernel to call, with weights bound where there are any.
LoweredParts lowered(const std::string& workload, const Target& target, int threads,
                     const NDArray& weights) {
  const autotune::Workload w = autotune::parse_workload(workload);
  const autotune::Task task = autotune::make_task(w.program, target, threads);
  Problem problem;
  problem.kind = workload.substr(0, workload.find(':'));
  const auto trace = hand_schedule(problem, task);
  EXPECT_TRUE(trace.has_value()) << workload;
  Schedule s = Schedule::create(task.program.outputs);
  s.apply(*trace);
  const std::vector<te::Tensor> constants = te::constants_of(task.program);
  LoweredParts parts = autotune::lower_program(task.program, s, constants, target, "kernel");
  if (!constants.empty()) bind_constants(parts, {{constants[0], weights}});
  return parts;
}

// Integers in floats, so that sums are exact in any order.
NDArray integers(const std::vector<int64_t>& shape, std::mt19937& rng) {
  NDArray a = NDArray::empty(shape, float_type(32));
  std::uniform_int_distribution<int> values(-4, 4);
  for (int64_t i = 0; i < a.size(); ++i) a.data_as<float>()[i] = static_cast<float>(values(rng));
  return a;
}

void expect_product(int64_t m, int64_t n, int64_t k, bool weights, int threads) {
  const std::string workload = fmt::format("gemm:m={},n={},k={},w={}", m, n, k, weights ? 1 : 0);
  SCOPED_TRACE(fmt::format("{} on {} threads", workload, threads));
  std::mt19937 rng(1);
  const NDArray a = integers({m, k}, rng), b = integers({k, n}, rng);
  NDArray c = NDArray::zeros({m, n}, float_type(32));
  std::fill_n(c.data_as<float>(), c.size(), NAN);

  const Target target = Target::host();
  const Kernel kernel = prepare(lowered(workload, target, threads, b), target);
  const Function f = compile({kernel}, target)->get_function("kernel");
  std::vector<CallArgument> arguments = {a};
  if (!weights) arguments.emplace_back(b);
  arguments.emplace_back(c);
  ThreadPool::global().set_num_threads(threads);
  f.call(arguments);
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
      const LoweredParts parts = lowered(workload, target, 1, b);
      const std::string loop = inner_loop(compile({parts.main}, target)->source("asm"));
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
