// SPDX-License-Identifier: Apache-2.0
#include "autotune/space/tiling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "autotune/space/pack_operand.h"
#include "autotune/space/tiles.h"
#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"

namespace tw::autotune {
namespace {

constexpr int64_t kCopyUnrolled = 32;  // statements; register tiles are smaller

// Each is a page of its own to store into, for which processors have few translations (16 in a
// Golden Cove core).
constexpr int64_t kColumns = 8;

// The tiles of one data axis, outer to inner: t[0], t[1], t[2].
using Tiles = std::vector<int64_t>;

// The values of a knob's places follow from its choice.
template <class F>
void add_values(Knob& knob, F value) {
  knob.values.resize(knob.size());
  for (size_t c = 0; c < knob.size(); ++c) knob.values[c].push_back(value(knob.choices[c]));
}

// A copy outside the tiles reads what it is computed from.
bool copies_from_elsewhere(const TileMember& member) {
  const auto computed = [](const Operand& operand) {
    return te::as_op<te::ComputeNode>(operand.tensor.op()) != nullptr;
  };
  return std::ranges::any_of(member.operands, computed) ||
         (member.group && member.group->apart && computed(*member.group->apart));
}

// One application of the rule.
class TiledLoops {
 public:
  TiledLoops(Builder& b, const Tiling& tiling)
      : b_(b), tiling_(tiling), owner_(tiling.members[0].op), end_(owner_) {
    if (!tiling.tail.empty()) end_ = tiling.tail.back();
  }

  void apply() {
    describe();
    make_stages();
    split_output();
    for (size_t m = 0; m < sums_.size(); ++m) {
      sums_[m].compute_at(output_, o1_.empty() ? fused_ : o1_.back());
      split_sums(m);
    }
    limit_registers();
    for (Knob& knob : knobs_) b_.add_knob(std::move(knob));
    for (size_t m = 0; m < sums_.size(); ++m) {
      if (r0_[m].empty()) continue;
      // Of short sums loops over data too, which set them to zero before the reduction begins: sums
      // that are to wait in registers are never told apart by a loop. Tiles of longer sums are one
      // register tile, and more straight code would only take longer to compile.
      std::vector<IterVar> unrolled{r0_[m][0]};
      if (is_short_sum(m)) unrolled.push_back(s2_[m][0]);
      b_.add_unroll_knob(sums_[m], unrolled);
    }
    fetch_constants();
    place_packed();
    add_attach_points();
  }

 private:
  // What is known of one data axis of the tiles; undefined where its extent is 1.
  struct TiledAxis {
    IterVar o1;         // of the output
    IterVar o_lanes;    // of its last axis only
    IterVar o_columns;  // where the vector axis is not the last
    size_t knob = 0;
  };

  void describe() {
    std::vector<std::string> ways;
    if (tiling_.packed) {
      const std::string& axis = tiling_.axes[tiling_.vector_axis].name;
      const auto& group = tiling_.members[0].group;
      ways.push_back(group ? fmt::format("packed {} in groups of {}", axis, group->terms)
                           : fmt::format("packed {}", axis));
    }
    if (tiling_.tail != facts(0).tail) ways.emplace_back("stored permuted");
    b_.describe(ways.empty() ? "tile" : fmt::format("tile[{}]", fmt::join(ways, ", ")), owner_);
    for (size_t m = 1; m < tiling_.members.size(); ++m) {
      b_.describe("beside", tiling_.members[m].op);
    }
  }

  // Whether each sum has no more terms than a window of a stencil.
  bool is_short_sum(size_t member) const {
    constexpr int64_t kMostTerms = 64;
    int64_t terms = 1;
    for (int64_t extent : facts(member).reduce_extents) terms *= extent;
    return terms <= kMostTerms;
  }
  const OperationFacts& facts(size_t member) const { return b_.facts(tiling_.members[member].op); }
  int64_t lanes_of(int64_t tile) const { return vector_lanes(b_.target(), tile); }
  bool is_vector_axis(size_t k) const { return k == tiling_.vector_axis; }

