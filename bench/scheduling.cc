// SPDX-License-Identifier: Apache-2.0
// What comes before lowering: checking that a schedule may be lowered, against lowering it; and
// scheduling and bound inference of sixty operations in one nest.
#include <chrono>

#include "autotune/log/replay.h"
#include "bench/sections.h"
#include "ir/expr.h"
#include "schedule/infer_bound.h"
#include "schedule/normalize.h"
#include "schedule/schedule_ops.h"
#include "schedule/validate.h"

namespace tw::bench {
namespace {

constexpr int kStages = 60, kRepetitions = 30;

template <class F>
double seconds_of(F&& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A chain of operations on a matrix, each of which reads the two before it: every third is a
// stencil, so that regions grow from consumer to producer, and the others are elementwise.
std::vector<te::Tensor> chain() {
  const std::vector<Expr> shape = {1024, 1024};
  std::vector<te::Tensor> tensors = {te::placeholder({1024, 1024 + 2 * kStages}),
                                     te::placeholder({1024, 1024 + 2 * kStages})};
  int width = 1024 + 2 * kStages;
  for (int k = 0; k < kStages; ++k) {
    const te::Tensor a = tensors[tensors.size() - 1], b = tensors[tensors.size() - 2];
    const bool stencil = k % 3 == 2;
    width -= stencil ? 2 : 0;
    tensors.push_back(te::compute({1024, width}, [&](const std::vector<Var>& i) -> Expr {
      const Expr sum = a(i[0], i[1]) + b(i[0], i[1]);
      return stencil ? sum + a(i[0], i[1] + 1) + a(i[0], i[1] + 2)
                     : max(sum, make_zero(sum.dtype()));
    }));
  }
  return {tensors.back()};
}

// All of it in tiles of the last operation, with the lanes of each vectorized.
Schedule fused(const std::vector<te::Tensor>& outputs) {
  const Schedule s = Schedule::create(outputs);
  const Stage last = s[outputs[0]];
  const auto tile = last.tile(last.axis(0), last.axis(1), 8, 64);
  last.parallel(tile.x_outer);
  for (const Stage& stage : s.stages()) {
    if (stage.op()->is_placeholder() || stage.data().is_output) continue;
    stage.compute_at(last, tile.y_outer);
    stage.vectorize(stage.split(stage.axis(1), 16).inner);
  }
  return s;
}

}  // namespace

void measure_scheduling(const autotune::Task& task, const std::vector<Trace>& traces,
                        Results& results) {
  std::vector<double> checking, lowering;
  for (const Trace& trace : traces) {
    const te::Program program = te::parse_program(task.te_text);
    const Schedule schedule = autotune::replay(program, to_text(trace));
    const Schedule normal = normalize(schedule);
    try {
      checking.push_back(seconds_of([&] { validate(normal.data()); }));
      lowering.push_back(seconds_of([&] {
        autotune::lower_program(program, schedule, te::constants_of(program), task.target,
                                "kernel");
      }));
    } catch (const Error&) {  // counted by the section itself
      checking.resize(lowering.size());
    }
  }
  results.add({.name = "scheduling/validate", .samples = std::move(checking)});
  results.add({.name = "scheduling/lower", .samples = std::move(lowering)});

  const std::vector<te::Tensor> outputs = chain();
  std::vector<double> scheduling, bounds, checks, nests;
  for (int k = 0; k < kRepetitions; ++k) {
    Schedule s, normal;
    DomainMap domains;
    scheduling.push_back(seconds_of([&] { s = fused(outputs); }));
    bounds.push_back(seconds_of([&] {
      normal = normalize(s);
      domains = infer_bound(normal);
    }));
    checks.push_back(seconds_of([&] { validate(normal.data()); }));
    nests.push_back(seconds_of([&] { schedule_ops(normal, domains); }));
  }
  results.add({.name = "scheduling/60 stages/primitives", .samples = std::move(scheduling)});
  results.add({.name = "scheduling/60 stages/infer_bound", .samples = std::move(bounds)});
  results.add({.name = "scheduling/60 stages/validate", .samples = std::move(checks)});
  results.add({.name = "scheduling/60 stages/schedule_ops", .samples = std::move(nests)});
}

}  // namespace tw::bench
