// SPDX-License-Identifier: Apache-2.0
// Schedules written by hand, as a reader of docs/fast_gemm.md would write them: contestants that
// show what the language can say, whatever the tuner finds.
#include <algorithm>

#include "bench/contestant.h"
#include "schedule/schedule.h"

namespace tw::bench {
namespace {

// Register tiles of 8 rows and three vectors of columns: 24 sums, three vectors of B, and A read
// into the multiplications by broadcast. Eight rows a power of two apart still fit the ways of L1.
// B stands in panels as wide as a tile, packed when the kernel is built.
std::optional<Trace> product(const autotune::Task& task) {
  const std::vector<te::Tensor>& arguments = task.program.arguments;
  if (!te::is_constant(arguments[1])) return {};
  const te::Tensor c = task.program.outputs[0], b = arguments[1];
  const auto extent = [](const te::Tensor& t, size_t d) { return as<IntImm>(t.shape()[d])->value; };
  const int64_t lanes = task.target.vector_lanes(32);
  const int64_t rows = std::min<int64_t>(8, extent(c, 0));
  const int64_t columns = (rows < 4 ? 4 : 3) * lanes;

  const Schedule s = Schedule::create({c});
  const te::Tensor sums = s.cache_write(c, "local");
  const Stage panel = s[s.cache_read(b, "global", {s[sums].op()})];
  panel.transform_layout(panel.axis(1), columns, {1, 0, 2});
  panel.precompute();

  const Stage out = s[c], tile = s[sums];
  const auto [io, ii] = out.split(out.axis(0), rows);
  const auto [jo, ji] = out.split(out.axis(1), columns);
  out.reorder({jo, io, ii, ji});
  const auto [jv, jl] = out.split(ji, lanes);
  const IterVar tiles = out.fuse({jo, io});
  out.parallel(tiles);
  out.unroll(ii);
  out.unroll(jv);
  out.vectorize(jl);

  tile.compute_at(out, tiles);
  const IterVar i = tile.axis(0), k = tile.reduce_axis(0);
  const auto [v, l] = tile.split(tile.axis(1), lanes);
  tile.reorder({k, i, v, l});
  tile.unroll(i);
  tile.unroll(v);
  tile.vectorize(l);
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