  void make_stages() {
    const Schedule& s = b_.schedule();
    for (const TileMember& member : tiling_.members) {
      const te::Operation& op = b_.facts(member.op).op;
      const te::Tensor cached = s.cache_write(op.outputs(), "local")[0];
      if (member.op != end_) b_.stage(member.op).compute_inline();
      b_.mark_done(member.op);
      sums_.push_back(s[cached]);
    }
    take_tails();
    order_.resize(tiling_.axes.size());
    for (size_t k = 0; k < order_.size(); ++k) order_[k] = static_cast<int64_t>(k);
    for (const Stage& sums : sums_) {
      for (size_t k = tiling_.axes.size(); k-- > 0;) collapse(sums, tiling_.axes[k].axes);
    }
    packed_ = pack_operands(b_, tiling_, sums_);
    // The lanes of an accumulator must be neighbours too.
    if (tiling_.vector_axis + 1 != order_.size()) {
      order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(tiling_.vector_axis));
      order_.push_back(static_cast<int64_t>(tiling_.vector_axis));
      for (const Stage& sums : sums_) sums.transform_layout(order_);
    }
    output_ = b_.stage(end_);
  }

  // All that leads from the members to the end is computed there.
  void take_tails() {
    tail_ = tiling_.tail;
    for (size_t m = 1; m < tiling_.members.size(); ++m) {
      const OperationFacts& f = facts(m);
      tail_.insert(tail_.end(), f.tail.begin(), f.tail.end());
      tail_.insert(tail_.end(), f.way.begin(), f.way.end());
    }
    b_.take_tail(tail_);
  }

  // An argument is packed as a whole before all else, or what a block needs within the block, so
  // that it is still in the nearest cache when it is read.
  void place_packed() {
    std::vector<AttachPoint> points = {b_.point(output_, fused_)};
    if (!o1_.empty()) points.push_back(b_.point(output_, o1_.back()));
    for (const Stage& pack : packed_.in_call) b_.add_location_knob(pack, points);
  }

  Knob tile_knob(size_t k) const {
    const bool vector = is_vector_axis(k);
    const int lanes = b_.target().vector_lanes(32);
    Knob knob{.kind = Knob::Kind::Tile,
              .label = fmt::format("{}.{}", facts(0).op.name(), tiling_.axes[k].name)};
    knob.choices = tile_choices(tiling_.axes[k].extent, {.levels = 3,
                                                         .greatest_inner = vector ? 8 * lanes : 32,
                                                         .greatest_product = 1024,
                                                         .preferred_inner = vector ? lanes : 1});
    return knob;
  }

  IterVar output_root(const DataAxis& axis) const {
    std::vector<IterVar> parts;
    for (size_t k : axis.axes) parts.push_back(output_.axis(static_cast<int>(*tiling_.places[k])));
    return fuse_all(output_, parts);
  }

  // What is stored along each of its dimensions: a data axis of the tiles, outermost first, or one
  // position. Axes that are one to the tiles stand where the first of them does.
  std::map<size_t, std::optional<size_t>> axes_stored() const {
    std::map<size_t, std::optional<size_t>> at;
    for (size_t d = 0; d < b_.facts(end_).extents.size(); ++d) at[d] = std::nullopt;
    for (size_t k = 0; k < tiling_.axes.size(); ++k) {
      const DataAxis& axis = tiling_.axes[k];
      if (axis.extent == 1) continue;
      for (size_t each : axis.axes) at.erase(*tiling_.places[each]);
      at[*tiling_.places[axis.axes[0]]] = k;
    }
    return at;
  }

