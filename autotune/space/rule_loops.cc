// SPDX-License-Identifier: Apache-2.0
// Data axes but the last in parallel, the last one in vectors:
//
//   parallel over the outer axes and chunks of the last; for vectors; lanes
//
// A reduction has a few vectors of sums of its own, which go to the result when they are whole: in
// the result itself they would be stored and read again at each step, with a mask where a row ends
// inside of a vector.
//
//   parallel over the outer axes and chunks of the last; for vectors {
//     reduction; vectors of sums; lanes
//     vectors of sums; lanes                             to the result
//   }
//
// Rows that end inside of a vector follow each other as one row where all that is read lies so.
//
// Of copies of a tensor behind one another there are two ways: one after the other, or
//
//   parallel over the outer axes of one copy and chunks of the last; for copies; for vectors; lanes
//
// which reads each vector once, or from the nearest cache.
//
// What reads results of reductions takes its rows as wholes,
//
//   parallel over chunks of rows; for rows; for vectors; lanes
//
// a reduction that is of another length for each element of the last axis takes these one by one,
//
//   parallel over chunks of elements; for elements; for the reduction
//
// and operations that are not outputs may move into their consumers' loops, around a chunk of rows
// or a row, so that what these need stays in the caches.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "autotune/space/data_axes.h"
#include "autotune/space/rules.h"
#include "autotune/space/tiles.h"
#include "ir/expr.h"
#include "schedule/te/compute.h"

