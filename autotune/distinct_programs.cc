// SPDX-License-Identifier: Apache-2.0
#include "autotune/distinct_programs.h"

#include <fmt/format.h>

#include <set>

#include "autotune/replay.h"
#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/visit.h"
#include "runtime/error.h"
#include "schedule/te/text.h"

namespace tw::autotune {
namespace {

// The loops around each store that are neither copied nor run once, as text. Each nest counts
// once: copies of a loop may come from unrolling or from parting.
class LoopsOfStores : public Visitor {
 public:
  std::set<std::string> nests;

 protected:
  using Visitor::on;

  void on(const For& op) override {
    const int64_t extent = as_const_int(op.extent).value_or(-1);
    if (op.for_kind == ForKind::Unrolled || extent == 1) return visit(op.body);
    const size_t outside = path_.size();
    path_ += fmt::format("{}*{} ", static_cast<int>(op.for_kind), extent);
    visit(op.body);
    path_.resize(outside);
  }
  // A prefetch; what computes nothing is removed later.
  void on(const Evaluate& op) override {
    if (const Call* call = as<Call>(op.value)) nests.insert(path_ + call->name);
  }
  void on(const Store& op) override { nests.insert(path_ + to_string(op.value.dtype())); }

 private:
  std::string path_;
};

}  // namespace

Outline outline(const Task& task, const Schedule& schedule) {
  LowerOptions options = candidate_options("candidate");
  options.passes.unroll_explicit = false;  // says which loops unroll, and leaves them
  options.stop_after = "unroll_loop";
  const Kernel kernel =
      lower_program(task.program, schedule, te::constants_of(task.program), task.target, options)
          .entry();
  LoopsOfStores loops;
  loops.visit(kernel.body);
  return {.code = structural_hash(kernel.body),
          .loops = fmt::format("{}", fmt::join(loops.nests, "\n"))};
}

std::string DistinctPrograms::kernel_of(const Point& point) const {
  return ir_hash(lower_program(task_.program, space_.schedule(point),
                               te::constants_of(task_.program), task_.target, "candidate")
                     .entry());
}

bool DistinctPrograms::add(const Point& point) {
  try {
    const Outline own = outline(task_, space_.schedule(point));
    if (!codes_.insert(own.code).second) return false;
    const auto [found, alone] = groups_.try_emplace(own.loops);
    Group& group = found->second;
    if (alone) {
      group.waiting.push_back(point);
      return true;
    }
    for (; !group.waiting.empty(); group.waiting.pop_back()) {
      const Point other = group.waiting.back();
      group.kernels.insert(kernel_of(other));
    }
    return group.kernels.insert(kernel_of(point)).second;
  } catch (const Error&) {
    return true;  // measured all the same, so that the log says why
  }
}

}  // namespace tw::autotune