  void split_output() {
    axes_.resize(tiling_.axes.size());
    std::vector<IterVar> o0, o2;
    const std::map<size_t, std::optional<size_t>> stored = axes_stored();
    for (const auto& [dimension, axis] : stored) {
      if (axis) last_ = *axis;
    }
    for (const auto& [dimension, axis] : stored) {
      if (!axis) {
        o0.push_back(output_.axis(static_cast<int>(dimension)));
        continue;
      }
      const size_t k = *axis;
      const IterVar root = output_root(tiling_.axes[k]);
      TiledAxis& a = axes_[k];
      Knob knob = tile_knob(k);
      const auto [outer, tile] = b_.split(knob, output_, root);
      add_values(knob, [](const Tiles& t) { return t[0] * t[1] * t[2]; });
      const auto [middle, inner] = b_.split(knob, output_, tile);
      add_values(knob, [](const Tiles& t) { return t[1] * t[2]; });
      o0.push_back(outer);
      o1_.push_back(middle);
      a.o1 = middle;
      o2.push_back(inner);
      if (k == last_) {
        const auto [vectors, lanes] = b_.split(knob, output_, inner);
        add_values(knob,
                   [this](const Tiles& t) { return covering_lanes(b_.target(), t[1] * t[2]); });
        o2.back() = vectors;
        a.o_lanes = lanes;
      }
      if (is_vector_axis(k) && k != last_) {
        // Several columns of the accumulators are transposed at once: see lower/transpose_loads.cc.
        const auto [tiles, columns] = b_.split(knob, output_, inner);
        add_values(knob, [this](const Tiles& t) { return std::min(kColumns, lanes_of(t[2])); });
        o2.back() = tiles;
        a.o_columns = columns;
      }
      if (is_vector_axis(k)) {
        for (const PackPlace& p : packed_.places) {
          knob.places.push_back(p.place);
          add_values(knob, [&](const Tiles& t) { return p.lanes ? lanes_of(t[2]) : t[2]; });
        }
      }
      a.knob = knobs_.size();
      knobs_.push_back(std::move(knob));
    }
    std::vector<IterVar> order = o0;
    order.insert(order.end(), o1_.begin(), o1_.end());
    order.insert(order.end(), o2.begin(), o2.end());
    const IterVar columns = axes_[tiling_.vector_axis].o_columns;
    if (columns.defined()) order.push_back(columns);
    const IterVar lanes = axes_[last_].o_lanes;
    if (lanes.defined()) order.push_back(lanes);
    output_.reorder(order);
    fused_ = fuse_all(output_, o0);
    output_.parallel(fused_);
    // Where the tile is one of registers, its copy takes them as they are. A transposition is long
    // enough as it is.
    const int64_t unrolled = columns.defined() ? kColumns : kCopyUnrolled;
    if (!o2.empty()) b_.add_store_knob(end_, output_, o2[0]);
    if (!o2.empty()) output_.pragma(o2[0], "auto_unroll_max_step", unrolled);
    if (columns.defined()) output_.unroll(columns);
    if (lanes.defined()) output_.vectorize(lanes);
  }

  void split_sums(size_t member) {
    const Stage& sums = sums_[member];
    std::vector<IterVar> r1, s3, of_vectors, terms, lanes;
    std::vector<IterVar>& s2 = s2_.emplace_back();
    const std::vector<bool> moves_vectors =
        axes_of_vectors(*facts(member).compute, tiling_.axes, tiling_.vector_axis);
    for (size_t position = 0; position < order_.size(); ++position) {
      const auto k = static_cast<size_t>(order_[position]);
      const IterVar root = sums.axis(static_cast<int>(position));
      if (!axes_[k].o1.defined()) {
        s2.push_back(root);
        continue;
      }
      Knob& knob = knobs_[axes_[k].knob];
      const auto [outer, inner] = b_.split(knob, sums, root);
      add_values(knob, [](const Tiles& t) { return t[2]; });
      s2.push_back(outer);
      if (!is_vector_axis(k)) {
        (moves_vectors[k] ? of_vectors : s3).push_back(inner);
        continue;
      }
      const auto [vectors, lane] = b_.split(knob, sums, inner);
      add_values(knob, [this](const Tiles& t) { return lanes_of(t[2]); });
      of_vectors.push_back(vectors);
      lanes.push_back(lane);
    }
    const OperationFacts& f = facts(member);
    const auto& group = tiling_.members[member].group;
    std::vector<IterVar>& r0 = r0_.emplace_back();
    for (size_t k = 0; k < f.reduce_extents.size(); ++k) {
      IterVar root = sums.reduce_axis(static_cast<int>(k));
      int64_t extent = f.reduce_extents[k];
      if (group && group->reduce_axis == k) {
        const auto [groups, term] = sums.split(root, group->terms);
        terms.push_back(term);
        root = groups;
        extent = ceil_div(extent, group->terms);
      }
      if (extent == 1) {
        r0.push_back(root);
        continue;
      }
      Knob knob{.kind = Knob::Kind::Tile, .label = fmt::format("{}.{}", f.op.name(), root.name())};
      for (int64_t d : divisors(extent)) {
        knob.choices.push_back({d});
        knob.values.push_back({d});
      }
      const auto [outer, inner] = b_.split(knob, sums, root);
      r0.push_back(outer);
      r1.push_back(inner);
      knobs_.push_back(std::move(knob));
    }
    // Straight code keeps what its inner loops read while the outer ones go on: the few vectors,
    // and of the other factor one element at a time.
    s3.insert(s3.end(), of_vectors.begin(), of_vectors.end());
    std::vector<IterVar> order = r0;
    for (const auto* list : {&s2, &r1, &s3, &terms, &lanes}) {
      order.insert(order.end(), list->begin(), list->end());
    }
    sums.reorder(order);
    // Blocks of the reduction, or steps of one.
    std::vector<IterVar>& fetching = fetching_.emplace_back();
    if (!r0.empty()) fetching.push_back(s2.empty() ? r0.back() : s2.back());
    if (!r1.empty()) fetching.push_back(r1.front());
    for (const IterVar& axis : s3) sums.unroll(axis);
    for (const IterVar& axis : lanes) sums.vectorize(axis);
  }

