// SPDX-License-Identifier: Apache-2.0
#include "schedule/trace_python.h"

#include <gtest/gtest.h>

#include "tests/support/scheduled.h"

namespace tw {
namespace {

TEST(TracePython, IsAFunctionOfTheSchedule) {
  const Schedule s = test::scheduled(
      "A = placeholder(float32, [64, 32])\n"
      "B = placeholder(float32, [32, 64])\n"
      "C.1 = compute([y: 64, x: 64], reduce [k: 32], sum((A(y, k)*B(k, x))))\n"
      "s = compute([y: 64, x: 64], (C.1(y, x) + 1.000000f))\n"
      "arguments A B s\noutputs s\n",
      "cache_write@1(s3, \"local\")\n"
      "tile@1(t0.0, t0.0:0, t0.0:1, 4, 8)  # gemm.py:12\n"
      "reorder@1(t0.0, [t1.1, t1.0])\n"
      "split@1(s2, s2:2, nparts=4)\n"
      "cache_read@1(s0, \"global\", [s2], value_index=0)\n"
      "compute_at@1(t4.0, s2, t3.1)\n"
      "transform_layout@1(t4.0, order=[1, 0])\n");
  EXPECT_EQ(to_python(s, s.trace()),
            "def apply(s):\n"
            "    \"\"\"Applies 7 steps to a fresh schedule of the program.\"\"\"\n"
            "    [A, B, C_1, s_1] = s.stages\n"
            "    s_local = s[s.cache_write(s_1.op.output(0), \"local\")]\n"
            "    y_c_outer, x_c_outer, y_c_inner, x_c_inner = s_local.tile(s_local.op.axis[0], "
            "s_local.op.axis[1], 4, 8)  # gemm.py:12\n"
            "    s_local.reorder(x_c_outer, y_c_outer)\n"
            "    k_outer, k_inner = C_1.split(C_1.op.reduce_axis[0], nparts=4)\n"
            "    A_global = s[s.cache_read(A.op.output(0), \"global\", [C_1], value_index=0)]\n"
            "    A_global.compute_at(C_1, k_inner)\n"
            "    A_global.transform_layout(order=[1, 0])\n");
}

}  // namespace
}  // namespace tw
