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

// How many products the processor adds at once into a 32-bit sum: 4 of bytes, 2 of bfloat16; 1
// where it has no such instruction.
int64_t products_at_once(const autotune::Task& task) {
  const std::vector<te::Tensor>& arguments = task.program.arguments;
  const DType a = arguments[0].dtype(), b = arguments[1].dtype();
  if (a.is_integer() && a.bits == 8 && b == int_type(8) && task.target.has_int8_dot) return 4;
  return a == bfloat_type(16) && b == a && task.target.has_bf16_dot ? 2 : 1;
}

// The same tiles of sums of narrow numbers. A panel of B holds, for each column, as many terms side
// by side as an instruction takes: its rows are [term / group][column][term % group].
std::optional<Trace> narrow_product(const autotune::Task& task) {
  const std::vector<te::Tensor>& arguments = task.program.arguments;
  if (!te::is_constant(arguments[1])) return {};
  const int64_t group = products_at_once(task);
  const te::Tensor c = task.program.outputs[0], b = arguments[1];
  const int64_t lanes = task.target.vector_lanes(32);
  const int64_t height = as<IntImm>(c.shape()[0])->value;
  const int64_t rows = std::min<int64_t>(8, height), columns = (rows < 4 ? 4 : 3) * lanes;

  const Schedule s = Schedule::create({c});
  const te::Tensor sums = s.cache_write(c, "local");
  const Stage panel = s[s.cache_read(b, "global", {s[sums].op()})];
  panel.transform_layout(panel.axis(0), group, {0, 2, 1});
  panel.transform_layout(panel.axis(1), columns, {1, 0, 2, 3});
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
  const IterVar i = tile.axis(0);
  const auto [ko, ki] = tile.split(tile.reduce_axis(0), group);
  const auto [v, l] = tile.split(tile.axis(1), lanes);
  tile.reorder({ko, i, v, ki, l});
  tile.unroll(i);
  tile.unroll(v);
  tile.vectorize(l);
  return s.trace();
}

std::optional<Trace> gemm(const autotune::Task& task) {
  return products_at_once(task) > 1 ? narrow_product(task) : product(task);
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