  // Vectors of constants that several tiles read: while those compute, what the next ones read is
  // on its way. Where each is read once there is nothing to do meanwhile, and elements for all
  // lanes come so slowly that processors foresee them.
  void fetch_constants() {
    for (size_t m = 0; m < sums_.size(); ++m) {
      if (fetching_[m].empty()) continue;
      for (const te::Tensor& t : sums_[m].data().inputs) {
        if (!b_.schedule()[t].data().storage.precomputed && !te::is_constant(t)) continue;
        const std::vector<bool> moves = axes_that_move(sums_[m], t);
        // The outermost loop of a block whose next iteration reads others.
        IterVar loop;
        bool shared = false, in_vectors = false;
        for (size_t position = 0; position < order_.size(); ++position) {
          const auto k = static_cast<size_t>(order_[position]);
          shared |= !moves[position] && tiling_.axes[k].extent > 1;
          in_vectors |= moves[position] && is_vector_axis(k);
          if (moves[position] && !loop.defined()) loop = axes_[k].o1;
        }
        if (!loop.defined()) loop = fused_;
        if (shared && in_vectors)
          b_.add_fetch_knob(sums_[m], fetching_[m], t, b_.point(output_, loop));
      }
    }
  }

  // Of the stage's data axes, with which of them what it reads of the tensor moves.
  static std::vector<bool> axes_that_move(const Stage& stage, const te::Tensor& tensor) {
    const auto& compute = *te::as_op<te::ComputeNode>(stage.op());
    std::vector<bool> moves(compute.axis.size());
    for (const Expr& body : compute.body) {
      for_each_expr(body, [&](const Expr& e) {
        const ProducerLoad* load = as<ProducerLoad>(e);
        if (load == nullptr || load->producer.get() != tensor.op().get()) return;
        for (size_t k = 0; k < moves.size(); ++k) {
          moves[k] = moves[k] || std::ranges::any_of(load->indices, [&](const Expr& index) {
                       return uses(index, compute.axis[k].var());
                     });
        }
      });
    }
    return moves;
  }

  // The innermost tiles of all data axes, counted in vectors, must fit the vector registers with
  // some left for operands. Members take turns.
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
    for (size_t m = 0; m < sums_.size(); ++m) {
      const TileMember& member = tiling_.members[m];
      if (copies_from_elsewhere(member)) continue;
      b_.add_attach_point(member.op, output_, fused_);
      if (!o1_.empty()) b_.add_attach_point(member.op, output_, o1_.back());
      if (!r0_[m].empty()) b_.add_attach_point(member.op, sums_[m], r0_[m].back());
    }
  }

  Builder& b_;
  const Tiling& tiling_;
  size_t owner_, end_;  // what is stored: the last operation of the tail, or the reduction itself
  size_t last_ = 0;     // of the tiled axes the innermost one of what is stored
  Stage output_;
  std::vector<Stage> sums_;     // of each member
  std::vector<size_t> tail_;    // all operations that the tiles compute behind the sums
  std::vector<int64_t> order_;  // the data axis at each dimension of the sums
  PackedCopies packed_;
  std::vector<TiledAxis> axes_;
  std::vector<Knob> knobs_;
  IterVar fused_;
  std::vector<IterVar> o1_;
  std::vector<std::vector<IterVar>> r0_, s2_;   // of each member
  std::vector<std::vector<IterVar>> fetching_;  // of its loops those that may fetch for the next
};

}  // namespace

void apply_tiling(Builder& b, const Tiling& tiling) { TiledLoops(b, tiling).apply(); }

}  // namespace tw::autotune
