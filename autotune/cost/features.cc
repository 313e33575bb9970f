// SPDX-License-Identifier: Apache-2.0
#include "autotune/cost/features.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "autotune/cost/loop_nest.h"
#include "autotune/cost/prior.h"
#include "autotune/cost/register_tile.h"
#include "autotune/cost/statement_features.h"
#include "autotune/log/replay.h"
#include "runtime/half.h"
#include "schedule/infer_bound.h"
#include "schedule/kernel_part.h"
#include "schedule/normalize.h"
#include "schedule/schedule_ops.h"

namespace tw::autotune {
namespace {

// Of the whole nest.
const std::vector<std::string> kNestNames = {"nest.statements", "nest.cycles", "nest.imbalance",
                                             "nest.buffers",    "nest.moved",  "nest.code"};

// The statement that does most of the work, however it is scheduled: so that its columns mean the
// same in all candidates of a task.
size_t main_statement(const std::vector<NestStatement>& nest) {
  size_t most = 0;
  double work = -1;
  for (size_t k = 0; k < nest.size(); ++k) {
    const double own = nest[k].iterations() * (1 + nest[k].operations.floating());
    if (own > work) most = k, work = own;
  }
  return most;
}

std::vector<double> nest_features(const std::vector<NestStatement>& nest, const NestCost& cost,
                                  const MachineModel& machine, size_t main) {
  double arithmetic = 0, buffers = 0, moved = 0, code = 0, speedup = 1;
  for (size_t k = 0; k < nest.size(); ++k) {
    arithmetic += nest[k].iterations() * nest[k].operations.floating();
    if (k != main) moved += cost.statements[k].total;
    speedup = std::max(speedup, cost.statements[k].speedup);
    for (const Access& a : nest[k].accesses) {
      if (a.is_store && a.realize_depth > 0) buffers += a.allocated_elements * a.element_bytes;
    }
    if (nest[k].accesses.empty()) continue;
    const RegisterTile tile = register_tile(nest[k], machine);
    code += nest[k].iterations() / extents_outside(nest[k], tile.code) / tile.lanes;
  }
  const double lanes = machine.vector_bits / 32.0;
  return {double(nest.size()),
          log_ratio(cost.cycles * machine.threads, std::max(1.0, arithmetic / lanes)),
          log_ratio(speedup, machine.threads),
          log_ratio(buffers, machine.cache_bytes[1]),
          log_ratio(moved, std::max(1.0, cost.cycles)),
          log_ratio(code, 1)};
}

}  // namespace

const std::vector<std::string>& feature_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result = kNestNames;
    for (const char* group : {"main.", "rest."}) {
      for (const std::string& name : statement_feature_names()) result.push_back(group + name);
    }
    return result;
  }();
  return names;
}

void Features::append_to(std::vector<float>& matrix) const {
  for (uint16_t bits : rows) matrix.push_back(float16_to_float(bits));
}

Features extract_features(const Stmt& nest, const Target& target, int threads,
                          const Producers& cold) {
  const MachineModel machine = machine_model(target, threads);
  const std::vector<NestStatement> statements = analyze_nest(nest, cold);
  const NestCost cost = nest_cost(statements, machine);
  const size_t main = main_statement(statements), columns = statement_feature_names().size();
  std::vector<double> of_main(columns), of_rest(columns);
  double weight = 0;
  for (size_t k = 0; k < statements.size(); ++k) {
    const auto own = statement_features(statements[k], cost.statements[k], machine, cost.cycles);
    if (k == main) {
      of_main = own;
      continue;
    }
    // Others count by what they cost.
    const double own_cycles = cost.statements[k].total;
    weight += own_cycles;
    for (size_t c = 0; c < columns; ++c) of_rest[c] += own_cycles * own[c];
  }
  if (weight > 0) {
    for (double& x : of_rest) x /= weight;
  }
  Features features{.prior_seconds = cost.seconds};
  for (const auto& part : {nest_features(statements, cost, machine, main), of_main, of_rest}) {
    for (double x : part) features.rows.push_back(double_to_float16(x));
  }
  return features;
}

namespace {

struct TaskNest {
  Stmt nest;
  Producers cold;
};

TaskNest nest_of(const Task& task, Schedule&& schedule) {
  const Schedule normal = normalize(std::move(schedule));
  const std::vector<te::Tensor> constants = constants_of(task.program);
  const KernelPart part = parts_of(normal, constants).main;
  TaskNest result{.nest = schedule_ops(normal, infer_bound(normal), {}, part), .cold = {}};
  if (task.caches != CacheState::ColdConstants) return result;
  for (const te::Tensor& t : constants) result.cold.insert(t.op().get());
  for (const Stage& stage : normal.stages()) {
    if (stage.data().storage.precomputed) result.cold.insert(stage.op().get());
  }
  return result;
}

Schedule applied(const Task& task, const Trace& trace) {
  Schedule schedule = Schedule::create(task.program.outputs);
  schedule.apply(trace);
  return schedule;
}

}  // namespace

Features extract_features(const Task& task, Schedule&& schedule) {
  const TaskNest of_task = nest_of(task, std::move(schedule));
  return extract_features(of_task.nest, task.target, task.threads, of_task.cold);
}

Features extract_features(const Task& task, const Trace& trace) {
  return extract_features(task, applied(task, trace));
}

double prior_seconds(const Task& task, Schedule&& schedule) {
  const TaskNest of_task = nest_of(task, std::move(schedule));
  return nest_seconds(analyze_nest(of_task.nest, of_task.cold),
                      machine_model(task.target, task.threads));
}

double prior_seconds(const Task& task, const Trace& trace) {
  return prior_seconds(task, applied(task, trace));
}

}  // namespace tw::autotune
