// SPDX-License-Identifier: Apache-2.0
// Products of bytes or bfloat16 in the tile registers of a processor that has them (AMX), with the
// elementwise operations behind them fused:
//
//   parallel over (blocks of rows, blocks of columns);
//     for panels of columns; for tiles of rows;
//       { sums in tile registers: for r0; unrolled r1: load rows, load columns, multiply };
//       store the sums; copy out, in vectors
//
// The columns' factor is packed into panels as wide as a tile, by which it is read in order:
// constants when the kernel is built, others by an intrinsic where they lie as it takes them. Rows
// are loaded from where they are if tiles divide them, and from a padded copy if not. Variants:
// sums are stored where they belong, or into a copy that is written in vectors; what has tiles that
// overhang, or operations behind it, is of the second kind.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "autotune/space/dot_product.h"
#include "autotune/space/rules.h"
#include "autotune/space/tiles.h"
#include "schedule/te/compute.h"

namespace tw::autotune {
namespace {

constexpr int64_t kTile = TileProduct::kTileRows;
constexpr int64_t kMostRows = 2, kMostColumns = 3;  // of tiles of sums, side by side
// Tiles of sums and, of each step, those of both factors; one more, since it is the product of
// (rows + 1) and (columns + 1) that is limited.
constexpr int64_t kTileRegisters = 8;
constexpr int64_t kMostSteps = 4;  // of the reduction in one piece of code

// Tiles in a block of each level; the loops outside take the rest.
using Tiles = std::vector<int64_t>;

struct Variant {
  TileProduct product;
  bool rows_in_place;  // loaded from the operand itself
  bool in_copy;        // sums pass through local memory
  bool interleaved;    // what is packed in the call is taken as whole vectors of rows
};

// Whether columns lie side by side in memory, from where each call packs them.
bool interleaves(const TileProduct& p, const Target& target) {
  const bool computed = te::as_op<te::ComputeNode>(p.b.op()) != nullptr;
  return !computed && !te::is_constant(p.b) && target.has_feature("avx512bw") &&
         p.b_column + 1 == static_cast<size_t>(p.b.rank()) && p.b_depth + 2 == size_t(p.b.rank());
}

std::vector<Variant> variants_of(const Builder& b, size_t op) {
  const OperationFacts& f = b.facts(op);
  if (!f.is_reduction || !f.has_reuse) return {};
  const auto product = find_tile_product(*f.compute, b.target());
  if (!product) return {};
  // What is computed may be computed where it is read, and tiles are loaded from memory.
  const bool computed = te::as_op<te::ComputeNode>(product->a.op()) != nullptr;
  const int64_t rows = f.extents[product->row], columns = f.extents[product->column];
  const int64_t depth = f.reduce_extents[product->reduce_axis];
  const bool in_place = !computed && rows % kTile == 0 && depth % product->depth() == 0;
  const bool divide = columns % kTile == 0 && depth % product->depth() == 0;
  const bool interleaved = divide && interleaves(*product, b.target());
  std::vector<Variant> result;
  if (in_place && columns % kTile == 0 && f.tail.empty())
    result.push_back({*product, in_place, /*in_copy=*/false, interleaved});
  result.push_back({*product, in_place, /*in_copy=*/true, interleaved});
  return result;
}

int variants(const Builder& b, size_t op) { return static_cast<int>(variants_of(b, op).size()); }

// (tiles' groups in a block, tiles side by side in a group), of so many tiles. Where groups may
// overhang the last of them is partial.
std::vector<Tiles> block_choices(int64_t extent, int64_t most, bool may_overhang) {
  std::vector<Tiles> choices;
  const int64_t tiles = ceil_div(extent, kTile);
  for (int64_t group = 1; group <= std::min(most, tiles); ++group) {
    if (!may_overhang && tiles % group != 0) continue;
    for (int64_t block : divisors(ceil_div(tiles, group))) choices.push_back({block, group});
  }
  return choices;
}

// One application of the rule.
class TileRegisters {
 public:
  TileRegisters(Builder& b, size_t op, Variant variant)
      : b_(b), facts_(b.facts(op)), op_(op), p_(variant.product), variant_(std::move(variant)) {}

