// SPDX-License-Identifier: Apache-2.0
// Reductions along what lies side by side in memory, such as sums of rows. Vectors run along the
// reduction: each lane sums every so many elements, and what the lanes hold is reduced at the end,
// for several rows at once, a row a lane:
//
//   parallel over rows / R; { partial: for U rows at once; for k; V vectors of lanes } for l of
//   lanes; R rows in lanes
//
// Dimensions that lie behind one another, such as rows and columns of an image, are walked as one.
#include <algorithm>
#include <optional>

#include "autotune/space/rules.h"
#include "autotune/space/tiles.h"
#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "schedule/te/compute.h"
#include "schedule/te/ragged_length.h"

namespace tw::autotune {
namespace {

constexpr int64_t kMostVectors = 4;

// Whether the index goes on by one with the axis: it is the axis, or begins somewhere, as a row of
// a sparse matrix does.
bool steps_with(const Expr& index, const Var& axis) {
  if (index.same_as(axis)) return true;
  const Add* sum = as<Add>(index);
  if (sum == nullptr) return false;
  return (sum->a.same_as(axis) && !uses(sum->b, axis)) ||
         (sum->b.same_as(axis) && !uses(sum->a, axis));
}

// The reduction axis that reads move along in their last dimension, where no data axis does; -1
// where there is none. What says where to read may move anywhere.
int contiguous_axis(const te::ComputeNode& compute) {
  int found = -1;
  bool moves_with_data = false;
  for (const Expr& body : compute.body) {
    for_each_expr(body, [&](const Expr& e) {
      const ProducerLoad* load = as<ProducerLoad>(e);
      if (load == nullptr || load->indices.empty()) return;
      const auto moves = [&](const IterVar& axis) {
        return std::ranges::any_of(load->indices,
                                   [&](const Expr& i) { return uses(i, axis.var()); });
      };
      if (std::ranges::none_of(compute.reduce_axis, moves)) return;  // the same for the whole sum
      const Expr& last = load->indices.back();
      for (const IterVar& axis : compute.axis) moves_with_data |= te::moves_with(last, axis.var());
      for (size_t k = 0; k < compute.reduce_axis.size(); ++k) {
        if (steps_with(last, compute.reduce_axis[k].var())) found = static_cast<int>(k);
      }
    });
  }
  return moves_with_data ? -1 : found;
}

// Whether all reads that move along reduction axis k or the next one walk through one run of memory
// as the two, one inside the other, do: along whole last dimensions.
bool joins_next(const te::ComputeNode& compute, size_t k, size_t last) {
  const auto axis = [&](size_t i) { return compute.reduce_axis[i].var(); };
  bool joins = true;
  const std::vector<te::Tensor> inputs = compute.input_tensors();
  for (const Expr& body : compute.body) {
    for_each_expr(body, [&](const Expr& e) {
      const ProducerLoad* load = as<ProducerLoad>(e);
      if (load == nullptr) return;
      const auto moves_along = [&](size_t i) {
        return std::ranges::any_of(load->indices, [&](const Expr& x) { return uses(x, axis(i)); });
      };
      if (!moves_along(k) && !moves_along(k + 1)) return;
      const auto read = std::ranges::find_if(inputs, [&](const te::Tensor& t) {
        return t.op().get() == load->producer.get() && t.value_index() == load->value_index;
      });
      const size_t dimension = load->indices.size() - 1 - (last - (k + 1));
      const bool in_place = last - k < load->indices.size() && read != inputs.end() &&
                            load->indices[dimension].same_as(axis(k + 1)) &&
                            load->indices[dimension - 1].same_as(axis(k));
      joins &= in_place && as_const_int(read->shape()[dimension]) ==
                               as_const_int(compute.reduce_axis[k + 1]->domain.extent);
    });
  }
  return joins;
}

// Reduction axes that are one walk through memory: [first, last].
struct Walk {
  size_t first, last;
  int64_t extent;
};

std::optional<Walk> walk_of(const OperationFacts& f) {
  const int axis = contiguous_axis(*f.compute);
  if (axis < 0) return std::nullopt;
  const auto last = static_cast<size_t>(axis);
  Walk walk{.first = last, .last = last, .extent = f.reduce_extents[last]};
  // Conditions would have to be asked of the parts that the walk is made of.
  const bool simple = !f.has_condition && !f.is_ragged();
  while (simple && walk.first > 0 && joins_next(*f.compute, walk.first - 1, last)) {
    walk.extent *= f.reduce_extents[--walk.first];
  }
  return walk;
}

int variants(const Builder& b, size_t op) {
  const OperationFacts& f = b.facts(op);
  if (!f.is_reduction || f.has_reuse) return 0;
  if (f.order_matters || f.grouping_matters) return 0;
  const auto walk = walk_of(f);
  return walk && walk->extent >= 2 * b.target().vector_lanes(32) ? 1 : 0;
}

// (rows in lanes, rows at once): rows of one chunk, and how many of them are summed side by side,
// one where they are not of one length.
std::vector<std::vector<int64_t>> row_choices(const Target& target, const OperationFacts& f) {
  std::vector<std::vector<int64_t>> choices;
  const int64_t at_once = f.is_ragged() ? 1 : 8;
  for (int64_t r = 1; r <= covering_lanes(target, f.extents.back()); r *= 2) {
    for (int64_t u = 1; u <= std::min(r, at_once); u *= 2) choices.push_back({r, u});
  }
  return choices;
}

// (vectors, lanes) of a row's partial sums. Several vectors hide the latency of an addition where
// few rows are summed at once.
std::vector<std::vector<int64_t>> vector_choices(const Target& target, int64_t extent) {
  const int64_t lanes = target.vector_lanes(32);
  std::vector<std::vector<int64_t>> choices = {{1, lanes}};
  for (int64_t v = 2; v <= kMostVectors && 2 * v * lanes <= extent; v *= 2) {
    choices.push_back({v, lanes});
  }
  return choices;
}

void apply(Builder& b, size_t op, int) {
  const OperationFacts& f = b.facts(op);
  const Stage stage = b.stage(op);
  const size_t rank = f.extents.size();
  b.describe("lanes", op);
  b.mark_done(op);
  const Walk walk = *walk_of(f);
  Knob vectors{.kind = Knob::Kind::Tile,
               .label = f.op.name() + "." + f.compute->reduce_axis[walk.last].name()};
  std::vector<IterVar> walked;
  for (size_t k = walk.first; k <= walk.last; ++k) {
    walked.push_back(stage.reduce_axis(static_cast<int>(k)));
  }
  const IterVar whole = fuse_all(stage, walked);
  const IterVar lane = b.split(vectors, stage, whole).inner;
  const Schedule& s = b.schedule();
  const Stage partial = s[s.rfactor(f.op.output(0), lane, static_cast<int>(rank))];
  partial.set_scope("local");
  // What the lanes hold of a single row stands at the root, and so does who reads it.
  if (rank > 0) b.place(op, stage);

  const auto* sums = te::as_op<te::ComputeNode>(partial.op());
  std::vector<IterVar> order;
  if (rank > 0) {
    Knob knob{.kind = Knob::Kind::Tile, .label = f.op.name() + "." + f.compute->axis.back().name()};
    knob.choices = row_choices(b.target(), f);
    knob.values = knob.choices;
    std::vector<IterVar> outer(f.compute->axis.begin(), f.compute->axis.end());
    for (size_t k = 0; k < rank; ++k) outer[k] = stage.axis(static_cast<int>(k));
    const auto [chunk, row] = b.split(knob, stage, outer.back());
    outer.back() = chunk;
    stage.reorder({stage.reduce_axis(0), row});
    // The columns of what the lanes hold, which lower/transpose_loads.cc makes of its rows.
    stage.unroll(stage.reduce_axis(0));
    stage.vectorize(row);
    const IterVar fused = fuse_all(stage, outer);
    stage.parallel(fused);
    partial.compute_at(stage, fused);
    const auto [rows, at_once] = b.split(knob, partial, sums->axis[rank - 1]);
    b.add_knob(std::move(knob));
    order = {rows};
    if (f.is_ragged()) order.push_back(at_once);
    order.insert(order.end(), sums->reduce_axis.begin(), sums->reduce_axis.end());
    if (!f.is_ragged()) order.push_back(at_once);
    partial.unroll(at_once);
    b.add_attach_point(op, stage, fused);
  } else {
    order.assign(sums->reduce_axis.begin(), sums->reduce_axis.end());
  }
  const auto [vector, lanes] = b.split(vectors, partial, sums->axis[rank]);
  vectors.choices = vector_choices(b.target(), walk.extent);
  for (const auto& c : vectors.choices) vectors.values.push_back({c[0] * c[1], c[1]});
  b.add_knob(std::move(vectors));
  order.push_back(vector);
  order.push_back(lanes);
  partial.reorder(order);
  partial.unroll(vector);
  partial.vectorize(lanes);
  b.add_unroll_knob(partial, {sums->reduce_axis[0]});
}

}  // namespace

const Rule kLanesRule = {"lanes", variants, apply};

}  // namespace tw::autotune
