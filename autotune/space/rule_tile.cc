// SPDX-License-Identifier: Apache-2.0
// S-S-R-S-R-S multi-level tiling of a reduction whose inputs are read again and again, with
// accumulation in local memory and the elementwise operations behind it fused:
//
//   parallel over o0; for o1; { local: for r0; for s2; for r1; s3 in registers }; copy out, in
//   vectors
//
// Variants: which data axis runs in vector lanes, and whether the operands that move along it are
// packed first, so that a tile's lanes lie side by side in memory: constants when the kernel is
// built, arguments before all else or inside the block that reads them. Where the processor adds
// several products of narrow numbers at once, a packed operand has these terms side by side in each
// lane, and the innermost loop is over them; the other factor is packed too where it has them
// apart.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include "autotune/space/data_axes.h"
#include "autotune/space/dot_product.h"
#include "autotune/space/rules.h"
#include "autotune/space/tiles.h"
#include "ir/expr.h"
#include "schedule/te/compute.h"

namespace tw::autotune {
namespace {

constexpr int64_t kCopyUnrolled = 32;  // statements; register tiles are smaller

// Each is a page of its own to store into, for which processors have few translations (16 in a
// Golden Cove core).
constexpr int64_t kColumns = 8;

// Terms of the sum that stand side by side: so many along a reduction axis, which is a dimension of
// the packed operand. The other factor, where they lie apart in it, is packed too.
struct Group {
  int64_t terms;
  size_t reduce_axis, dimension;
  std::optional<Operand> apart;
};

struct Variant {
  size_t vector_axis;  // of data_axes
  bool packed;
  std::vector<Operand> operands;  // those to pack
  std::optional<Group> group;
};

// How the packed operand has terms in groups; nothing where the processor cannot add them at once.
std::optional<Group> group_of(const te::ComputeNode& compute, const std::vector<Operand>& operands,
                              const Target& target) {
  const auto dot = find_dot_product(compute, target);
  if (!dot || operands.size() != 1) return std::nullopt;
  const Operand& packed = operands[0];
  const bool first = packed.tensor == dot->a.tensor;
  const DotProduct::Factor &own = first ? dot->a : dot->b, &other = first ? dot->b : dot->a;
  if (own.dimension == packed.dimension) return std::nullopt;
  Group group{dot->group, dot->reduce_axis, own.dimension, {}};
  if (other.dimension + 1 != static_cast<size_t>(other.tensor.rank())) {
    group.apart = Operand{other.tensor, other.dimension};
  }
  return group;
}

bool same_tensors(const std::vector<Operand>& a, const std::vector<Operand>& b) {
  return std::ranges::equal(a, b, {}, &Operand::tensor, &Operand::tensor);
}

std::vector<Variant> variants_of(const Builder& b, size_t op) {
  const OperationFacts& f = b.facts(op);
  std::vector<Variant> result;
  if (!f.is_reduction || !f.has_reuse || f.extents.empty()) return result;
  const std::vector<DataAxis> axes = data_axes(f);
  const size_t last = axes.size() - 1;
  result.push_back({.vector_axis = last, .packed = false, .operands = {}, .group = {}});
  const int64_t lanes = b.target().vector_lanes(32);
  for (size_t k = axes.size(); k-- > 0;) {
    if (2 * axes[k].extent < lanes || f.op->num_outputs() != 1) continue;
    const auto operands = operands_along(*f.compute, axes[k]);
    if (!operands || operands->empty()) continue;
    // Of axes that walk through the same operands the last finds lanes nearest to each other.
    const bool known = std::ranges::any_of(
        result, [&](const Variant& v) { return same_tensors(v.operands, *operands); });
    if (known) continue;
    if (const auto group = group_of(*f.compute, *operands, b.target())) {
      result.push_back({.vector_axis = k, .packed = true, .operands = *operands, .group = group});
    }
    result.push_back({.vector_axis = k, .packed = true, .operands = *operands, .group = {}});
  }
  return result;
}

int variants(const Builder& b, size_t op) { return static_cast<int>(variants_of(b, op).size()); }

// The loops of one data axis; undefined where its extent is 1.
struct TiledAxis {
  IterVar o0, o1, o2, o_lanes;  // of the output; lanes of its last axis only
  IterVar o_columns;            // of the output, where the vector axis is not the last
  IterVar s2, s3, s_lanes;      // of the local stage; lanes of the vector axis only
  size_t knob = 0;
};

// One application of the rule.
class Tiling {
 public:
  Tiling(Builder& b, size_t op, Variant variant)
      : b_(b),
        facts_(b.facts(op)),
        data_axes_(data_axes(facts_)),
        op_(op),
        variant_(std::move(variant)) {}

