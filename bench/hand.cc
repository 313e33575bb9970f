// SPDX-License-Identifier: Apache-2.0
// Schedules written by hand, as a reader of docs/fast_gemm.md would write them: contestants that
// show what the language can say, whatever the tuner finds.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "autotune/space/dot_product.h"
#include "autotune/space/tiles.h"
#include "bench/contestant.h"
#include "runtime/machine.h"
#include "schedule/schedule.h"
#include "schedule/te/compute.h"

namespace tw::bench {
namespace {

using autotune::ceil_div;

int64_t extent(const te::Tensor& t, size_t d) { return as<IntImm>(t.shape()[d])->value; }

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

// What is walked: rows of tiles, whose operand has so many bytes in all, by panels of the other.
struct Grid {
  int64_t tiles, bytes, panels;
  int threads;
};
// Blocks of rows: as few as have their part of the operand fit half of L2, and as many more as deal
// the panels of all blocks evenly to the threads.
Walk walk(const Grid& grid) {
  const int64_t l2 = host().l2_bytes > 0 ? host().l2_bytes : 1 << 20;
  const int64_t fit = std::min(ceil_div(grid.bytes, l2 / 2), grid.tiles);
  const auto idle = [&](int64_t blocks) {  // of all threads' time, while the last ones work
    const int64_t units = grid.panels * blocks;
    const int64_t busy = ceil_div(units, grid.threads) * grid.threads;
    return static_cast<double>(busy - units) / static_cast<double>(busy);
  };
  int64_t best = fit;
  for (int64_t n = fit; n <= std::min(4 * fit, grid.tiles) && idle(best) > 0.05; ++n) {
    if (idle(n) < idle(best)) best = n;
  }
  const int64_t each = ceil_div(grid.tiles, best);
  return {each, ceil_div(grid.tiles, each), fit == 1};
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
  const int64_t columns = registers.vectors * lanes, tiles = ceil_div(p.m, registers.rows);
  // What is packed in the call is packed once.
  const Walk order = p.weights
                         ? walk({tiles, p.m * p.k * p.bytes, ceil_div(p.n, columns), p.threads})
                         : Walk{tiles, 1, true};

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

// Null where the target has none, tiles do not divide A, or B is narrower than one.
const Tiles* tiles_for(const autotune::Task& task) {
  const std::vector<te::Tensor>& arguments = task.program.arguments;
  const te::Tensor a = arguments[0], b = arguments[1], c = task.program.outputs[0];
  if (!te::is_constant(b) || c.dtype().bits != 32) return nullptr;
  for (const TilesRow& row : kTiles) {
    if (a.dtype() != row.a || b.dtype() != row.b || !task.target.has_feature(row.feature)) continue;
    const bool whole = extent(a, 0) % kTile == 0 && extent(a, 1) % (kTile * row.tiles.group) == 0;
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
  const int64_t columns = extent(c, 1) >= 2 * kTile ? 2 * kTile : kTile;
  const int64_t row_bytes = extent(a, 1) * a.dtype().element_bytes();
  const int64_t block = std::max<int64_t>(1, l2 / 4 / (rows * row_bytes));
  // What is too large to be found in L2 later goes around it, in lines of a copy, and of a tile
  // that overhangs only a part is of the matrix.
  const bool passes_by = extent(c, 0) * extent(c, 1) * 4 > l2 / 2;
  const bool in_copy = passes_by || extent(c, 1) % columns != 0;

  const Schedule s = Schedule::create({c});
  const te::Tensor copied = in_copy ? s.cache_write(c, "local") : c;
  const te::Tensor sums = s.cache_write(copied, "amx.tile");
  const Stage panel = s[s.cache_read(b, "global", {s[sums].op()})];
  panel.transform_layout(panel.axis(0), t.group, {0, 2, 1});
  panel.transform_layout(panel.axis(1), columns, {1, 0, 2, 3});
  panel.precompute();
  const Stage right = s[s.cache_read(panel.op().output(0), "amx.tile", {s[sums].op()})];
  const Stage left = s[s.cache_read(a, "amx.tile", {s[sums].op()})];
  const Stage out = s[c], copy = s[copied], tile = s[sums];

  const auto [i, ii] = out.split(out.axis(0), rows);
  const auto [jo, ji] = out.split(out.axis(1), columns);
  const auto [io, im] = out.split(i, block);
  out.reorder({io, jo, im, ii, ji});
  out.parallel(out.fuse({io, jo}));
  if (in_copy) {
    const auto [v, l] = out.split(ji, kTile);
    out.unroll(v);
    out.vectorize(l);
    if (passes_by) out.pragma(ii, "store_nontemporal");
    copy.compute_at(out, im);
  }
  const auto [y, yi] = copy.split(in_copy ? copy.axis(0) : ii, kTile);
  const auto [x, xi] = copy.split(in_copy ? copy.axis(1) : ji, kTile);
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
  const auto [z, zi] = right.split(right.axis(2), kTile);
  right.reorder({z, right.axis(1), zi});
  right.unroll(z);
  right.tensorize(right.axis(1), intrin("amx.load_b_{}", t.b));
  return s.trace();
}

std::optional<Trace> gemm(const autotune::Task& task) {
  if (const Tiles* tiles = tiles_for(task)) return tile_product(task, *tiles);
  return product(task);
}

// ---------------------------------------------------------------------------------------------
// Convolutions

// The first computed tensor that the tensor is computed from, if any.
te::Tensor computed_input(const te::Tensor& of) {
  for (const te::Tensor& t : of.op()->input_tensors()) {
    if (dynamic_cast<const te::ComputeNode*>(t.op().get()) != nullptr) return t;
  }
  return {};
}

// Bias and relu behind a convolution of images with weights. The tile of registers is a run of one
// row of the image, broadcast, by two vectors of output channels, so that weights lie in panels as
// wide, and image and result stay as they are: the copy of a row's sums transposes. Channels are
// the loop inside: its iterations are many, and those of a window so few that its ends would be
// felt.
std::optional<Trace> convolution(const autotune::Task& task) {
  if (task.program.outputs[0].rank() != 4) return {};  // channels in planes
  // Bytes want their channels in groups of four, which untuned schedules have.
  if (task.program.arguments[0].dtype().bits == 8) return {};
  const te::Tensor result = task.program.outputs[0], weight = task.program.arguments[1];
  const te::Tensor biased = computed_input(result), sum = computed_input(biased);
  const te::Tensor padded = computed_input(sum), image = sum.op()->input_tensors()[0];
  const int64_t lanes = task.target.vector_lanes(32);
  const int64_t channels = 2 * lanes, width = extent(sum, 3), height = extent(sum, 2);
  const int64_t longest = (task.target.vector_registers - 3) / 2;
  const int64_t run = ceil_div(width, ceil_div(width, longest));
  const int64_t bytes = 4 * extent(image, 1) * extent(image, 2) * extent(image, 3);
  const Walk order = walk({height, bytes, ceil_div(extent(sum, 1), channels), task.threads});

  const Schedule s = Schedule::create({result});
  const Stage out = s[result];
  const te::Tensor sums = s.cache_write(sum, "local");
  s[sum].compute_inline();
  s[biased].compute_inline();
  const te::Tensor packed = s.cache_read(weight, "global", {s[sums].op()});
  const Stage panel = s[packed], tile = s[sums];
  panel.transform_layout(panel.axis(0), channels, {0, 3, 4, 2, 1});
  panel.precompute();
  tile.transform_layout({0, 2, 3, 1});

  const auto [co, ci] = out.split(out.axis(1), channels);
  const auto [cu, cl] = out.split(ci, 8);  // columns of sums that are transposed at once
  const auto [block, h] = out.split(out.axis(2), order.tiles);
  const auto [wv, wl] = out.split(out.axis(3), lanes);
  const IterVar outer = order.panels_first ? co : block, inner = order.panels_first ? block : co;
  out.reorder({out.axis(0), outer, inner, h, cu, wv, cl, wl});
  const IterVar unit = out.fuse({out.axis(0), outer, inner});
  out.parallel(unit);
  out.unroll(cl);
  out.vectorize(wl);
  // Rows of so many channels lie on as many pages: their lines are on the way two vectors ahead.
  out.prefetch(result, wv, 2);

  tile.compute_at(out, h);
  const auto [w, wi] = tile.split(tile.axis(2), run);
  const auto [v, l] = tile.split(tile.axis(3), lanes);
  const IterVar rc = tile.reduce_axis(0), ry = tile.reduce_axis(1), rx = tile.reduce_axis(2);
  tile.reorder({tile.axis(0), tile.axis(1), w, ry, rx, rc, wi, v, l});
  tile.unroll(wi);
  tile.unroll(v);
  tile.vectorize(l);
  tile.prefetch_ahead(packed, rc, out, unit, order.panels_first ? order.blocks : 1);
  if (!padded.defined()) {
    tile.prefetch_ahead(image, rc, out, h);
  } else {
    const Stage pad = s[padded];
    pad.vectorize(pad.split(pad.axis(3), lanes).inner);
    pad.parallel(pad.fuse({pad.axis(0), pad.axis(1)}));
  }
  return s.trace();
}

struct Row {
  const char* kind;
  std::optional<Trace> (*schedule)(const autotune::Task& task);
};
constexpr Row kKinds[] = {{"gemm", gemm}, {"conv2d_bias_relu", convolution}};

}  // namespace

std::optional<Trace> hand_schedule(const Problem& problem, const autotune::Task& task) {
  for (const Row& row : kKinds) {
    if (problem.kind == row.kind) return row.schedule(task);
  }
  return {};
}

}  // namespace tw::bench
