// SPDX-License-Identifier: Apache-2.0
// Schedules written by hand, as a reader of docs/fast_gemm.md would write them: contestants that
// show what the language can say, whatever the tuner finds.
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

struct Row {
  const char* kind;
  std::optional<Trace> (*schedule)(const autotune::Task& task);
};
constexpr Row kKinds[] = {{"gemm", product}};

}  // namespace

std::optional<Trace> hand_schedule(const Problem& problem, const autotune::Task& task) {
  for (const Row& row : kKinds) {
    if (problem.kind == row.kind) return row.schedule(task);
  }
  return {};
}

}  // namespace tw::bench
