// SPDX-License-Identifier: Apache-2.0
// Operations that read along another axis than they write. Vectors of the result are columns of
// what is read: tiles of both axes are loaded as rows and transposed in registers, see
// lower/transpose_loads.cc. So do channels that were in blocks behind the image and go before it.
//
//   parallel over the other axes and chunks of columns; for chunks of lanes; for tiles of each;
//   columns; lanes
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "autotune/space/data_axes.h"
#include "autotune/space/rules.h"
#include "autotune/space/tiles.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "schedule/te/compute.h"

namespace tw::autotune {
namespace {

constexpr int64_t kLeastExtent = 8;      // of both axes
constexpr int64_t kMostTiles = 256;      // of a chunk
constexpr int64_t kEnoughColumns = 256;  // of eight a chunk, that is some for each of many threads

// The axis, not the last one, that some read moves along in its last dimension, while the last axis
// moves another. A dimension of blocks is read along for `block` elements of the axis at a time.
struct ReadAlong {
  size_t axis;
  int64_t block = 0;  // 0: all of the axis
};

// Of the last index of a read.
std::optional<ReadAlong> moves_along(const te::ComputeNode& compute, const Expr& index) {
  const FloorMod* mod = as<FloorMod>(index);
  const auto block = mod ? as_const_int(mod->b) : std::optional<int64_t>(0);
  if (!block || *block % kLeastExtent != 0) return {};
  for (size_t k = 0; k + 1 < compute.axis.size(); ++k) {
    if ((mod ? mod->a : index).same_as(compute.axis[k].var())) return ReadAlong{k, *block};
  }
  return {};
}

// Nothing where all read as they write.
std::optional<ReadAlong> axis_read_along(const te::ComputeNode& compute) {
  std::optional<ReadAlong> found;
  for (const Expr& body : compute.body) {
    for_each_expr(body, [&](const Expr& e) {
      const ProducerLoad* load = as<ProducerLoad>(e);
      if (load == nullptr || load->indices.size() < 2) return;
      const Var& last = compute.axis.back().var();
      if (uses(load->indices.back(), last)) return;
      if (std::ranges::none_of(load->indices, [&](const Expr& i) { return uses(i, last); })) return;
      if (const auto along = moves_along(compute, load->indices.back())) found = along;
    });
  }
  return found;
}

int variants(const Builder& b, size_t op) {
  const OperationFacts& f = b.facts(op);
  if (f.is_reduction || f.op->num_outputs() != 1 || f.extents.size() < 2) return 0;
  const std::optional<ReadAlong> along = axis_read_along(*f.compute);
  if (!along) return 0;
  const DataAxis lanes = last_as_one(f);
  if (along->axis >= lanes.axes.front()) return 0;
  return std::min(lanes.extent, f.extents[along->axis]) >= kLeastExtent ? 1 : 0;
}

// (tiles of a chunk, columns of a tile), which end where blocks do.
std::vector<std::vector<int64_t>> column_choices(const Target& target, int64_t extent,
                                                 int64_t block) {
  std::vector<std::vector<int64_t>> choices;
  for (int64_t columns = 4; columns <= target.vector_lanes(32); columns *= 2) {
    if ((extent % columns != 0 && columns > 4) || block % columns != 0) break;
    const int64_t tiles = ceil_div(extent, columns);
    for (int64_t t : divisors(tiles)) {
      if (t <= kMostTiles) choices.push_back({t, columns});
    }
  }
  return choices;
}

void apply(Builder& b, size_t op, int) {
  const OperationFacts& f = b.facts(op);
  const Stage stage = b.stage(op);
  b.describe("transpose", op);
  b.mark_done(op);
  b.place(op, stage);

  const ReadAlong along = *axis_read_along(*f.compute);
  // Lanes go along the last axes as one, where all that is read lies so.
  const DataAxis lanes = last_as_one(f);
  const size_t last = lanes.axes.front();
  std::vector<IterVar> outer, chunks, inner, tile;
  // Threads share chunks of columns, which they go along; of lanes too where those are few.
  int64_t columns = 1;
  for (size_t k = 0; k < last; ++k) columns *= f.extents[k];
  const bool few = columns < kEnoughColumns;
  std::vector<IterVar> axes, of_lanes;
  for (size_t k = 0; k < f.extents.size(); ++k)
    (k < last ? axes : of_lanes).push_back(stage.axis(static_cast<int>(k)));
  axes.push_back(fuse_all(stage, of_lanes));
  for (size_t k = 0; k <= last; ++k) {
    const IterVar& axis = axes[k];
    if (k != along.axis && k != last) {
      outer.push_back(axis);
      continue;
    }
    Knob knob{.kind = Knob::Kind::Tile, .label = fmt::format("{}.{}", f.op.name(), axis.name())};
    knob.choices = k == last ? chunk_choices(b.target(), lanes.extent)
                             : column_choices(b.target(), f.extents[k], along.block);
    const auto [chunk, rest] = b.split(knob, stage, axis);
    const auto [tiles, in_tile] = b.split(knob, stage, rest);
    for (const auto& t : knob.choices) knob.values.push_back({t[0] * t[1], t[1]});
    b.add_knob(std::move(knob));
    (k == along.axis || few ? outer : chunks).push_back(chunk);
    inner.push_back(tiles);
    tile.push_back(in_tile);
  }
  std::vector<IterVar> all = outer;
  for (const auto* list : {&chunks, &inner, &tile})
    all.insert(all.end(), list->begin(), list->end());
  stage.reorder(all);
  stage.unroll(tile[0]);
  stage.vectorize(tile[1]);
  const IterVar fused = fuse_all(stage, outer);
  stage.parallel(fused);
  b.add_attach_point(op, stage, fused);
  b.add_store_knob(op, stage, inner[0]);
}

}  // namespace

const Rule kTransposeRule = {"transpose", variants, apply};

}  // namespace tw::autotune