  void apply() {
    b_.describe(variant_.in_copy ? "amx[in a copy]" : "amx", op_);
    row_knob_ = knob(p_.row, kMostRows, !variant_.rows_in_place);
    column_knob_ = knob(p_.column, kMostColumns, variant_.in_copy && !variant_.interleaved);
    make_stages();
    split_output();
    if (variant_.in_copy) store_sums();
    multiply();
    load_rows();
    load_columns();
    limit_registers();
    b_.add_knob(std::move(row_knob_));
    b_.add_knob(std::move(column_knob_));
    b_.add_knob(std::move(depth_knob_));
    if (variant_.in_copy) b_.add_store_knob(end_, output_, tile_rows_);
    for (size_t t : tail_) b_.add_attach_point(t, output_, fused_);
  }

 private:
  Knob knob(size_t axis, int64_t most, bool may_overhang) const {
    Knob knob{.kind = Knob::Kind::Tile,
              .label = fmt::format("{}.{}", facts_.op.name(), facts_.compute->axis[axis].name())};
    knob.choices = block_choices(facts_.extents[axis], most, may_overhang);
    knob.values.resize(knob.size());
    return knob;
  }

  template <class F>
  static void add_values(Knob& knob, F value) {
    for (size_t c = 0; c < knob.size(); ++c) knob.values[c].push_back(value(knob.choices[c]));
  }
  // The extent of a group of tiles.
  static int64_t group_extent(const Tiles& t) { return t[1] * kTile; }

  // Splits into groups of tiles.
  Stage::Pair split_groups(Knob& knob, const Stage& stage, const IterVar& axis) {
    const Stage::Pair pair = b_.split(knob, stage, axis);
    add_values(knob, group_extent);
    return pair;
  }
  // Tiles of a padded copy are as large as groups.
  void pad_to_groups(Knob& knob, const Stage& stage, const IterVar& axis,
                     const std::vector<int64_t>& order) {
    knob.places.push_back({b_.next_step(), kFactorArgument});
    add_values(knob, group_extent);
    stage.transform_layout(axis, 1, order);
  }

  void make_stages() {
    const Schedule& s = b_.schedule();
    tail_ = facts_.tail;
    end_ = tail_.empty() ? op_ : tail_.back();
    te::Tensor result = facts_.op.output(0);
    if (variant_.in_copy) {
      result = s.cache_write(result, "local");
      if (end_ != op_) b_.stage(op_).compute_inline();
    }
    b_.mark_done(op_);
    b_.take_tail(tail_);
    const te::Tensor sums = s.cache_write(result, "amx.tile");
    sums_ = s[sums];
    pack_columns();
    columns_ = s[s.cache_read(panel_.op().output(0), "amx.tile", {sums_.op()})];
    te::Tensor rows = p_.a;
    if (!variant_.rows_in_place) {
      pad_rows();
      rows = padded_.op().output(0);
    }
    rows_ = s[s.cache_read(rows, "amx.tile", {sums_.op()})];
    output_ = b_.stage(end_);
    copy_ = variant_.in_copy ? s[result] : output_;
  }

  bool depth_divides() const { return facts_.reduce_extents[p_.reduce_axis] % p_.depth() == 0; }

  // Dimensions: panels, others as they were, (steps of the reduction,) groups of terms, columns of
  // a panel, terms.
  void pack_columns() {
    const Schedule& s = b_.schedule();
    panel_ = s[s.cache_read(p_.b, "global", {sums_.op()})];
    auto depth = static_cast<int64_t>(p_.b_depth), column = static_cast<int64_t>(p_.b_column);
    if (!depth_divides()) {  // what is added beyond the last product is zero
      panel_.transform_layout(panel_.axis(static_cast<int>(depth)), p_.depth());
      column += column > depth ? 1 : 0;
      ++depth;
    }
    const int64_t rank = panel_rank();
    // Of rank dimensions with the groups apart, terms last.
    std::vector<int64_t> order;
    for (int64_t k = 0; k <= rank; ++k) {
      if (k != depth + 1) order.push_back(k);
    }
    order.push_back(depth + 1);
    panel_.transform_layout(panel_.axis(static_cast<int>(depth)), p_.group, order);
    order = {column};
    for (int64_t k = 0; k <= rank; ++k) {
      if (k != column && k != column + 1 && k != depth + (depth > column ? 1 : 0))
        order.push_back(k);
    }
    order.push_back(depth + (depth > column ? 1 : 0));
    order.push_back(column + 1);
    order.push_back(rank + 1);
    pad_to_groups(column_knob_, panel_, panel_.axis(static_cast<int>(column)), order);
    if (te::is_constant(p_.b)) panel_.precompute();
    panel_.parallel(panel_.axis(0));
    if (!variant_.interleaved) return;
    const int64_t last = panel_rank() - 1;  // of groups, columns and terms
    const IterVar columns = panel_.axis(static_cast<int>(last - 1));
    panel_.tensorize(panel_.split(columns, kTile).inner, "avx512.interleave_" + p_.b_type);
  }
  int64_t panel_rank() const { return axes_of(panel_); }

