// SPDX-License-Identifier: Apache-2.0
// What schedule_ops prints, before any pass.
#include <gtest/gtest.h>

#include "tests/support/golden.h"
#include "tests/support/scheduled.h"

namespace tw {
namespace {

using test::scheduled;

std::string with_trace(const Schedule& s, const ScheduleOptions& options = {}) {
  return to_text(s.trace()) + "\n" + test::loops(s, options);
}

constexpr char kConvolution[] =
    "input0 = placeholder(float32, [7, 3, 7, 9])\n"
    "pad_temp = compute([i0: 7, i1: 3, i2: 11, i3: 13], tvm_if_then_else(((((2 <= i2) && (i2 < 9)) "
    "&& (2 <= i3)) && "
    "(i3 < 11)), input0(i0, i1, (i2 - 2), (i3 - 2)), 0.000000f))\n"
    "input1 = placeholder(float32, [3, 3, 5, 5])\n"
    "compute = compute([nn: 7, ff: 3, yy: 7, xx: 9], reduce [rc: 3, ry: 5, rx: 5], "
    "sum((pad_temp(nn, rc, (yy + ry), (xx + rx))*input1(ff, rc, ry, rx))))\n"
    "input2 = placeholder(float32, [3])\n"
    "T_add = compute([i0: 7, i1: 3, i2: 7, i3: 9], (input0(i0, i1, i2, i3) + (compute(i0, i1, i2, "
    "i3) + input2(i1))))\n"
    "arguments input0 input1 input2 T_add\noutputs T_add\n";

// The seed's schedule: the factor 16 of an extent of 9 is kept.
TEST(Golden, ScheduleOpsSeedConvolution) {
  const Schedule s = scheduled(kConvolution,
                               "fuse@1(s1, [s1:0, s1:1])\n"
                               "parallel@1(s1, t0.0)\n"
                               "fuse@1(s3, [s3:0, s3:1])\n"
                               "split@1(s3, s3:3, factor=16)\n"
                               "reorder@1(s3, [t2.0, s3:4, s3:2, t3.0, s3:5, s3:6, t3.1])\n"
                               "parallel@1(s3, t2.0)\n"
                               "vectorize@1(s3, t3.1)\n"
                               "fuse@1(s5, [s5:0, s5:1])\n"
                               "parallel@1(s5, t7.0)\n");
  expect_golden("schedule_ops_seed_conv2d.txt", with_trace(s, {.clamp_split_factor = false}));
}

// Tiles at two levels, accumulation in a cache stage, padding inside, nothing divides.
TEST(Golden, ScheduleOpsTiledConvolution) {
  const Schedule s = scheduled(
      kConvolution,
      "cache_write@1(s3, \"local\")\n"
      "compute_inline@1(s3)\n"
      "split@1(s5, s5:2, factor=4)\n"
      "split@1(s5, s5:3, factor=4)\n"
      "reorder@1(s5, [s5:0, s5:1, t2.0, t3.0, t2.1, t3.1])\n"
      "fuse@1(s5, [s5:0, s5:1, t2.0])\n"
      "parallel@1(s5, t5.0)\n"
      "vectorize@1(s5, t3.1)\n"
      "compute_at@1(t0.0, s5, t3.0)\n"
      "split@1(t0.0, t0.0:3, factor=3)\n"
      "split@1(t0.0, t0.0:4, factor=2)\n"
      "reorder@1(t0.0, [t0.0:0, t0.0:1, t10.0, t0.0:5, t10.1, t0.0:6, t0.0:2, t9.0, t9.1])\n"
      "vectorize@1(t0.0, t9.1)\n"
      "unroll@1(t0.0, t0.0:6)\n"
      "pragma@1(t0.0, t0.0:0, \"auto_unroll_max_step\", pragma_value=16)\n"
      "compute_at@1(s1, t0.0, t10.0)\n");
  expect_golden("schedule_ops_tiled_conv2d.txt", with_trace(s));
}

TEST(Golden, ScheduleOpsSymbolicGemm) {
  const Schedule s = scheduled(
      "n = var(int32)\n"
      "A = placeholder(float32, [n, 64])\n"
      "B = placeholder(float32, [64, 48])\n"
      "C = compute([y: n, x: 48], reduce [k: 64], sum((A(y, k)*B(k, x))))\n"
      "D = compute([y: n, x: 48], max(C(y, x), 0.000000f))\n"
      "arguments A B D\noutputs D\n",
      "tile@1(s3, s3:0, s3:1, 8, 16)\n"
      "parallel@1(s3, t0.0)\n"
      "vectorize@1(s3, t0.3)\n"
      "compute_at@1(s2, s3, t0.1)\n"
      "reorder@1(s2, [s2:2, s2:0, s2:1])\n"
      "vectorize@1(s2, s2:1)\n");
  expect_golden("schedule_ops_symbolic_gemm.txt", with_trace(s));
}

// A triangle whose rows are cached tile by tile, with the longest of the rows in a tile outside.
TEST(Golden, ScheduleOpsTriangle) {
  const Schedule s = scheduled(
      "A = placeholder(float32, [30, 30])\n"
      "X = placeholder(float32, [30])\n"
      "Y = compute([i: 30], reduce [k: (i + 1)], sum((A(i, k)*X(k))))\n"
      "arguments A X Y\noutputs Y\n",
      "split@1(s2, s2:0, factor=8)\n"
      "split@1(s2, s2:1, factor=4)\n"
      "reorder@1(s2, [t0.0, t1.0, t0.1, t1.1])\n"
      "cache_read@1(s1, \"local\", [s2])\n"
      "compute_at@1(t3.0, s2, t1.0)\n");
  expect_golden("schedule_ops_triangle.txt", with_trace(s));
}

// Rows of a sparse matrix, whose values are cached in parts of a row.
TEST(Golden, ScheduleOpsRows) {
  const Schedule s = scheduled(
      "rows = placeholder(int32, [31])\n"
      "columns = placeholder(int32, [200])\n"
      "values = placeholder(float32, [200])\n"
      "X = placeholder(float32, [20])\n"
      "Y = compute([i: 30], reduce [k: (rows(i), (rows((i + 1)) - rows(i)))], "
      "sum((values(k)*X(columns(k)))))\n"
      "arguments rows columns values X Y\noutputs Y\n",
      "split@1(s4, s4:0, factor=8)\n"
      "parallel@1(s4, t0.0)\n"
      "split@1(s4, s4:1, factor=4)\n"
      "cache_read@1(s1, \"local\", [s4])\n"
      "compute_at@1(t3.0, s4, t2.0)\n");
  expect_golden("schedule_ops_rows.txt", with_trace(s));
}

}  // namespace
}  // namespace tw
