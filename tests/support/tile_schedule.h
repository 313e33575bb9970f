// SPDX-License-Identifier: Apache-2.0
// A product of matrices in tile registers, as a hand schedules it.
#pragma once

#include <fmt/format.h>

#include "ir/expr.h"
#include "schedule/schedule.h"
#include "schedule/te/text.h"

namespace tw::test {

struct TileTypes {
  std::string a, b, sum, product;  // "uint8", "int8", "int32", "u8s8"
  int group = 4;
};

inline te::Program tile_program(const TileTypes& t, int64_t m, int64_t n, int64_t k) {
  return te::parse_program(fmt::format(
      "te 1\nA = placeholder({3}, [{0}, {2}])\nB = placeholder({4}, [{2}, {1}], constant)\n"
      "C = compute([i: {0}, j: {1}], reduce [r: {2}], sum(({5}(A(i, r))*{5}(B(r, j)))))\n"
      "arguments A B C\noutputs C\n",
      m, n, k, t.a, t.b, t.sum));
}

struct TileOptions {
  int64_t rows = 2, columns = 2;  // tiles of sums
  bool unroll = true;             // the loops over them
  bool parallel = true;
  bool tensorize_copy = true;  // from the tiles to C
  bool stream = false;         // tiles of A
};

inline Schedule tile_schedule(const te::Program& program, const TileTypes& t,
                              const TileOptions& options = {}) {
  const te::Tensor a = program.arguments[0], b = program.arguments[1], c = program.outputs[0];
  const bool floats = t.sum == "float32";
  const auto suffix = [&](const std::string& type) {
    return type == "bfloat16" ? "bf16" : type == "uint8" ? "u8" : "s8";
  };
  const Schedule s = Schedule::create({c});
  const te::Tensor sums = s.cache_write(c, "amx.tile");
  const Stage panel = s[s.cache_read(b, "global", {s[sums].op()})];
  panel.transform_layout(panel.axis(0), t.group, {0, 2, 1});
  panel.transform_layout(panel.axis(1), 16, {1, 0, 2, 3});
  panel.precompute();
  const Stage columns = s[s.cache_read(panel.op().output(0), "amx.tile", {s[sums].op()})];
  const Stage rows = s[s.cache_read(a, "amx.tile", {s[sums].op()})];
  const Stage out = s[c], acc = s[sums];

  const auto [io, ii] = out.split(out.axis(0), 16 * options.rows);
  const auto [jo, ji] = out.split(out.axis(1), 16 * options.columns);
  const auto [i1, i2] = out.split(ii, 16);
  const auto [j1, j2] = out.split(ji, 16);
  out.reorder({jo, io, i1, j1, i2, j2});
  const IterVar blocks = out.fuse({jo, io});
  if (options.parallel) out.parallel(blocks);
  if (options.unroll) {
    out.unroll(i1);
    out.unroll(j1);
  }
  if (options.tensorize_copy) out.tensorize(i2, floats ? "amx.store_f32" : "amx.store_s32");

  acc.compute_at(out, blocks);
  const auto [ko, ki] = acc.split(acc.reduce_axis(0), int64_t{16} * t.group);
  const auto [x1, x2] = acc.split(acc.axis(0), 16);
  const auto [y1, y2] = acc.split(acc.axis(1), 16);
  acc.reorder({ko, x1, y1, x2, y2, ki});
  if (options.unroll) {
    acc.unroll(x1);
    acc.unroll(y1);
  }
  acc.tensorize(x2, "amx.dot_" + t.product);

  rows.compute_at(acc, ko);
  const auto [r1, r2] = rows.split(rows.axis(0), 16);
  if (options.unroll) rows.unroll(r1);
  rows.tensorize(r2, fmt::format("amx.{}_a_{}", options.stream ? "stream" : "load", suffix(t.a)));
  columns.compute_at(acc, ko);
  if (options.unroll) columns.unroll(columns.axis(0));
  columns.tensorize(columns.axis(1), fmt::format("amx.load_b_{}", suffix(t.b)));
  return s;
}

}  // namespace tw::test