  static int64_t axes_of(const Stage& stage) {
    return static_cast<int64_t>(te::as_op<te::ComputeNode>(stage.op())->axis.size());
  }

  // Dimensions: groups of rows, others as they were, steps of the reduction, rows of a group, and
  // what a tile has of one.
  void pad_rows() {
    const Schedule& s = b_.schedule();
    padded_ = s[s.cache_read(p_.a, "global", {sums_.op()})];
    const int64_t rank = axes_of(padded_), row = static_cast<int64_t>(p_.a_row);
    padded_.transform_layout(padded_.axis(static_cast<int>(rank - 1)), p_.depth());
    std::vector<int64_t> order = {row};
    for (int64_t k = 0; k <= rank; ++k) {
      if (k != row && k != row + 1) order.push_back(k);
    }
    order.push_back(row + 1);
    order.push_back(rank + 1);
    pad_to_groups(row_knob_, padded_, padded_.axis(static_cast<int>(row)), order);
    padded_.parallel(padded_.axis(0));
    padded_.vectorize(padded_.axis(static_cast<int>(rank + 1)));
  }

  void split_output() {
    const auto [i, rows] = split_groups(row_knob_, output_, output_.axis(int(p_.row)));
    const auto [j, columns] = split_groups(column_knob_, output_, output_.axis(int(p_.column)));
    const auto [row_block, row_group] = b_.split(row_knob_, output_, i);
    add_values(row_knob_, [](const Tiles& t) { return t[0]; });
    const auto [column_block, column_group] = b_.split(column_knob_, output_, j);
    add_values(column_knob_, [](const Tiles& t) { return t[0]; });
    std::vector<IterVar> outer;
    for (size_t k = 0; k < facts_.extents.size(); ++k) {
      if (k != p_.row && k != p_.column) outer.push_back(output_.axis(int(k)));
    }
    outer.push_back(row_block);
    outer.push_back(column_block);
    std::vector<IterVar> order = outer;
    for (const IterVar& axis : {column_group, row_group, rows, columns}) order.push_back(axis);
    output_.reorder(order);
    fused_ = output_.fuse(outer);
    output_.parallel(fused_);
    group_ = row_group;
    tile_rows_ = rows;
    if (variant_.in_copy) {
      const auto [vectors, lanes] = output_.split(columns, kTile);
      output_.unroll(vectors);
      output_.vectorize(lanes);
      copy_.compute_at(output_, group_);
    } else {
      store_tiles(output_, rows, columns);
    }
  }

  void store_sums() { store_tiles(copy_, copy_.axis(int(p_.row)), copy_.axis(int(p_.column))); }

  void store_tiles(const Stage& stage, const IterVar& rows, const IterVar& columns) {
    const auto [y, yi] = stage.split(rows, kTile);
    const auto [x, xi] = stage.split(columns, kTile);
    // The other axes are outside already, or have one iteration.
    std::vector<IterVar> order;
    if (variant_.in_copy) {
      for (size_t k = 0; k < facts_.extents.size(); ++k) {
        if (k != p_.row && k != p_.column) order.push_back(stage.axis(int(k)));
      }
    }
    for (const IterVar& axis : {y, x, yi, xi}) order.push_back(axis);
    stage.reorder(order);
    stage.unroll(y);
    stage.unroll(x);
    stage.tensorize(yi, "amx.store_" + p_.sum_type);
  }