  void apply() {
    b_.describe(description(), op_);
    make_stages();
    split_output();
    local_.compute_at(output_, o1_.empty() ? fused_ : o1_.back());
    split_local();
    limit_registers();
    for (Knob& knob : knobs_) b_.add_knob(std::move(knob));
    if (!r0_.empty()) b_.add_unroll_knob(local_, r0_[0]);
    place_packed();
    add_attach_points();
  }

 private:
  std::string description() const {
    if (!variant_.packed) return "tile";
    const std::string& axis = data_axes_[variant_.vector_axis].name;
    return variant_.group
               ? fmt::format("tile[packed {} in groups of {}]", axis, variant_.group->terms)
               : fmt::format("tile[packed {}]", axis);
  }
  int64_t lanes_of(int64_t tile) const { return vector_lanes(b_.target(), tile); }
  bool is_vector_axis(size_t k) const { return k == variant_.vector_axis; }

  void make_stages() {
    const Schedule& s = b_.schedule();
    tail_ = b_.elementwise_tail(op_);
    const size_t end = tail_.empty() ? op_ : tail_.back();
    std::vector<te::Tensor> results;
    for (int k = 0; k < facts_.op->num_outputs(); ++k) results.push_back(facts_.op.output(k));
    const te::Tensor cached = s.cache_write(results, "local")[0];
    if (end != op_) b_.stage(op_).compute_inline();
    for (size_t t : tail_) {
      b_.mark_done(t);
      if (t == end) break;
      b_.stage(t).compute_inline();
      b_.describe("inline", t);
    }
    b_.mark_done(op_);
    local_ = s[cached];
    for (size_t k = data_axes_.size(); k-- > 0;) collapse(local_, data_axes_[k].axes);
    order_.resize(data_axes_.size());
    for (size_t k = 0; k < order_.size(); ++k) order_[k] = static_cast<int64_t>(k);
    pack_operands();
    if (variant_.group && variant_.group->apart) pack_apart(*variant_.group->apart);
    // The lanes of an accumulator must be neighbours too.
    if (variant_.vector_axis + 1 != order_.size()) {
      order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(variant_.vector_axis));
      order_.push_back(static_cast<int64_t>(variant_.vector_axis));
      local_.transform_layout(order_);
    }
    output_ = b_.stage(end);
  }

  static void collapse(const Stage& stage, const std::vector<size_t>& dimensions) {
    if (dimensions.size() < 2) return;
    std::vector<IterVar> axes;
    for (size_t d : dimensions) axes.push_back(stage.axis(static_cast<int>(d)));
    stage.collapse_layout(axes);
  }

  // Tiles of the vector axis outermost, its lanes innermost, the rest as it was. Packing walks the
  // packed copy in order, its tiles in parallel.
  void pack_operands() {
    for (const Operand& operand : variant_.operands) {
      const Schedule& s = b_.schedule();
      const bool computed = te::as_op<te::ComputeNode>(operand.tensor.op()) != nullptr;
      from_elsewhere_ |= computed;
      const Stage pack = s[s.cache_read(operand.tensor, "global", {local_.op()})];
      std::vector<size_t> along(operand.dimensions);
      std::iota(along.begin(), along.end(), operand.dimension);
      collapse(pack, along);
      const auto rank = static_cast<int64_t>(operand.tensor.rank() + 1 - along.size());
      const auto d = static_cast<int64_t>(operand.dimension);
      if (variant_.group) {
        pack_groups(pack, rank, d);
        continue;
      }
      // After the split, dimension d is the tile and d + 1 the place in it.
      std::vector<int64_t> order = {d};
      for (int64_t k = 0; k <= rank; ++k) {
        if (k != d && k != d + 1) order.push_back(k);
      }
      order.push_back(d + 1);
      pack_places_.push_back({{b_.next_step(), kFactorArgument}, /*lanes=*/false});
      pack.transform_layout(pack.axis(static_cast<int>(d)), 1, order);
      if (te::is_constant(operand.tensor)) {
        pack.precompute();
      } else if (!computed) {
        packed_in_call_.push_back(pack);
      }
      pack.parallel(pack.axis(0));
      if (d + 1 != rank) continue;  // lanes lie apart in the operand: copied one by one
      pack_places_.push_back({{b_.next_step(), kFactorArgument}, /*lanes=*/true});
      pack.vectorize(pack.split(pack.axis(static_cast<int>(rank)), 1).inner);
    }
  }

