// SPDX-License-Identifier: Apache-2.0
// What the prior knows about memory: relations between schedules, on a machine that is written
// down here.
#include "autotune/prior.h"

#include <gtest/gtest.h>

#include "autotune/loop_nest.h"
#include "schedule/infer_bound.h"
#include "schedule/schedule.h"
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

}  // namespace
}  // namespace tw::autotune