namespace tw::autotune {
namespace {

constexpr int64_t kMostRows = 64;   // of a chunk
constexpr int64_t kLeastRows = 16;  // fewer do not keep the threads of a machine busy
constexpr int64_t kMostSums = 32;   // vectors of sums side by side, whole rows aside
// Up to so many are straight code, so that they stay in registers.
constexpr int64_t kSumsUnrolled = 16;

// The data axes but the last along which all that is read is read again, and after how many
// positions.
std::map<size_t, int64_t> repeated_axes(const OperationFacts& f) {
  std::map<size_t, int64_t> periods;
  if (f.is_reduction || f.reads_reduction) return periods;
  for (size_t k = 0; k + 1 < f.extents.size(); ++k) {
    if (const auto period = period_of(f, k)) periods.emplace(k, *period);
  }
  return periods;
}

enum Variant : int { kAsWritten, kCopiesInside };

int variants(const Builder& b, size_t op) { return repeated_axes(b.facts(op)).empty() ? 1 : 2; }

// (vectors of a chunk, vectors of sums, lanes): chunks in parts whose sums are taken together.
std::vector<std::vector<int64_t>> sum_choices(const Target& target, int64_t extent) {
  std::vector<std::vector<int64_t>> choices;
  for (const auto& chunk : chunk_choices(target, extent)) {
    for (int64_t sums : divisors(chunk[0])) {
      if (sums <= kMostSums || sums == chunk[0]) choices.push_back({chunk[0], sums, chunk[1]});
    }
  }
  return choices;
}

// The loops of the last axis, outermost first: chunks, vectors, vectors of sums of a reduction, and
// the lanes of one.
struct LastAxis {
  IterVar chunk, vectors, sums, lanes;
};

// Sums between the reduction's loops and their lanes.
void split_sums(Builder& b, Knob& knob, const Stage& partial) {
  const auto* compute = te::as_op<te::ComputeNode>(partial.op());
  const auto [vectors, lanes] = b.split(knob, partial, compute->axis.back());
  std::vector<IterVar> order(compute->axis.begin(), compute->axis.end() - 1);
  order.insert(order.end(), compute->reduce_axis.begin(), compute->reduce_axis.end());
  order.push_back(vectors);
  order.push_back(lanes);
  partial.reorder(order);
  partial.pragma(vectors, "auto_unroll_max_step", kSumsUnrolled);
  partial.vectorize(lanes);
  b.add_unroll_knob(partial, {compute->reduce_axis[0]});
}

// `partial`: the stage of a reduction's sums, which runs inside.
LastAxis split_last(Builder& b, const Stage& stage, const OperationFacts& f, const IterVar& last,
                    int64_t extent, const Stage* partial) {
  Knob knob{.kind = Knob::Kind::Tile, .label = fmt::format("{}.{}", f.op.name(), last.name())};
  knob.choices =
      f.is_reduction ? sum_choices(b.target(), extent) : chunk_choices(b.target(), extent);
  LastAxis axis;
  auto [chunk, rest] = b.split(knob, stage, last);
  axis.chunk = chunk;
  if (f.is_reduction) {
    auto [vectors, part] = b.split(knob, stage, rest);
    axis.vectors = vectors;
    rest = part;
  }
  auto [inner, lanes] = b.split(knob, stage, rest);
  (f.is_reduction ? axis.sums : axis.vectors) = inner;
  axis.lanes = lanes;
  for (const auto& t : knob.choices) {
    knob.values.push_back({t[0] * t.back()});
    if (f.is_reduction) knob.values.back().push_back(t[1] * t.back());
    knob.values.back().push_back(t.back());
  }
  if (partial != nullptr) {
    split_sums(b, knob, *partial);
    for (auto& values : knob.values) values.push_back(values.back());
  }
  b.add_knob(std::move(knob));
  return axis;
}

// Rows of a chunk, by a knob.
Stage::Pair split_rows(Builder& b, const Stage& stage, size_t op, const IterVar& rows,
                       int64_t extent) {
  Knob knob{.kind = Knob::Kind::Tile,
            .label = fmt::format("{}.{}", b.facts(op).op.name(), rows.name())};
  for (int64_t d : divisors(extent)) {
    if (d <= kMostRows) knob.choices.push_back({d});
  }
  knob.values = knob.choices;
  const Stage::Pair pair = b.split(knob, stage, rows);
  b.add_knob(std::move(knob));
  return pair;
}

int64_t product_of(std::span<const int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

// The last so many, which `axes` then lacks.
std::vector<IterVar> take_last(std::vector<IterVar>& axes, size_t count) {
  const auto begin = axes.end() - static_cast<std::ptrdiff_t>(count);
  std::vector<IterVar> last(begin, axes.end());
  axes.erase(begin, axes.end());
  return last;
}

// The last data axes as one, of an operation that nothing else's loops move into, where their rows
// end inside of a vector and need not; else the last alone. Gives its extent, and takes the others
// from `axes`.
IterVar last_axis(Builder& b, const Stage& stage, const OperationFacts& f,
                  std::vector<IterVar>& axes, int64_t& extent) {
  const int lanes = b.target().vector_lanes(f.op->output_dtype(0).bits);
  size_t count = 1;
  const bool as_written = te::as_op<te::ComputeNode>(stage.op()) == f.compute;
  if (as_written && !f.is_reduction && extent % lanes != 0) {
    const DataAxis whole = last_as_one(f);
    count = whole.axes.size();
    extent = whole.extent;
  }
  return fuse_all(stage, take_last(axes, count));
}

// Of what reads results of reductions: how many axes, the last, are a row, which needs one result
// of each where nothing else's loops move into it. None where there are few rows.
size_t axes_of_row(const OperationFacts& f, const te::ComputeNode& compute,
                   std::span<const int64_t> extents) {
  const bool as_written = &compute == f.compute;
  for (size_t row : {as_written ? last_as_one(f).axes.size() : 1, size_t{1}}) {
    if (product_of(extents.first(extents.size() - row)) >= kLeastRows) return row;
  }
  return 0;
}

void apply(Builder& b, size_t op, int variant) {
  const OperationFacts& f = b.facts(op);
  b.describe(variant == kCopiesInside ? "loops[copies inside]" : "loops", op);
  const bool ragged_rows = f.is_ragged() && f.decides_length.back();
  const bool has_sums =
      f.is_reduction && !ragged_rows && !f.extents.empty() && f.extents.back() > 1;
  Stage partial;
  if (has_sums) {
    std::vector<te::Tensor> results;
    for (int k = 0; k < f.op->num_outputs(); ++k) results.push_back(f.op.output(k));
    partial = b.schedule()[b.schedule().cache_write(results, "local")[0]];
  }
  const Stage stage = b.stage(op);
  b.mark_done(op);
  b.place(op, stage);
  // As the stage has them now: another rule may have changed its layout.
  const auto* compute = te::as_op<te::ComputeNode>(stage.op());
  if (compute->axis.empty()) return;

  std::vector<IterVar> outer = compute->axis;
  std::vector<int64_t> extents;
  for (const IterVar& axis : compute->axis) extents.push_back(*as_const_int(axis->domain.extent));
  // Results of reductions are wanted for whole rows at once.
  const size_t row = !f.is_reduction && f.reads_reduction ? axes_of_row(f, *compute, extents) : 0;
  std::vector<IterVar> inner;  // inside the parallel loop
  std::vector<IterVar> copies_inside;
  LastAxis last;
  if (row > 0) {
    const IterVar whole = fuse_all(stage, take_last(outer, row));
    const int64_t extent = product_of(std::span(extents).last(row));
    if (const int64_t rows = extents[outer.size() - 1]; rows > 1) {
      const auto [chunk, one] = split_rows(b, stage, op, outer.back(), rows);
      outer.back() = chunk;
      inner.push_back(one);
    }
    const auto [vectors, lanes] = stage.split(whole, covering_lanes(b.target(), extent));
    last = {.vectors = vectors, .lanes = lanes};
  } else if (ragged_rows) {
    const auto [chunk, one] = split_rows(b, stage, op, outer.back(), extents.back());
    outer.back() = chunk;
    inner.push_back(one);
  } else {
    int64_t extent = extents.back();
    const IterVar axis = last_axis(b, stage, f, outer, extent);
    if (extent > 1) last = split_last(b, stage, f, axis, extent, has_sums ? &partial : nullptr);
    outer.push_back(last.chunk.defined() ? last.chunk : axis);
    if (variant == kCopiesInside && compute == f.compute) {
      for (const auto& [k, period] : repeated_axes(f)) {
        const auto [copies, once] = stage.split(outer[k], period);
        outer[k] = once;
        copies_inside.push_back(copies);
      }
    }
  }
  const size_t rows = inner.size();
  inner.insert(inner.end(), copies_inside.begin(), copies_inside.end());
  if (last.vectors.defined()) inner.push_back(last.vectors);
  if (!has_sums) {
    inner.insert(inner.end(), compute->reduce_axis.begin(), compute->reduce_axis.end());
  }
  if (last.sums.defined()) inner.push_back(last.sums);
  if (last.lanes.defined()) inner.push_back(last.lanes);
  std::vector<IterVar> all = outer;
  all.insert(all.end(), inner.begin(), inner.end());
  stage.reorder(all);
  if (last.lanes.defined()) stage.vectorize(last.lanes);
  const IterVar fused = fuse_all(stage, outer);
  stage.parallel(fused);
  b.add_attach_point(op, stage, fused);
  for (size_t k = 0; k < rows; ++k) b.add_attach_point(op, stage, inner[k]);
  if (has_sums) {
    partial.compute_at(stage, last.vectors);
    stage.pragma(last.sums, "auto_unroll_max_step", kSumsUnrolled);
  } else if (f.is_reduction) {
    b.add_unroll_knob(stage, {stage.reduce_axis(0)});
  }
  if (!f.is_reduction && last.vectors.defined()) {
    b.add_store_knob(op, stage, last.vectors, Builder::Rows::Contiguous);
  }
}

}  // namespace

const Rule kLoopsRule = {"loops", variants, apply};

}  // namespace tw::autotune
