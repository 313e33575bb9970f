// SPDX-License-Identifier: Apache-2.0
// Operations that read along another axis than they write. Vectors of the result are columns of
// what is read: tiles of both axes are loaded as rows and transposed in registers, see
// lower/transpose_loads.cc.
//
//   parallel over the other axes and chunks of columns; for chunks of lanes; for tiles of each;
//   columns; lanes
#include <fmt/format.h>

#include <algorithm>

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
// moves another; -1 where all read as they write.
int axis_read_along(const te::ComputeNode& compute) {
  int found = -1;
  for (const Expr& body : compute.body) {
    for_each_expr(body, [&](const Expr& e) {
      const ProducerLoad* load = as<ProducerLoad>(e);
      if (load == nullptr || load->indices.size() < 2) return;
      const Var& last = compute.axis.back().var();
      if (uses(load->indices.back(), last)) return;
      if (std::ranges::none_of(load->indices, [&](const Expr& i) { return uses(i, last); })) return;
      for (size_t k = 0; k + 1 < compute.axis.size(); ++k) {
        if (load->indices.back().same_as(compute.axis[k].var())) found = static_cast<int>(k);
      }
    });
  }
  return found;
}

int variants(const Builder& b, size_t op) {
  const OperationFacts& f = b.facts(op);
  if (f.is_reduction || f.op->num_outputs() != 1 || f.extents.size() < 2) return 0;
  const int along = axis_read_along(*f.compute);
  if (along < 0) return 0;
  return std::min(f.extents.back(), f.extents[static_cast<size_t>(along)]) >= kLeastExtent ? 1 : 0;
}

// (tiles of a chunk, columns of a tile).
std::vector<std::vector<int64_t>> column_choices(const Target& target, int64_t extent) {
  std::vector<std::vector<int64_t>> choices;
  for (int64_t columns = 4; columns <= target.vector_lanes(32); columns *= 2) {
    if (extent % columns != 0 && columns > 4) break;
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

  const auto along = static_cast<size_t>(axis_read_along(*f.compute));
  std::vector<IterVar> outer, chunks, inner, tile;
  // Threads share chunks of columns, which they go along; of lanes too where those are few.
  int64_t columns = 1;
  for (size_t k = 0; k + 1 < f.extents.size(); ++k) columns *= f.extents[k];
  const bool few = columns < kEnoughColumns;
  for (size_t k = 0; k < f.extents.size(); ++k) {
    const IterVar axis = stage.axis(static_cast<int>(k));
    if (k != along && k + 1 != f.extents.size()) {
      outer.push_back(axis);
      continue;
    }
    Knob knob{.kind = Knob::Kind::Tile, .label = fmt::format("{}.{}", f.op.name(), axis.name())};
    knob.choices = k == along ? column_choices(b.target(), f.extents[k])
                              : chunk_choices(b.target(), f.extents[k]);
    const auto [chunk, rest] = b.split(knob, stage, axis);
    const auto [tiles, in_tile] = b.split(knob, stage, rest);
    for (const auto& t : knob.choices) knob.values.push_back({t[0] * t[1], t[1]});
    b.add_knob(std::move(knob));
    (k == along || few ? outer : chunks).push_back(chunk);
    inner.push_back(tiles);
    tile.push_back(in_tile);
  }
  std::vector<IterVar> all = outer;
  for (const auto* list : {&chunks, &inner, &tile})
    all.insert(all.end(), list->begin(), list->end());
  stage.reorder(all);
  stage.unroll(tile[0]);
  stage.vectorize(tile[1]);
  const IterVar fused = outer.size() > 1 ? stage.fuse(outer) : outer[0];
  stage.parallel(fused);
  b.add_attach_point(op, stage, fused);
  b.add_store_knob(op, stage, inner[0]);
}

}  // namespace

const Rule kTransposeRule = {"transpose", variants, apply};

}  // namespace tw::autotune