  // An argument is packed as a whole before all else, or what a block needs within the block, so
  // that it is still in the nearest cache when it is read.
  void place_packed() {
    std::vector<AttachPoint> points = {b_.point(output_, fused_)};
    if (!o1_.empty()) points.push_back(b_.point(output_, o1_.back()));
    for (const Stage& pack : packed_in_call_) b_.add_location_knob(pack, points);
  }

  // The same with the terms of a group innermost. Rows are copied side by side, as many as a group
  // has terms: see lower/interleave_stores.cc.
  void pack_groups(const Stage& pack, int64_t rank, int64_t d) {
    auto r = static_cast<int64_t>(variant_.group->dimension);
    if (r > d) r -= static_cast<int64_t>(variant_.operands[0].dimensions) - 1;
    std::vector<int64_t> order;
    for (int64_t k = 0; k <= rank; ++k) {
      if (k != r + 1) order.push_back(k);
    }
    order.push_back(r + 1);
    pack.transform_layout(pack.axis(static_cast<int>(r)), variant_.group->terms, order);
    // Of rank + 1 dimensions the last is the group now, and d is where it was.
    order = {d};
    for (int64_t k = 0; k <= rank; ++k) {
      if (k != d && k != d + 1) order.push_back(k);
    }
    order.push_back(d + 1);
    order.push_back(rank + 1);
    pack_places_.push_back({{b_.next_step(), kFactorArgument}, /*lanes=*/false});
    pack.transform_layout(pack.axis(static_cast<int>(d)), 1, order);
    if (te::is_constant(variant_.operands[0].tensor)) pack.precompute();
    pack.parallel(pack.axis(0));
    if (d + 1 != rank) return;  // terms lie side by side as they are, or apart in both
    const IterVar term = pack.axis(static_cast<int>(rank + 1));
    pack_places_.push_back({{b_.next_step(), kFactorArgument}, /*lanes=*/true});
    const auto [vectors, lanes] = pack.split(pack.axis(static_cast<int>(rank)), 1);
    pack.reorder({vectors, term, lanes});
    pack.unroll(term);
    pack.vectorize(lanes);
  }

  // The factor that is no vector, images with channels in planes: groups of terms side by side, in
  // a copy that is made before all else. What it is computed from by itself, padding at least, is
  // part of that.
  void pack_apart(const Operand& operand) {
    const te::Tensor& tensor = operand.tensor;
    for (size_t op = 0; op < b_.facts().size(); ++op) {
      const OperationFacts& f = b_.facts(op);
      if (f.compute == nullptr || !f.op.same_as(tensor.op())) continue;
      from_elsewhere_ = true;
      if (f.is_output || f.is_reduction || f.op->num_outputs() != 1 || f.consumers.size() != 1) {
        continue;
      }
      b_.describe("inline", op);
      pack_inlined_.push_back(op);
      b_.mark_done(op);
      b_.mark_inlined(op);
    }
    const Schedule& s = b_.schedule();
    const Stage pack = s[s.cache_read(tensor, "global", {local_.op()})];
    for (size_t op : pack_inlined_) b_.stage(op).compute_inline();
    const int rank = tensor.rank();
    std::vector<int64_t> order;
    for (int k = 0; k <= rank; ++k) {
      if (k != static_cast<int>(operand.dimension) + 1) order.push_back(k);
    }
    order.push_back(static_cast<int64_t>(operand.dimension) + 1);
    pack.transform_layout(pack.axis(static_cast<int>(operand.dimension)), variant_.group->terms,
                          order);
    if (te::is_constant(tensor)) pack.precompute();
    const IterVar row = pack.axis(rank - 1), term = pack.axis(rank);
    const auto covering =
        std::bit_ceil(static_cast<uint64_t>(as_const_int(tensor.shape().back()).value_or(1)));
    const auto [vectors, lanes] = pack.split(
        row, std::min<int64_t>(static_cast<int64_t>(covering), b_.target().vector_lanes(32)));
    pack.reorder({vectors, term, lanes});
    pack.unroll(term);
    pack.vectorize(lanes);
    std::vector<IterVar> outer;
    for (int k = 0; k + 1 < rank; ++k) outer.push_back(pack.axis(k));
    pack.parallel(outer.size() > 1 ? pack.fuse(outer) : outer[0]);
  }

