// SPDX-License-Identifier: Apache-2.0
// Data axes but the last fused and parallel, the last one in vectors; reductions serial between.
// Operations that are not outputs may move into their consumers' loops.
#include <fmt/format.h>

#include "autotune/space/rules.h"
#include "autotune/space/tiles.h"
#include "ir/expr.h"

namespace tw::autotune {
namespace {

int variants(const Builder&, size_t) { return 1; }

// (vectors of a chunk, lanes of a vector). With masks a vector is whole even if the extent is not;
// without, lanes and vectors divide it.
std::vector<std::vector<int64_t>> chunk_choices(const Target& target, int64_t extent) {
  const int64_t lanes = target.vector_lanes(32);
  if (!target.has_masks) {
    return tile_choices(extent, {.levels = 2,
                                 .greatest_inner = lanes,
                                 .greatest_product = 1 << 16,
                                 .preferred_inner = lanes});
  }
  const int64_t covering = covering_lanes(target, extent);
  const int64_t vectors = (extent + covering - 1) / covering;
  std::vector<std::vector<int64_t>> choices;
  for (int64_t d : divisors(vectors)) choices.push_back({d, covering});
  for (int64_t d = 2; d < vectors; d *= 2) {
    if (vectors % d != 0) choices.push_back({d, covering});
  }
  return choices;
}

void apply(Builder& b, size_t op, int) {
  const OperationFacts& f = b.facts(op);
  const Stage stage = b.stage(op);
  b.describe("loops", op);
  b.mark_done(op);
  const std::vector<AttachPoint> points =
      f.is_output ? std::vector<AttachPoint>() : b.common_attach_points(op);
  b.add_location_knob(stage, points);
  b.inherit_attach_points(op, points);
  // As the stage has them now: another rule may have changed its layout.
  const auto* compute = te::as_op<te::ComputeNode>(stage.op());
  if (compute->axis.empty()) return;

  std::vector<IterVar> outer(compute->axis.begin(), compute->axis.end() - 1);
  const IterVar last = compute->axis.back();
  const int64_t extent = *as_const_int(last->domain.extent);
  if (extent > 1) {
    Knob knob{.kind = Knob::Kind::Tile, .label = fmt::format("{}.{}", f.op.name(), last.name())};
    knob.choices = chunk_choices(b.target(), extent);
    auto [chunk, rest] = b.split(knob, stage, last);
    auto [middle, vector] = b.split(knob, stage, rest);
    for (const auto& t : knob.choices) knob.values.push_back({t[0] * t[1], t[1]});
    b.add_knob(std::move(knob));
    outer.push_back(chunk);
    if (f.is_reduction) {
      std::vector<IterVar> order = {middle};
      order.insert(order.end(), compute->reduce_axis.begin(), compute->reduce_axis.end());
      order.push_back(vector);
      stage.reorder(order);
    }
    stage.vectorize(vector);
  } else {
    outer.push_back(last);
  }
  const IterVar fused = outer.size() > 1 ? stage.fuse(outer) : outer[0];
  stage.parallel(fused);
  b.add_attach_point(op, stage, fused);
  if (f.is_reduction) b.add_unroll_knob(stage, stage.reduce_axis(0));
}

}  // namespace

const Rule kLoopsRule = {"loops", variants, apply};

}  // namespace tw::autotune
