// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/distinct_programs.h"

#include <fmt/format.h>

#include <set>

#include "autotune/log/replay.h"
#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/visit.h"
#include "runtime/error.h"
#include "runtime/thread_pool.h"
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

std::optional<Outline> DistinctPrograms::outline_of(const Point& point) const {
  if (const auto known = outlines_.find(point); known != outlines_.end()) return known->second;
  try {
    return outline(task_, space_.schedule(point));
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string DistinctPrograms::kernel_of(const Point& point) const {
  if (const auto known = kernels_.find(point); known != kernels_.end()) return known->second;
  return ir_hash(lower_program(task_.program, space_.schedule(point),
                               te::constants_of(task_.program), task_.target, "candidate")
                     .entry());
}

void DistinctPrograms::prepare(const std::vector<Point>& points) {
  const auto in_parallel = [](size_t count, const auto& work) {
    if (count == 0) return;  // zero tasks would mean one a thread
    parallel_for({.num_tasks = static_cast<int32_t>(count), .chunking = Chunking::Dynamic},
                 [&](int32_t k, int32_t) { work(static_cast<size_t>(k)); });
  };
  outlines_.clear();
  kernels_.clear();
  std::vector<std::optional<Outline>> outlines(points.size());
  in_parallel(points.size(), [&](size_t k) { outlines[k] = outline_of(points[k]); });
  // Those whose loops others have too.
  std::unordered_map<std::string, Point> alone;
  std::unordered_set<uint64_t> codes = codes_;
  std::set<Point> compared;
  for (size_t k = 0; k < points.size(); ++k) {
    const auto& own = outlines[k];
    outlines_[points[k]] = own;
    if (!own || !codes.insert(own->code).second) continue;
    const auto group = groups_.find(own->loops);
    const auto [other, first] = alone.try_emplace(own->loops, points[k]);
    if (group != groups_.end()) {
      compared.insert(points[k]);
      compared.insert(group->second.waiting.begin(), group->second.waiting.end());
    } else if (!first) {
      compared.insert({points[k], other->second});
    }
  }
  const std::vector<Point> list(compared.begin(), compared.end());
  std::vector<std::string> kernels(list.size());
  in_parallel(list.size(), [&](size_t k) {
    try {
      kernels[k] = kernel_of(list[k]);
    } catch (const Error&) {  // is said again by `add`
    }
  });
  for (size_t k = 0; k < list.size(); ++k) {
    if (!kernels[k].empty()) kernels_[list[k]] = std::move(kernels[k]);
  }
}

bool DistinctPrograms::add(const Point& point) {
  const std::optional<Outline> own = outline_of(point);
  if (!own) return true;  // measured all the same, so that the log says why
  if (!codes_.insert(own->code).second) return false;
  const auto [found, alone] = groups_.try_emplace(own->loops);
  Group& group = found->second;
  if (alone) {
    group.waiting.push_back(point);
    return true;
  }
  try {
    for (; !group.waiting.empty(); group.waiting.pop_back()) {
      const Point other = group.waiting.back();
      group.kernels.insert(kernel_of(other));
    }
    return group.kernels.insert(kernel_of(point)).second;
  } catch (const Error&) {
    return true;
  }
}

}  // namespace tw::autotune