  Knob tile_knob(size_t k) const {
    const bool vector = is_vector_axis(k);
    const int lanes = b_.target().vector_lanes(32);
    Knob knob{.kind = Knob::Kind::Tile,
              .label = fmt::format("{}.{}", facts_.op.name(), data_axes_[k].name)};
    knob.choices = tile_choices(data_axes_[k].extent, {.levels = 3,
                                                       .greatest_inner = vector ? 8 * lanes : 32,
                                                       .greatest_product = 1024,
                                                       .preferred_inner = vector ? lanes : 1});
    return knob;
  }

  // The values of a knob's places follow from its choice: the tiles t[0], t[1], t[2], outer to
  // inner.
  template <class F>
  static void add_values(Knob& knob, F value) {
    knob.values.resize(knob.size());
    for (size_t c = 0; c < knob.size(); ++c) knob.values[c].push_back(value(knob.choices[c]));
  }

  IterVar output_root(const DataAxis& axis) const {
    std::vector<IterVar> parts;
    for (size_t k : axis.axes) parts.push_back(output_.axis(static_cast<int>(k)));
    return parts.size() > 1 ? output_.fuse(parts) : parts[0];
  }

  void split_output() {
    using Tiles = std::vector<int64_t>;
    const size_t rank = data_axes_.size();
    axes_.resize(rank);
    std::vector<IterVar> o0, o2;
    for (size_t k = 0; k < rank; ++k) {
      TiledAxis& a = axes_[k];
      const IterVar root = output_root(data_axes_[k]);
      if (data_axes_[k].extent == 1) {
        o0.push_back(root);
        continue;
      }
      Knob knob = tile_knob(k);
      const auto [outer, tile] = b_.split(knob, output_, root);
      add_values(knob, [](const Tiles& t) { return t[0] * t[1] * t[2]; });
      const auto [middle, inner] = b_.split(knob, output_, tile);
      add_values(knob, [](const Tiles& t) { return t[1] * t[2]; });
      a.o0 = outer;
      a.o1 = middle;
      a.o2 = inner;
      if (k + 1 == rank) {
        const auto [vectors, lanes] = b_.split(knob, output_, inner);
        add_values(knob,
                   [this](const Tiles& t) { return covering_lanes(b_.target(), t[1] * t[2]); });
        a.o2 = vectors;
        a.o_lanes = lanes;
      }
      if (is_vector_axis(k) && k + 1 != rank) {
        // Several columns of the accumulators are transposed at once: see lower/transpose_loads.cc.
        const auto [tiles, columns] = b_.split(knob, output_, inner);
        add_values(knob, [this](const Tiles& t) { return std::min(kColumns, lanes_of(t[2])); });
        a.o2 = tiles;
        a.o_columns = columns;
      }
      if (is_vector_axis(k)) {
        for (const PackPlace& p : pack_places_) {
          knob.places.push_back(p.place);
          add_values(knob, [&](const Tiles& t) { return p.lanes ? lanes_of(t[2]) : t[2]; });
        }
      }
      o0.push_back(a.o0);
      o1_.push_back(a.o1);
      o2.push_back(a.o2);
      a.knob = knobs_.size();
      knobs_.push_back(std::move(knob));
    }
    std::vector<IterVar> order = o0;
    order.insert(order.end(), o1_.begin(), o1_.end());
    order.insert(order.end(), o2.begin(), o2.end());
    const IterVar columns = axes_[variant_.vector_axis].o_columns;
    if (columns.defined()) order.push_back(columns);
    const IterVar lanes = axes_.back().o_lanes;
    if (lanes.defined()) order.push_back(lanes);
    output_.reorder(order);
    fused_ = o0.size() > 1 ? output_.fuse(o0) : o0[0];
    output_.parallel(fused_);
    // Where the tile is one of registers, its copy takes them as they are. A transposition is long
    // enough as it is.
    const int64_t unrolled = columns.defined() ? kColumns : kCopyUnrolled;
    if (!o2.empty()) b_.add_store_knob(tail_.empty() ? op_ : tail_.back(), output_, o2[0]);
    if (!o2.empty()) output_.pragma(o2[0], "auto_unroll_max_step", unrolled);
    if (columns.defined()) output_.unroll(columns);
    if (lanes.defined()) output_.vectorize(lanes);
  }