  void multiply() {
    sums_.compute_at(output_, group_);
    const IterVar root = sums_.reduce_axis(static_cast<int>(p_.reduce_axis));
    const auto [step, terms] = sums_.split(root, p_.depth());
    depth_knob_ = {.kind = Knob::Kind::Tile,
                   .label = fmt::format("{}.{}", facts_.op.name(), root.name())};
    for (int64_t d : divisors(ceil_div(facts_.reduce_extents[p_.reduce_axis], p_.depth()))) {
      if (d <= kMostSteps) depth_knob_.choices.push_back({d});
    }
    depth_knob_.values = depth_knob_.choices;
    const auto [outer, inner] = b_.split(depth_knob_, sums_, step);
    const auto [r, ri] = sums_.split(sums_.axis(static_cast<int>(p_.row)), kTile);
    const auto [c, ci] = sums_.split(sums_.axis(static_cast<int>(p_.column)), kTile);
    std::vector<IterVar> order;
    for (size_t k = 0; k < facts_.extents.size(); ++k) {
      if (k != p_.row && k != p_.column) order.push_back(sums_.axis(int(k)));
    }
    for (size_t k = 0; k < facts_.reduce_extents.size(); ++k) {
      if (k != p_.reduce_axis) order.push_back(sums_.reduce_axis(int(k)));
    }
    for (const IterVar& axis : {outer, inner, r, c, ri, ci, terms}) order.push_back(axis);
    sums_.reorder(order);
    for (const IterVar& axis : {inner, r, c}) sums_.unroll(axis);
    sums_.tensorize(ri, "amx.dot_" + p_.product());
    step_ = inner;
  }

  // A copy in tiles of stage `of`: dimension `tiled` outermost in blocks of sixteen, and the loops
  // that the intrinsic stands for innermost.
  void load(const Stage& stage, int64_t tiled, const std::vector<int64_t>& inner,
            const std::string& intrin) {
    stage.compute_at(sums_, step_);
    const auto [tile, place] = stage.split(stage.axis(static_cast<int>(tiled)), kTile);
    std::vector<IterVar> order;
    for (int64_t k = 0; k < axes_of(stage); ++k) {
      if (k != tiled && std::ranges::find(inner, k) == inner.end())
        order.push_back(stage.axis(static_cast<int>(k)));
    }
    order.push_back(tile);
    const size_t first = order.size();
    for (int64_t k : inner) order.push_back(k == tiled ? place : stage.axis(static_cast<int>(k)));
    stage.reorder(order);
    stage.unroll(tile);
    stage.tensorize(order[first], intrin);
  }

  // Rows pass by the first cache, where the panel of columns stays.
  void load_rows() {
    const int64_t rank = axes_of(rows_);
    const int64_t row = variant_.rows_in_place ? static_cast<int64_t>(p_.a_row) : rank - 2;
    load(rows_, row, {row, rank - 1}, "amx.stream_a_" + p_.a_type);
  }
  void load_columns() {
    const int64_t rank = axes_of(columns_);
    load(columns_, rank - 2, {rank - 3, rank - 2, rank - 1}, "amx.load_b_" + p_.b_type);
  }

  void limit_registers() {
    Limit limit{.knobs = {b_.num_knobs(), b_.num_knobs() + 1}, .weights = {}, .greatest = 0};
    limit.greatest = kTileRegisters + 1;
    for (const Knob* knob : {&row_knob_, &column_knob_}) {
      limit.weights.emplace_back();
      for (const Tiles& t : knob->choices) limit.weights.back().push_back(t[1] + 1);
    }
    b_.add_limit(std::move(limit));
  }

  Builder& b_;
  const OperationFacts& facts_;
  size_t op_, end_ = 0;
  TileProduct p_;
  Variant variant_;
  std::vector<size_t> tail_;
  Stage output_, copy_, sums_, rows_, columns_, panel_, padded_;
  Knob row_knob_, column_knob_, depth_knob_;
  IterVar fused_, group_, tile_rows_, step_;
};

void apply(Builder& b, size_t op, int variant) {
  TileRegisters(b, op, variants_of(b, op)[static_cast<size_t>(variant)]).apply();
}

}  // namespace

const Rule kTileRegistersRule = {"tile registers", variants, apply, /*has_alternatives=*/true};

}  // namespace tw::autotune
