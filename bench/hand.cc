// SPDX-License-Identifier: Apache-2.0
// Schedules written by hand, as a reader of docs/fast_gemm.md would write them: contestants that
// show what the language can say, whatever the tuner finds.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "autotune/space/dot_product.h"
#include "bench/contestant.h"
#include "runtime/machine.h"
#include "schedule/schedule.h"

namespace tw::bench {
namespace {

int64_t extent(const te::Tensor& t, size_t d) { return as<IntImm>(t.shape()[d])->value; }
int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// ---------------------------------------------------------------------------------------------
// Matrix products

struct Product {
  int64_t m, n, k;
  bool weights;  // B is known when the kernel is built
  int threads;
  int64_t bytes;  // of an element of A
  int64_t group;  // terms that the processor adds at once to a sum
  bool offsets;   // beside the sums, those of each column: see lower/unsign_dot_products.cc
};
Product product_of(const autotune::Task& task) {
  const te::Tensor a = task.program.arguments[0], b = task.program.arguments[1];
  const te::Tensor c = task.program.outputs[0];
  Product p{.m = extent(c, 0),
            .n = extent(c, 1),
            .k = extent(a, 1),
            .weights = te::is_constant(b),
            .threads = task.threads,
            .bytes = a.dtype().element_bytes()};
  p.group =
      p.weights ? autotune::products_at_once(a.dtype(), b.dtype(), c.dtype(), task.target) : 1;
  p.offsets = p.group > 1 && a.dtype().is_int() && b.dtype().is_int();
  return p;
}

// Rows and vectors of columns of the sums that stay in registers.
struct RegisterTile {
  int64_t rows, vectors;
};
// How tiles are walked.
struct Walk {
  int64_t tiles;      // of one block of rows
  int64_t blocks;     // whose part of A stays in L2
  bool panels_first;  // the outer loop is over panels of B: all of A stays in L2, or must not
};

// Three quarters of the registers hold sums; the rest must do for vectors of B and an element of A.
// Of the shapes that this leaves, the one that computes least beside the matrix.
RegisterTile register_tile(const Product& p, const Target& target) {
  const int64_t sums = target.vector_registers * 3 / 4, lanes = target.vector_lanes(32);
  if (4 * p.m < sums) return {p.m, 4};  // few rows: enough sums for the latency of an addition
  RegisterTile best{0, 0};
  double least = std::numeric_limits<double>::infinity();
  for (const int64_t vectors : {3, 4, 2}) {
    const int64_t others = p.offsets ? 2 * vectors + 2 : vectors + 1;
    if (sums + others > target.vector_registers) continue;
    const int64_t rows = sums / vectors, columns = vectors * lanes;
    const int64_t area = ceil_div(p.m, rows) * rows * ceil_div(p.n, columns) * columns;
    const double beside = p.offsets ? double(rows + vectors) / double(rows * vectors) : 0;
    const double work = double(area) * (1 + beside);
    if (work < least) best = {rows, vectors};
    least = std::min(least, work);
  }
  return best;
}

// Blocks of rows: as few as have their part of A fit half of L2, and as many more as deal the
// panels of all blocks evenly to the threads. What is packed in the call is packed once.
Walk walk(const Product& p, const RegisterTile& tile, const Target& target) {
  const int64_t tiles = ceil_div(p.m, tile.rows);
  if (!p.weights) return {tiles, 1, true};
  const int64_t l2 = host().l2_bytes > 0 ? host().l2_bytes : 1 << 20;
  const int64_t panels = ceil_div(p.n, tile.vectors * target.vector_lanes(32));
  const int64_t fit = std::min(ceil_div(p.m * p.k * p.bytes, l2 / 2), tiles);
  const auto idle = [&](int64_t blocks) {  // of all threads' time, while the last ones work
    const int64_t units = panels * blocks, busy = ceil_div(units, p.threads) * p.threads;
    return static_cast<double>(busy - units) / static_cast<double>(busy);
  };
  int64_t best = fit;
  for (int64_t blocks = fit; blocks <= std::min(4 * fit, tiles) && idle(best) > 0.05; ++blocks) {
    if (idle(blocks) < idle(best)) best = blocks;
  }
  const int64_t each = ceil_div(tiles, best);
  return {each, ceil_div(tiles, each), fit == 1};
}

// Sums of a register tile, over all of k. Panels of B, as wide as a tile, lie packed: weights since
// the kernel was built, others as soon as they are needed. No operand is waited for: while a panel
// is multiplied with a block of A the next one is fetched, and with each tile the rows of the next.
std::optional<Trace> product(const autotune::Task& task) {
  const te::Tensor c = task.program.outputs[0];
  const te::Tensor a = task.program.arguments[0], b = task.program.arguments[1];
  const Product p = product_of(task);
  const int64_t lanes = task.target.vector_lanes(32);
  const RegisterTile registers = register_tile(p, task.target);
  const Walk order = walk(p, registers, task.target);
  const int64_t columns = registers.vectors * lanes;

  const Schedule s = Schedule::create({c});
  const te::Tensor sums = s.cache_write(c, "local");
  const Stage out = s[c], tile = s[sums];

  const auto [io, ii] = out.split(out.axis(0), registers.rows);
  const auto [jo, ji] = out.split(out.axis(1), columns);
  const auto [jv, jl] = out.split(ji, lanes);
  const auto [block, i] = out.split(io, order.tiles);
  const IterVar outer = order.panels_first ? jo : block, inner = order.panels_first ? block : jo;
  out.reorder({outer, inner, i, ii, jv, jl});
  const IterVar unit = out.fuse({outer, inner});
  out.parallel(unit);
  out.unroll(ii);
  out.unroll(jv);
  out.vectorize(jl);

  tile.compute_at(out, i);
  IterVar k = tile.reduce_axis(0), term;
  if (p.group > 1) {
    const Stage::Pair split = tile.split(k, p.group);
    k = split.outer;
    term = split.inner;
  }
  const auto [v, l] = tile.split(tile.axis(1), lanes);
  if (p.group > 1) {
    tile.reorder({k, tile.axis(0), v, term, l});
  } else {
    tile.reorder({k, tile.axis(0), v, l});
  }
  tile.unroll(tile.axis(0));
  tile.unroll(v);
  tile.vectorize(l);
  if (order.tiles > 1) tile.prefetch_ahead(a, k, out, i);

  const bool again = p.m > registers.rows;  // a panel is read by more than one tile
  if (!p.weights && !again) return s.trace();
  const te::Tensor packed = s.cache_read(b, "global", {tile.op()});
  const Stage panel = s[packed];
  if (p.group > 1) {  // for each column the terms of a group side by side
    panel.transform_layout(panel.axis(0), p.group, {0, 2, 1});
    panel.transform_layout(panel.axis(1), columns, {1, 0, 2, 3});
  } else {
    panel.transform_layout(panel.axis(1), columns, {1, 0, 2});
  }
  if (p.weights) {
    panel.precompute();
    if (again) tile.prefetch_ahead(packed, k, out, unit, order.panels_first ? order.blocks : 1);
  } else {
    panel.compute_at(out, unit);
    const auto [pv, pl] = panel.split(panel.axis(2), lanes);
    panel.unroll(pv);
    panel.vectorize(pl);
  }
  return s.trace();
}

// Products in tile registers. Two by two tiles of sums, each of sixteen rows and columns, take two
// tiles of A and two of B: as many loads as products, and all eight registers.
struct Tiles {
  const char* product;  // the intrinsics' names of the types
  const char *a, *b, *sum;
  int64_t group;  // products of one sum that stand side by side
};
struct TilesRow {
  DType a, b;
  const char* feature;
  Tiles tiles;
};
const TilesRow kTiles[] = {
    {uint_type(8), int_type(8), "amx-int8", {"u8s8", "u8", "s8", "s32", 4}},
    {int_type(8), int_type(8), "amx-int8", {"s8s8", "s8", "s8", "s32", 4}},
    {bfloat_type(16), bfloat_type(16), "amx-bf16", {"bf16", "bf16", "bf16", "f32", 2}},
};
constexpr int64_t kTile = 16;

// Null where the target has none, or tiles do not divide the matrices.
const Tiles* tiles_for(const autotune::Task& task) {
  const std::vector<te::Tensor>& arguments = task.program.arguments;
  const te::Tensor a = arguments[0], b = arguments[1], c = task.program.outputs[0];
  if (!te::is_constant(b) || c.dtype().bits != 32) return nullptr;
  for (const TilesRow& row : kTiles) {
    if (a.dtype() != row.a || b.dtype() != row.b || !task.target.has_feature(row.feature)) continue;
    const bool whole = extent(c, 0) % kTile == 0 && extent(c, 1) % kTile == 0 &&
                       extent(a, 1) % (kTile * row.tiles.group) == 0;
    return whole ? &row.tiles : nullptr;
  }
  return nullptr;
}

// While a block of tiles' rows of A, a quarter of L2, is multiplied with two panels of B, these
// stay in L1, which A passes by.
std::optional<Trace> tile_product(const autotune::Task& task, const Tiles& t) {
  const te::Tensor c = task.program.outputs[0];
  const te::Tensor a = task.program.arguments[0], b = task.program.arguments[1];
  const auto two_if = [](int64_t tiles) { return tiles % 2 == 0 ? 2 : 1; };
  const auto intrin = [](const char* name, const char* type) {
    return fmt::format(fmt::runtime(name), type);
  };
  const int64_t l2 = host().l2_bytes > 0 ? host().l2_bytes : 1 << 20;
  const int64_t depth = kTile * t.group, steps = extent(a, 1) / depth;
  const int64_t rows = kTile * two_if(extent(c, 0) / kTile);
  const int64_t columns = kTile * two_if(extent(c, 1) / kTile);
  const int64_t row_bytes = extent(a, 1) * a.dtype().element_bytes();
  const int64_t block = std::max<int64_t>(1, l2 / 4 / (rows * row_bytes));
  // What is too large to be found in L2 later goes around it, in lines of a copy.
  const bool passes_by = extent(c, 0) * extent(c, 1) * 4 > l2 / 2;

  // The panels of B are sixteen columns wide, so that a tile is one piece of memory.
  const Schedule s = Schedule::create({c});
  const te::Tensor copied = passes_by ? s.cache_write(c, "local") : c;
  const te::Tensor sums = s.cache_write(copied, "amx.tile");
  const Stage panel = s[s.cache_read(b, "global", {s[sums].op()})];
  panel.transform_layout(panel.axis(0), t.group, {0, 2, 1});
  panel.transform_layout(panel.axis(1), kTile, {1, 0, 2, 3});
  panel.precompute();
  const Stage right = s[s.cache_read(panel.op().output(0), "amx.tile", {s[sums].op()})];
  const Stage left = s[s.cache_read(a, "amx.tile", {s[sums].op()})];
  const Stage out = s[c], copy = s[copied], tile = s[sums];

  const auto [i, ii] = out.split(out.axis(0), rows);
  const auto [jo, ji] = out.split(out.axis(1), columns);
  const auto [io, im] = out.split(i, block);
  out.reorder({io, jo, im, ii, ji});
  out.parallel(out.fuse({io, jo}));
  if (passes_by) {
    const auto [v, l] = out.split(ji, kTile);
    out.unroll(v);
    out.vectorize(l);
    out.pragma(ii, "store_nontemporal");
    copy.compute_at(out, im);
  }
  const auto [y, yi] = copy.split(passes_by ? copy.axis(0) : ii, kTile);
  const auto [x, xi] = copy.split(passes_by ? copy.axis(1) : ji, kTile);
  copy.reorder({y, x, yi, xi});
  copy.unroll(y);
  copy.unroll(x);
  copy.tensorize(yi, intrin("amx.store_{}", t.sum));

  tile.compute_at(out, im);
  const auto [k, kt] = tile.split(tile.reduce_axis(0), depth);
  const auto [ko, ki] = tile.split(k, two_if(steps));
  const auto [r, ri] = tile.split(tile.axis(0), kTile);
  const auto [q, qi] = tile.split(tile.axis(1), kTile);
  tile.reorder({ko, ki, r, q, ri, qi, kt});
  tile.unroll(ki);
  tile.unroll(r);
  tile.unroll(q);
  tile.tensorize(ri, intrin("amx.dot_{}", t.product));

  left.compute_at(tile, ki);
  const auto [w, wi] = left.split(left.axis(0), kTile);
  left.unroll(w);
  left.tensorize(wi, intrin("amx.stream_a_{}", t.a));
  right.compute_at(tile, ki);
  right.unroll(right.axis(0));
  right.tensorize(right.axis(1), intrin("amx.load_b_{}", t.b));
  return s.trace();
}

std::optional<Trace> gemm(const autotune::Task& task) {
  if (const Tiles* tiles = tiles_for(task)) return tile_product(task, *tiles);
  return product(task);
}

struct Row {
  const char* kind;
  std::optional<Trace> (*schedule)(const autotune::Task& task);
};
constexpr Row kKinds[] = {{"gemm", gemm}};

}  // namespace

std::optional<Trace> hand_schedule(const Problem& problem, const autotune::Task& task) {
  for (const Row& row : kKinds) {
    if (problem.kind == row.kind) return row.schedule(task);
  }
  return {};
}

}  // namespace tw::bench