  void split_local() {
    std::vector<IterVar> s2, r1, s3, terms, lanes;
    for (size_t position = 0; position < order_.size(); ++position) {
      const auto k = static_cast<size_t>(order_[position]);
      TiledAxis& a = axes_[k];
      const IterVar root = local_.axis(static_cast<int>(position));
      if (!a.o1.defined()) {
        s2.push_back(root);
        continue;
      }
      Knob& knob = knobs_[a.knob];
      const auto [outer, inner] = b_.split(knob, local_, root);
      add_values(knob, [](const std::vector<int64_t>& t) { return t[2]; });
      a.s2 = outer;
      a.s3 = inner;
      if (is_vector_axis(k)) {
        const auto [vectors, lane] = b_.split(knob, local_, inner);
        add_values(knob, [this](const std::vector<int64_t>& t) { return lanes_of(t[2]); });
        a.s3 = vectors;
        a.s_lanes = lane;
        lanes.push_back(lane);
      }
      s2.push_back(a.s2);
      s3.push_back(a.s3);
    }
    for (size_t k = 0; k < facts_.reduce_extents.size(); ++k) {
      IterVar root = local_.reduce_axis(static_cast<int>(k));
      int64_t extent = facts_.reduce_extents[k];
      if (variant_.group && variant_.group->reduce_axis == k) {
        const auto [groups, term] = local_.split(root, variant_.group->terms);
        terms.push_back(term);
        root = groups;
        extent = (extent + variant_.group->terms - 1) / variant_.group->terms;
      }
      if (extent == 1) {
        r0_.push_back(root);
        continue;
      }
      Knob knob{.kind = Knob::Kind::Tile,
                .label = fmt::format("{}.{}", facts_.op.name(), root.name())};
      for (int64_t d : divisors(extent)) {
        knob.choices.push_back({d});
        knob.values.push_back({d});
      }
      const auto [outer, inner] = b_.split(knob, local_, root);
      r0_.push_back(outer);
      r1.push_back(inner);
      knobs_.push_back(std::move(knob));
    }
    std::vector<IterVar> order = r0_;
    for (const auto* list : {&s2, &r1, &s3, &terms, &lanes}) {
      order.insert(order.end(), list->begin(), list->end());
    }
    local_.reorder(order);
    for (const IterVar& axis : s3) local_.unroll(axis);
    for (const IterVar& axis : lanes) local_.vectorize(axis);
  }

  // The innermost tiles of all data axes, counted in vectors, must fit the vector registers with
  // some left for operands.
  void limit_registers() {
    Limit limit{.greatest = b_.target().vector_registers - 2};
    for (size_t k = 0; k < axes_.size(); ++k) {
      if (!axes_[k].o1.defined()) continue;
      limit.knobs.push_back(b_.num_knobs() + axes_[k].knob);
      limit.weights.emplace_back();
      for (const auto& t : knobs_[axes_[k].knob].choices) {
        const int64_t tile = t.back();
        limit.weights.back().push_back(is_vector_axis(k) ? tile / lanes_of(tile) : tile);
      }
    }
    if (!limit.knobs.empty()) b_.add_limit(std::move(limit));
  }

  void add_attach_points() {
    for (size_t t : tail_) b_.add_attach_point(t, output_, fused_);
    if (from_elsewhere_) return;  // a copy outside the loops reads what it is computed from
    b_.add_attach_point(op_, output_, fused_);
    if (!o1_.empty()) b_.add_attach_point(op_, output_, o1_.back());
    if (!r0_.empty()) b_.add_attach_point(op_, local_, r0_.back());
  }

  Builder& b_;
  const OperationFacts& facts_;
  std::vector<DataAxis> data_axes_;
  size_t op_;
  Variant variant_;
  Stage output_, local_;
  std::vector<size_t> tail_;
  std::vector<int64_t> order_;  // the data axis at each dimension of the local stage
  // Factors of the packed copies that follow the vector axis: its innermost tile, or the lanes of
  // it.
  struct PackPlace {
    Knob::Place place;
    bool lanes;
  };
  std::vector<PackPlace> pack_places_;
  std::vector<Stage> packed_in_call_;  // copies of arguments
  std::vector<size_t> pack_inlined_;   // operations that a packed copy computes
  bool from_elsewhere_ = false;        // a packed copy is not of an argument
  std::vector<TiledAxis> axes_;
  std::vector<Knob> knobs_;
  IterVar fused_;
  std::vector<IterVar> o1_, r0_;
};

void apply(Builder& b, size_t op, int variant) {
  Tiling(b, op, variants_of(b, op)[static_cast<size_t>(variant)]).apply();
}

}  // namespace

const Rule kTileRule = {"tile", variants, apply};

}  // namespace tw::autotune
