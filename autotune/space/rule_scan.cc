// SPDX-License-Identifier: Apache-2.0
// What a scan computes in each of its steps, and what begins its states:
//
//   scan over time: parallel or not over the other axes and chunks of the last; for vectors;
//   reduction; vectors of sums; lanes
//
// Each step waits for the one before, so its loops are short: whether threads share them is a
// choice, as waking them may take longer. The stages stay in the step.
#include <fmt/format.h>

#include "autotune/space/rules.h"
#include "ir/expr.h"
#include "schedule/te/compute.h"

namespace tw::autotune {
namespace {

int variants(const Builder&, size_t) { return 1; }

void apply(Builder& b, size_t op, int) {
  const OperationFacts& f = b.facts(op);
  const Stage stage = b.stage(op);
  b.describe("scan", op);
  b.mark_done(op);
  const std::vector<IterVar>& axes = f.compute->axis;
  // Time alone: one element a step.
  if (axes.size() < 2 || f.extents.back() == 1) return;

  Knob knob{.kind = Knob::Kind::Tile,
            .label = fmt::format("{}.{}", f.op.name(), axes.back().name())};
  knob.choices = chunk_choices(b.target(), f.extents.back());
  const auto [chunk, rest] = b.split(knob, stage, axes.back());
  const auto [vectors, lanes] = b.split(knob, stage, rest);
  for (const auto& c : knob.choices) knob.values.push_back({c[0] * c[1], c[1]});
  b.add_knob(std::move(knob));

  std::vector<IterVar> shared(axes.begin() + 1, axes.end() - 1);
  shared.push_back(chunk);
  std::vector<IterVar> order = {axes.front()};
  order.insert(order.end(), shared.begin(), shared.end());
  order.insert(order.end(), f.compute->reduce_axis.begin(), f.compute->reduce_axis.end());
  order.push_back(vectors);
  order.push_back(lanes);
  stage.reorder(order);
  stage.vectorize(lanes);
  const IterVar fused = fuse_all(stage, shared);
  b.add_parallel_knob(stage, fused);
  if (f.is_reduction) b.add_unroll_knob(stage, {f.compute->reduce_axis[0]});
}

}  // namespace

const Rule kScanRule = {"scan", variants, apply};

}  // namespace tw::autotune
