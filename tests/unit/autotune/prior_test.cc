// SPDX-License-Identifier: Apache-2.0
// What the prior knows about memory: relations between schedules, on a machine that is written
// down here.
#include "autotune/cost/prior.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "autotune/cost/loop_nest.h"
#include "schedule/infer_bound.h"
#include "schedule/normalize.h"
#include "schedule/schedule.h"
#include "schedule/schedule_ops.h"
#include "schedule/topi/topi.h"
#include "tests/support/tile_schedule.h"

namespace tw::autotune {
namespace {

constexpr MachineModel kMachine{.vector_bits = 512, .vector_registers = 32};

std::vector<NestStatement> nest_of(const Schedule& schedule) {
  const Schedule normal = normalize(schedule);
  return analyze_nest(schedule_ops(normal, infer_bound(normal)));
}

// Bytes from memory and into it.
double traffic(const Schedule& schedule) {
  const std::vector<NestStatement> nest = nest_of(schedule);
  const std::vector<Warm> warm = warm_accesses(nest, kMachine);
  double bytes = 0;
  for (size_t k = 0; k < nest.size(); ++k) {
    bytes += statement_cost(nest[k], kMachine, warm[k]).traffic[2];
  }
  return bytes;
}

// Sums of rows, and each row times its sum.
struct Rows {
  te::Tensor in, sum, out;
  Rows(int rows, int columns) {
    in = te::placeholder({rows, columns}, float_type(32), "in");
    const IterVar k = te::reduce_axis({0, columns}, "k");
    sum = te::compute(
        {rows}, [&](const std::vector<Var>& i) { return te::sum(in({i[0], k.var()}), {k}); },
        "sum");
    out = te::compute(
        {rows, columns}, [&](const std::vector<Var>& i) { return in({i[0], i[1]}) * sum({i[0]}); },
        "out");
  }
  // The sums at the root, or a row's in its loop.
  double traffic_with(bool inside) const {
    const Schedule s = Schedule::create({out});
    if (inside) s[sum].compute_at(s[out], s[out].axis(0));
    return traffic(s);
  }
};

TEST(Prior, RowsThatStayInTheCacheAreReadOnce) {
  const double bytes = 4096.0 * 4096 * 4;
  const Rows large(4096, 4096);
  // Lines that are stored into are read first.
  EXPECT_NEAR(large.traffic_with(false), 4 * bytes, 0.01 * bytes);
  EXPECT_NEAR(large.traffic_with(true), 3 * bytes, 0.01 * bytes);
  // All of it stays, from one call to the next.
  EXPECT_EQ(Rows(16, 64).traffic_with(false), 0);
  // A row does not.
  const Rows wide(4, 1 << 22);
  EXPECT_EQ(wide.traffic_with(true), wide.traffic_with(false));
}

double copy_seconds(int elements, bool nontemporal) {
  const te::Tensor in = te::placeholder({elements}, float_type(32), "in");
  const te::Tensor out =
      te::compute({elements}, [&](const std::vector<Var>& i) { return in({i[0]}); }, "out");
  const Schedule s = Schedule::create({out});
  const auto [outer, inner] = s[out].split(s[out].axis(0), 16);
  s[out].vectorize(inner);
  s[out].pragma(outer, "store_nontemporal", nontemporal ? 1 : 0);
  return nest_seconds(nest_of(s), kMachine);
}

TEST(Prior, StoresAroundTheCachesPayWhereCachesAreTooSmall) {
  EXPECT_LT(copy_seconds(1 << 24, true), 0.9 * copy_seconds(1 << 24, false));
  EXPECT_GT(copy_seconds(1 << 12, true), 1.5 * copy_seconds(1 << 12, false));
}

// Down the columns every access is on another page, and they are too many to be remembered.
TEST(Prior, PagesAreWalkedWhereTheyAreTooMany) {
  const auto walks = [](int rows, bool down) {
    const te::Tensor in = te::placeholder({rows, 1024}, float_type(32), "in");
    const te::Tensor out = te::compute(
        {rows, 1024}, [&](const std::vector<Var>& i) { return in({i[0], i[1]}); }, "out");
    const Schedule s = Schedule::create({out});
    if (down) s[out].reorder({s[out].axis(1), s[out].axis(0)});
    const std::vector<NestStatement> nest = nest_of(s);
    return statement_cost(nest[0], kMachine, warm_accesses(nest, kMachine)[0]).walks;
  };
  EXPECT_EQ(walks(4096, false), 2 * 4096);
  EXPECT_EQ(walks(4096, true), 2 * 4096 * 1024);
  EXPECT_EQ(walks(500, true), 0);
}

// A copy of planes, of which a tile of rows is read, each row across all planes before the next.
StatementCost copy_of_planes(int planes, int plane, int repeats, const MachineModel& machine) {
  const te::Tensor in = te::placeholder({planes, plane}, float_type(32), "in");
  const te::Tensor out = te::compute(
      {repeats, 4, planes}, [&](const std::vector<Var>& i) { return in({i[2], i[1]}); }, "out");
  const std::vector<NestStatement> nest = nest_of(Schedule::create({out}));
  return statement_cost(nest[0], machine, warm_accesses(nest, machine)[0]);
}

TEST(Prior, PlanesApartAreOnPagesOfTheirOwn) {
  // More planes than translations, so that every round looks each of them up; or fewer.
  EXPECT_GT(copy_of_planes(200, 3136, 64, kMachine).pages, 64 * 4 * 200);
  EXPECT_LT(copy_of_planes(50, 3136, 64, kMachine).pages, 64 * 50);
  // Short planes share pages.
  EXPECT_LT(copy_of_planes(200, 100, 64, kMachine).pages, 64 * 200);
}

TEST(Prior, PlanesAPowerOfTwoApartCrowdACache) {
  MachineModel machine = kMachine;
  machine.page_entries = 1e9;
  const auto into_l1 = [&](int plane) {
    const StatementCost cost = copy_of_planes(64, plane, 1024, machine);
    return cost.traffic[0] - 1024.0 * 4 * 64 * 4;  // without what is stored
  };
  // 64 lines in 2 sets, and in as many as there are.
  EXPECT_GT(into_l1(1024), 4 * into_l1(1024 + 16));
}

// Rows of `columns` in vectors of `lanes`.
StatementCost copy_of_rows(int columns, int lanes) {
  const te::Tensor in = te::placeholder({64, columns}, float_type(32), "in");
  const te::Tensor out = te::compute(
      {64, columns}, [&](const std::vector<Var>& i) { return in({i[0], i[1]}); }, "out");
  const Schedule s = Schedule::create({out});
  const auto [outer, inner] = s[out].split(s[out].axis(1), lanes);
  s[out].vectorize(inner);
  const std::vector<NestStatement> nest = nest_of(s);
  return statement_cost(nest[0], kMachine, warm_accesses(nest, kMachine)[0]);
}

TEST(Prior, VectorsThatStraddleLinesTakeTwoSlots) {
  // 64 * 4 vectors are loaded, two a cycle, and stored.
  EXPECT_EQ(copy_of_rows(64, 16).loads, 64 * 4 * 1.5);
  // The rows begin at every fourth element of a line: three in four vectors straddle.
  EXPECT_EQ(copy_of_rows(4 * 17, 4 * 4).loads, 64 * 5 * 1.5 * 1.75);
}

TEST(Prior, NarrowVectorsAreVectors) {
  // One of eight lanes a row, half a line.
  EXPECT_EQ(copy_of_rows(8, 8).loads, 64 * 1.5);
}

struct Product {
  te::Tensor a, b, c;
  IterVar k;
  Product(int m, int n, int terms) {
    a = te::placeholder({m, terms}, float_type(32), "a");
    b = te::placeholder({terms, n}, float_type(32), "b");
    k = te::reduce_axis({0, terms}, "k");
    c = te::compute(
        {m, n},
        [&](const std::vector<Var>& i) {
          return te::sum(a({i[0], k.var()}) * b({k.var(), i[1]}), {k});
        },
        "c");
  }
  StatementCost cost(const Schedule& s, const MachineModel& machine) const {
    const std::vector<NestStatement> nest = nest_of(s);
    return statement_cost(nest[1], machine, warm_accesses(nest, machine)[1]);
  }
};

TEST(Prior, WhatEveryThreadNeedsEachFetches) {
  const Product p(4, 1024, 8192);  // 32 MB, far more than fits
  const Schedule s = Schedule::create({p.c});
  const Stage c = s[p.c];
  c.reorder({c.axis(0), p.k, c.axis(1)});
  c.parallel(c.axis(0));
  MachineModel machine = kMachine;
  const auto into_l2 = [&](int threads) {
    machine.threads = threads;
    return statement_cost(nest_of(s)[1], machine, Warm(3)).traffic[1];
  };
  // Each row needs all of b, and no cache holds it until the next.
  EXPECT_NEAR(into_l2(4), into_l2(1), 0.01 * into_l2(1));
  // One thread finds again what it has fetched for the row before; four fetch it four times.
  machine.cache_bytes[1] = 1 << 27;
  EXPECT_NEAR(into_l2(4), 4 * into_l2(1), 0.02 * into_l2(4));
}

TEST(Prior, StatementsOfOneParallelLoopForkOnce) {
  // The sums are set to zero and added to, in one loop or in two.
  MachineModel machine = kMachine;
  machine.threads = 4;
  const auto seconds = [&](bool parallel) {
    const Product p(4, 4, 4);
    const Schedule s = Schedule::create({p.c});
    if (parallel) s[p.c].parallel(s[p.c].axis(0));
    return nest_seconds(nest_of(s), machine);
  };
  const double fork = seconds(true) - seconds(false) / 4;
  EXPECT_NEAR(fork, 2e-6, 1e-9);
}

TEST(Prior, AnotherTileHasOtherAccumulators) {
  const auto accumulators = [](int step) {
    const Product p(64, 16, 64);
    const Schedule s = Schedule::create({p.c});
    const Stage c = s[p.c];
    const auto [rows, row] = c.split(c.axis(0), 4);
    const auto [terms, term] = c.split(p.k, 4);
    c.reorder({terms, rows, term, row, c.axis(1)});
    c.unroll(row);
    c.vectorize(c.axis(1));
    c.pragma(terms, "auto_unroll_max_step", step);
    return p.cost(s, kMachine).accumulators;
  };
  EXPECT_EQ(accumulators(0), 4);
  EXPECT_EQ(accumulators(16), 4);
  EXPECT_EQ(accumulators(256), 4);  // 16 tiles in one piece of code, one after the other
}

// A tile of sums of 14 rows by two vectors: whether the elements of A wait for the second vector of
// B, or the two vectors for the next element.
TEST(Prior, OperandsThatWaitTakeRegisters) {
  const te::Tensor a = te::placeholder({14, 64}, float_type(32), "a");
  const te::Tensor b = te::placeholder({64, 32}, float_type(32), "b");
  const IterVar k = te::reduce_axis({0, 64}, "k");
  const te::Tensor c = te::compute(
      {14, 32},
      [&](const std::vector<Var>& i) {
        return te::sum(a({i[0], k.var()}) * b({k.var(), i[1]}), {k});
      },
      "c");
  const auto spills = [&](bool vectors_inside) {
    const Schedule s = Schedule::create({c});
    const Stage stage = s[c];
    const auto [v, l] = stage.split(stage.axis(1), 16);
    const IterVar i = stage.axis(0), r = stage.reduce_axis(0);
    stage.reorder(vectors_inside ? std::vector<IterVar>{r, i, v, l}
                                 : std::vector<IterVar>{r, v, i, l});
    stage.unroll(i);
    stage.unroll(v);
    stage.vectorize(l);
    const std::vector<NestStatement> nest = nest_of(s);
    const std::vector<Warm> warm = warm_accesses(nest, kMachine);
    return statement_cost(nest.back(), kMachine, warm.back()).spills;
  };
  EXPECT_EQ(spills(true), 0);
  EXPECT_GT(spills(false), 0);
}

// Windows of three by three over rows of 16 in one piece of code, their sums in registers.
struct Windows {
  te::Tensor in, weights, out;
  Windows(int planes, int rows, int stride) {
    const int columns = 16;
    in = te::placeholder({planes, rows * stride + 2, columns * stride + 2}, float_type(32), "in");
    weights = te::placeholder({planes, 3, 3}, float_type(32), "weights");
    const IterVar ry = te::reduce_axis({0, 3}, "ry"), rx = te::reduce_axis({0, 3}, "rx");
    out = te::compute(
        {planes, rows, columns},
        [&](const std::vector<Var>& i) {
          const Expr window = in({i[0], i[1] * stride + ry.var(), i[2] * stride + rx.var()});
          return te::sum(window * weights({i[0], ry.var(), rx.var()}), {ry, rx});
        },
        "out");
  }
  // Cycles of the sums: `tile` rows at a time, the loops over windows outside of them in this
  // order, or inside.
  StatementCost cost(int tile, std::string_view order, int step = 256, size_t statement = 1) const {
    const Schedule s = Schedule::create({out});
    const Stage stage = s[s.cache_write(out, "local")], output = s[out];
    const auto [o, i] = output.split(output.axis(1), tile);
    stage.compute_at(output, o);
    output.vectorize(output.axis(2));
    const IterVar y = stage.axis(1), x = stage.axis(2);
    const IterVar ry = stage.reduce_axis(0), rx = stage.reduce_axis(1);
    const std::map<char, IterVar> loops = {{'y', ry}, {'x', rx}, {'d', y}};
    std::vector<IterVar> axes = {stage.axis(0)};
    for (char c : order) axes.push_back(loops.at(c));
    axes.push_back(x);
    stage.reorder(axes);
    stage.vectorize(x);
    stage.pragma(axes[1], "auto_unroll_max_step", step);
    const std::vector<NestStatement> nest = nest_of(s);
    return statement_cost(nest[statement], kMachine, warm_accesses(nest, kMachine)[statement]);
  }
};

TEST(Prior, RowsOfOverlappingWindowsAreLoadedOnce) {
  const int planes = 64, rows = 6;
  // Eight rows from each of three places; weights are elements. Loops keep what they share apart.
  const double vectors = 8 * (1 + 2 * 1.75), weights = 9;
  EXPECT_NEAR(Windows(planes, rows, 1).cost(rows, "xyd").loads, planes * (vectors + weights) / 2,
              planes * 8);
  EXPECT_GT(Windows(planes, rows, 1).cost(rows, "xyd", 16).loads,
            1.3 * Windows(planes, rows, 1).cost(rows, "xyd").loads);
}

TEST(Prior, RowsWaitInRegistersForTheNextWindow) {
  // Of 14 rows, 12 wait for the next row of windows, or those of three places.
  EXPECT_EQ(Windows(64, 14, 1).cost(14, "xyd").spills, 0);
  EXPECT_GT(Windows(64, 14, 1).cost(14, "yxd").spills, 0);
  // Vectors of every other element also wait for those in between.
  EXPECT_EQ(Windows(64, 7, 2).cost(7, "ydx").spills, 0);
  EXPECT_GT(Windows(64, 14, 2).cost(14, "xyd").spills, 0);
}

TEST(Prior, WhatWindowsThatMoveByTwoSkipWaitsToo) {
  // Spilled of windows of seven elements over channels in lanes, so many at once.
  const auto spills = [](int windows, int channels, int stride) {
    const te::Tensor in = te::placeholder({windows * stride + 7}, float_type(32), "in");
    const te::Tensor weights = te::placeholder({7, channels}, float_type(32), "weights");
    const IterVar r = te::reduce_axis({0, 7}, "r");
    const te::Tensor out = te::compute(
        {windows, channels},
        [&](const std::vector<Var>& i) {
          return te::sum(in({i[0] * stride + r.var()}) * weights({r.var(), i[1]}), {r});
        },
        "out");
    const Schedule s = Schedule::create({out});
    const Stage stage = s[s.cache_write(out, "local")];
    const auto [vectors, lanes] = stage.split(stage.axis(1), 16);
    stage.reorder({stage.reduce_axis(0), stage.axis(0), vectors, lanes});
    stage.vectorize(lanes);
    stage.pragma(stage.reduce_axis(0), "auto_unroll_max_step", 256);
    const std::vector<NestStatement> nest = nest_of(s);
    return statement_cost(nest[1], kMachine, warm_accesses(nest, kMachine)[1]).spills;
  };
  // Sixteen sums each. Elements of two places in turn: those of the other wait as well.
  EXPECT_GT(spills(16, 16, 2), 0);
  EXPECT_EQ(spills(16, 16, 1), 0);
  EXPECT_EQ(spills(8, 32, 2), 0);
}

TEST(Prior, WhatNoLoopMovesWaitsAcrossIt) {
  // One weight a window, in nine registers, where the loop around the code is over rows.
  EXPECT_EQ(Windows(1, 14, 1).cost(14, "xyd").spills, 0);
  EXPECT_GT(Windows(1, 28, 1).cost(14, "xyd").spills, 0);
}

TEST(Prior, ShortSumsDoNotWaitForEachOther) {
  // One accumulator at a time: sums of nine terms overlap with those after them, long ones do not.
  const double of_one = Windows(64, 4, 1).cost(4, "dyx").arithmetic;
  EXPECT_EQ(of_one, Windows(64, 4, 1).cost(4, "yxd").arithmetic);
  const Product p(4, 16, 1024);
  const Schedule s = Schedule::create({p.c});
  s[p.c].reorder({s[p.c].axis(0), p.k, s[p.c].axis(1)});
  s[p.c].vectorize(s[p.c].axis(1));
  EXPECT_EQ(p.cost(s, kMachine).arithmetic, 4 * 1024 / 2 * 8);
  // All four rows between two steps of a sum that is long, or few of its steps at a time.
  const auto in_parts = [&p](int64_t steps) {
    const Schedule parts = Schedule::create({p.c});
    const Stage stage = parts[p.c];
    const auto [outer, inner] = stage.split(p.k, steps);
    stage.reorder({outer, stage.axis(0), inner, stage.axis(1)});
    stage.vectorize(stage.axis(1));
    return p.cost(parts, kMachine).arithmetic;
  };
  EXPECT_EQ(in_parts(1), 4 * 1024 / 2 * 2);
  EXPECT_EQ(in_parts(8), 4 * 1024 / 2 * 2);
  EXPECT_EQ(in_parts(64), 4 * 1024 / 2 * 8);
}

TEST(Prior, SumsInRegistersAreNotStored) {
  // They are set to zero in a loop over rows, or in straight code.
  EXPECT_EQ(Windows(64, 4, 1).cost(4, "dyx", 0, 0).loads, 64 * 4);
  EXPECT_EQ(Windows(64, 4, 1).cost(4, "dyx", 256, 0).loads, 0);
}

TEST(Prior, LoopsOutsideAPragmaAreNotUnrolled) {
  const Windows w(8, 4, 1);
  const Schedule s = Schedule::create({w.out});
  const Stage stage = s[w.out];
  stage.reorder(
      {stage.axis(0), stage.axis(1), stage.reduce_axis(0), stage.reduce_axis(1), stage.axis(2)});
  stage.vectorize(stage.axis(2));
  stage.pragma(stage.reduce_axis(0), "auto_unroll_max_step", 256);
  const NestStatement sums = nest_of(s).back();
  const StatementCost cost = statement_cost(sums, kMachine, warm_accesses({sums}, kMachine)[0]);
  EXPECT_EQ(cost.overhead, 8 * 4 * 2);
}

// As unroll_loop has it: the nearest pragma around a loop decides, and one further inside leaves
// the loops around it to theirs.
TEST(Prior, APragmaInsideLeavesLoopsAroundToTheirs) {
  const Windows w(8, 4, 1);
  const auto overhead = [&](int outer, int inner) {
    const Schedule s = Schedule::create({w.out});
    const Stage stage = s[w.out];
    const auto [vectors, lanes] = stage.split(stage.axis(2), 8);
    stage.reorder(
        {stage.axis(0), stage.axis(1), stage.reduce_axis(0), stage.reduce_axis(1), vectors, lanes});
    stage.vectorize(lanes);
    stage.pragma(stage.reduce_axis(0), "auto_unroll_max_step", outer);
    stage.pragma(vectors, "auto_unroll_max_step", inner);
    const NestStatement sums = nest_of(s).back();
    return statement_cost(sums, kMachine, warm_accesses({sums}, kMachine)[0]).overhead;
  };
  EXPECT_EQ(overhead(256, 16), 8 * 4 * 2);
  EXPECT_GT(overhead(0, 16), overhead(256, 16));
  EXPECT_GT(overhead(256, 0), 8 * 4 * 2);
}

// Two dimensions that one loop walks through lie in memory as one.
TEST(Prior, FusedLoopsWalkOneDimension) {
  const te::Tensor in = te::placeholder({8, 56, 56}, float_type(32), "in");
  const te::Tensor out = te::compute(
      {8, 56, 56}, [&](const std::vector<Var>& i) { return in({i[0], i[1], i[2]}) + 1; }, "out");
  const Schedule s = Schedule::create({out});
  const Stage stage = s[out];
  const IterVar pixels = stage.fuse({stage.axis(1), stage.axis(2)});
  const auto [o, i] = stage.split(pixels, 14);
  stage.parallel(stage.fuse({stage.axis(0), o}));
  stage.vectorize(i);
  const NestStatement statement = nest_of(s).back();
  for (const Access& a : statement.accesses) {
    EXPECT_EQ(a.elements[1], 14);
    EXPECT_EQ(a.strides.back(), 1);
  }
  EXPECT_EQ(statement.operations.integer, 0);
}

// Rows in vectors of 16 lanes, each divided by something, or multiplied with what one division a
// row gives. `rows` at a time stand in straight code.
double arithmetic_of_rows(bool divided_first, int rows) {
  const te::Tensor in = te::placeholder({64, 256}, float_type(32), "in");
  const te::Tensor x = te::placeholder({64}, float_type(32), "x");
  const te::Tensor y = te::placeholder({64}, float_type(32), "y");
  const te::Tensor out = te::compute(
      {64, 256},
      [&](const std::vector<Var>& i) {
        const Expr a = in({i[0], i[1]}), b = x({i[0]}), c = y({i[0]});
        return divided_first ? a * div(b, c) : div(a * b, c);
      },
      "out");
  const Schedule s = Schedule::create({out});
  const Stage stage = s[out];
  const auto [tile, row] = stage.split(stage.axis(0), rows);
  const auto [vector, lane] = stage.split(stage.axis(1), 16);
  stage.reorder({tile, vector, row, lane});
  stage.unroll(row);
  stage.vectorize(lane);
  return statement_cost(nest_of(s).back(), kMachine, {{}, {}, {}, {}}).arithmetic;
}

TEST(Prior, WhatLanesShareIsComputedOnce) {
  const double vectors = 64 * 256 / 16, slot = 1 / kMachine.arithmetic_per_cycle;
  const double division = kMachine.divide_cycles;
  for (const int rows : {1, 4}) {
    EXPECT_DOUBLE_EQ(arithmetic_of_rows(false, rows), vectors * (slot + division));
    EXPECT_DOUBLE_EQ(arithmetic_of_rows(true, rows), vectors * slot + 64 * division / 2);
  }
}

// A step of a sum waits for the one before whatever it adds, so that it runs each time.
TEST(Prior, StepsThatAddTheSameRunEach) {
  const te::Tensor x = te::placeholder({16}, float_type(32), "x");
  const IterVar k = te::reduce_axis({0, 100}, "k");
  const te::Tensor out = te::compute(
      {16}, [&](const std::vector<Var>& i) { return te::sum(x({i[0]}) * x({i[0]}), {k}); }, "out");
  const Schedule s = Schedule::create({out});
  s[out].reorder({k, s[out].axis(0)});
  s[out].vectorize(s[out].axis(0));
  const NestStatement sum = nest_of(s).back();
  // Products are computed before all steps, so these are additions.
  const double waiting = kMachine.chain;  // for one sum
  EXPECT_DOUBLE_EQ(statement_cost(sum, kMachine, {{}, {}}).arithmetic,
                   (100 * waiting + 1) / kMachine.arithmetic_per_cycle);
}

// A product in tile registers of 2 by 2 tiles is bound by its products, of 1,024 a cycle; with one
// tile each waits for the one before.
TEST(Prior, ProductsOfTilesTakeTheirCycles) {
  const test::TileTypes types{"uint8", "int8", "int32", "u8s8", 4};
  const te::Program program = test::tile_program(types, 64, 64, 256);
  const auto products = [&](int64_t rows, int64_t columns) {
    const Schedule s = test::tile_schedule(program, types, {.rows = rows, .columns = columns});
    StatementCost dots;
    for (const NestStatement& n : nest_of(s)) {
      if (n.intrin != "amx.dot_u8s8" || n.is_init) continue;
      const Warm all_warm = {std::vector<std::array<bool, 3>>(n.accesses.size())};
      dots = statement_cost(n, kMachine, all_warm);
    }
    return dots.arithmetic;
  };
  EXPECT_DOUBLE_EQ(products(2, 2), 64 * 64 * 256 / 1024.0);
  EXPECT_GT(products(1, 1), 3 * products(2, 2));
}

// A panel of groups of four bytes, read in order, is so many lines as it has bytes for.
TEST(Prior, GroupsLieSideBySide) {
  const test::TileTypes types{"uint8", "int8", "int32", "u8s8", 4};
  const te::Program program = test::tile_program(types, 64, 64, 256);
  const Schedule s = test::tile_schedule(program, types);
  bool found = false;
  for (const NestStatement& n : nest_of(s)) {
    if (n.intrin != "amx.load_b_s8") continue;
    found = true;
    EXPECT_EQ(n.accesses[1].lines[n.intrin_depth], 16) << "of one tile";
    EXPECT_EQ(n.accesses[1].lines[0], 64.0 * 256 / 64) << "of all";
  }
  EXPECT_TRUE(found);
}

// Weights in no cache are waited for, and for less where they are fetched; where they are in a
// cache the instructions that fetch them only take their slots.
TEST(Prior, ColdConstantsAreWorthFetching) {
  const te::Tensor a = te::placeholder({64, 256}, float_type(32), "a");
  const te::Tensor b = te::placeholder({256, 512}, float_type(32), "b", /*constant=*/true);
  const IterVar k = te::reduce_axis({0, 256}, "k");
  const te::Tensor c = te::compute(
      {64, 512},
      [&](const std::vector<Var>& i) {
        return te::sum(a({i[0], k.var()}) * b({k.var(), i[1]}), {k});
      },
      "c");
  const auto seconds = [&](bool fetched, const Producers& cold) {
    const Schedule s = Schedule::create({c});
    const Stage sums = s[s.cache_write(c, "local")], out = s[c];
    const auto [panel, column] = out.split(out.axis(1), 32);
    const auto [block, row] = out.split(out.axis(0), 8);
    out.reorder({panel, block, row, column});
    sums.compute_at(out, block);
    const IterVar step = sums.reduce_axis(0);
    sums.reorder({step, sums.axis(0), sums.axis(1)});
    sums.unroll(sums.axis(0));
    sums.vectorize(sums.axis(1));
    if (fetched) sums.prefetch_ahead(b, step, out, panel);
    const Schedule normal = normalize(s);
    const auto nest = analyze_nest(schedule_ops(normal, infer_bound(normal)), cold);
    const auto update = std::ranges::find_if(
        nest, [](const NestStatement& n) { return n.operations.multiply > 0; });
    EXPECT_EQ(update->prefetched, fetched && !cold.empty());
    // A line of 16 elements at least, in each step of each of 8 blocks of 16 panels.
    EXPECT_EQ(update->prefetches, fetched ? 256.0 * 8 * 16 : 0);
    return nest_seconds(nest, kMachine);
  };
  const Producers weights{b.op().get()};
  EXPECT_LT(seconds(true, weights), seconds(false, weights));
  EXPECT_LT(seconds(false, {}), seconds(true, weights));
  EXPECT_LT(seconds(false, {}), seconds(true, {}));
}

}  // namespace
}  // namespace tw::autotune
