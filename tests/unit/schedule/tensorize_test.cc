// SPDX-License-Identifier: Apache-2.0
// tensorize: which loops match an intrinsic, and what becomes of them
#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/match_intrin.h"
#include "tests/support/expect_error.h"
#include "tests/support/scheduled.h"
#include "tests/support/test_intrins.h"

namespace tw {
namespace {

using test::loops;
using test::scheduled;

constexpr char kProduct[] =
    "A = placeholder(int32, [8, 6])\n"
    "B = placeholder(int32, [6, 8])\n"
    "C = compute([y: 8, x: 8], reduce [r: 6], sum((A(y, r)*B(r, x))))\n"
    "arguments A B C\noutputs C\n";
constexpr char kTiles[] =
    "split@1(s2, s2:0, factor=4)\nsplit@1(s2, s2:1, factor=2)\nsplit@1(s2, s2:2, factor=3)\n";

TEST(Tensorize, TheWholeReduction) {
  test::declare_product("tensorize_whole", 4, 2, 6, false);
  EXPECT_EQ(loops(kProduct,
                  "split@1(s2, s2:0, factor=4)\nsplit@1(s2, s2:1, factor=2)\n"
                  "reorder@1(s2, [t0.0, t1.0, t0.1, t1.1, s2:2])\n"
                  "tensorize@1(s2, t0.1, \"tensorize_whole\")"),
            R"(produce C {
  for (y.outer, 0, 2) {
    for (x.outer, 0, 4) {
      // attr [tensor_operands("body", tensor_operand(A((y.outer*4), 0), A(((y.outer*4) + 1), 0), A((y.outer*4), 1)), tensor_operand(B(0, (x.outer*2)), B(1, (x.outer*2)), B(0, ((x.outer*2) + 1))), tensor_operand(C((y.outer*4), (x.outer*2)), C(((y.outer*4) + 1), (x.outer*2)), C((y.outer*4), ((x.outer*2) + 1))))] tensor_intrin = "tensorize_whole"
      for (y.inner, 0, 4) {
        for (x.inner, 0, 2) {
          C(((y.outer*4) + y.inner), ((x.outer*2) + x.inner)) = 0
          for (r, 0, 6) {
            C(((y.outer*4) + y.inner), ((x.outer*2) + x.inner)) = (C(((y.outer*4) + y.inner), ((x.outer*2) + x.inner)) + (A(((y.outer*4) + y.inner), r)*B(r, ((x.outer*2) + x.inner))))
          }
        }
      }
    }
  }
}
)");
}

TEST(Tensorize, PartsOfAReduction) {
  test::declare_product("tensorize_parts", 4, 2, 3, true);
  EXPECT_EQ(
      loops(kProduct, std::string(kTiles) + "reorder@1(s2, [t0.0, t1.0, t2.0, t0.1, t1.1, t2.1])\n"
                                            "tensorize@1(s2, t0.1, \"tensorize_parts\")"),
      R"(produce C {
  for (y.outer, 0, 2) {
    for (x.outer, 0, 4) {
      {
        // attr [tensor_operands("reset", tensor_operand(), tensor_operand(), tensor_operand(C((y.outer*4), (x.outer*2)), C(((y.outer*4) + 1), (x.outer*2)), C((y.outer*4), ((x.outer*2) + 1))))] tensor_intrin = "tensorize_parts"
        for (y.inner.init, 0, 4) {
          for (x.inner.init, 0, 2) {
            C(((y.outer*4) + y.inner.init), ((x.outer*2) + x.inner.init)) = 0
          }
        }
      }
      for (r.outer, 0, 2) {
        // attr [tensor_operands("update", tensor_operand(A((y.outer*4), (r.outer*3)), A(((y.outer*4) + 1), (r.outer*3)), A((y.outer*4), ((r.outer*3) + 1))), tensor_operand(B((r.outer*3), (x.outer*2)), B(((r.outer*3) + 1), (x.outer*2)), B((r.outer*3), ((x.outer*2) + 1))), tensor_operand(C((y.outer*4), (x.outer*2)), C(((y.outer*4) + 1), (x.outer*2)), C((y.outer*4), ((x.outer*2) + 1))))] tensor_intrin = "tensorize_parts"
        for (y.inner, 0, 4) {
          for (x.inner, 0, 2) {
            for (r.inner, 0, 3) {
              C(((y.outer*4) + y.inner), ((x.outer*2) + x.inner)) = (C(((y.outer*4) + y.inner), ((x.outer*2) + x.inner)) + (A(((y.outer*4) + y.inner), ((r.outer*3) + r.inner))*B(((r.outer*3) + r.inner), ((x.outer*2) + x.inner))))
            }
          }
        }
      }
    }
  }
}
)");
}

bool is_tensorized(std::string_view program, const std::string& trace) {
  return loops(program, trace).find("tensor_intrin") != std::string::npos;
}

// What decides is the block of points that the loops cover, not how they walk through it.
TEST(Tensorize, OrderAndSplitsInside) {
  test::declare_product("tensorize_inside", 4, 2, 6, false);
  EXPECT_TRUE(is_tensorized(kProduct,
                            "split@1(s2, s2:0, factor=4)\nsplit@1(s2, t0.1, factor=2)\n"
                            "split@1(s2, s2:1, factor=2)\n"
                            "reorder@1(s2, [t0.0, t2.0, t2.1, t1.1, s2:2, t1.0])\n"
                            "tensorize@1(s2, t2.1, \"tensorize_inside\")"));
  // A fused axis whose inner part is a block of both.
  test::declare_product("tensorize_fused", 2, 8, 6, false);
  EXPECT_TRUE(is_tensorized(kProduct,
                            "fuse@1(s2, [s2:0, s2:1])\nsplit@1(s2, t0.0, factor=16)\n"
                            "tensorize@1(s2, t1.1, \"tensorize_fused\")"));
}

// The factors of a product may stand the other way round, and axes in another order: the product
// is matched with its transpose.
TEST(Tensorize, CommutedAndTransposed) {
  test::declare_product("tensorize_commuted", 8, 4, 6, false);
  const std::string transposed =
      "A = placeholder(int32, [8, 6])\nB = placeholder(int32, [6, 4])\n"
      "C = compute([x: 4, y: 8], reduce [r: 6], sum((B(r, x)*A(y, r))))\n"
      "arguments A B C\noutputs C\n";
  EXPECT_NE(loops(transposed, "tensorize@1(s2, s2:0, \"tensorize_commuted\")")
                .find("tensor_operand(C(0, 0), C(0, 1), C(1, 0))"),
            std::string::npos);
}

// Reads through a packed copy: floor divisions of a block's indices are those of its first point.
TEST(Tensorize, PackedOperand) {
  const te::Program program = te::parse_program(
      "te 1\nA = placeholder(int32, [2, 4])\nB = placeholder(int32, [2, 2, 2])\n"
      "C = compute([i: 2, j: 2], reduce [k: 4], sum((A(i, k)*B(floordiv(k, 2), j, floormod(k, "
      "2)))))\narguments A B C\noutputs C\n");
  const te::Operation op = program.outputs[0].op();
  std::vector<IntrinBuffer> buffers;
  for (const te::Tensor& t : program.arguments) buffers.push_back(test::any_buffer(t));
  register_tensor_intrin(
      make_tensor_intrin({.name = "tensorize_packed",
                          .op = op,
                          .inputs = op->input_tensors(),
                          .buffers = buffers,
                          .body = make(Evaluate{.value = address_of(buffers[2], 0)}),
                          .reset = make(Evaluate{.value = address_of(buffers[2], 0)}),
                          .update = make(Evaluate{.value = address_of(buffers[2], 0)})}));
  const std::string text = loops(
      "A = placeholder(int32, [2, 8])\nB = placeholder(int32, [8, 2])\n"
      "C = compute([y: 2, x: 2], reduce [r: 8], sum((A(y, r)*B(r, x))))\n"
      "arguments A B C\noutputs C\n",
      "cache_read@1(s1, \"global\", [s2])\n"
      "transform_layout@1(t0.0, axis=t0.0:0, factor=2, order=[0, 2, 1])\n"
      "split@1(s2, s2:2, factor=4)\nreorder@1(s2, [t2.0, s2:0, s2:1, t2.1])\n"
      "tensorize@1(s2, s2:0, \"tensorize_packed\")\n");
  EXPECT_NE(text.find("tensor_operand(B.global((r.outer*2), 0, 0), B.global(((r.outer*2) + 1), 0, "
                      "0), B.global((r.outer*2), 1, 0), B.global((r.outer*2), 0, 1))"),
            std::string::npos)
      << text;
}

TEST(Tensorize, IsOfTheTrace) {
  test::declare_increment("tensorize_trace", 4);
  const std::string program =
      "A = placeholder(int32, [8])\nB = compute([x: 8], (A(x) + 1))\narguments A B\noutputs B\n";
  const std::string trace =
      "split@1(s1, s1:0, factor=4)\ntensorize@1(s1, t0.1, \"tensorize_trace\")\n";
  const Schedule s = scheduled(program, trace);
  EXPECT_EQ(to_text(s.trace()), trace);
  EXPECT_EQ(loops(s.copy()), loops(s));
  EXPECT_NE(loops(s).find("tensorize_trace"), std::string::npos);
}

TEST(TensorIntrin, NamesAreSorted) {
  test::declare_increment("tensorize_names", 4);
  const std::vector<std::string> names = tensor_intrin_names();
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_TRUE(std::ranges::find(names, "tensorize_names") != names.end());
  EXPECT_EQ(expression_text(tensor_intrin("tensorize_names")->op), "B(i) = (A(i) + 1), i < 4");
}

constexpr char kCalls[] =
    "A = placeholder(int32, [8, 6])\n"
    "B = placeholder(int32, [6, 8])\n"
    "C = tensor_compute(\"tensorize_calls\", 2, 1, [i: 2, j: 4, y: 4, x: 2], reduce [o: 2, r: 3], "
    "sum((A(((i*4) + y), ((o*3) + r))*B(((o*3) + r), ((j*2) + x)))))\n"
    "arguments A B C\noutputs C\n";

// The loops around the calls stand before those of the calls, whatever they are of.
TEST(Tensorize, AnOperationThatCallsAnIntrinsic) {
  test::declare_product("tensorize_calls", 4, 2, 3, true);
  EXPECT_EQ(loops(kCalls, "parallel@1(s2, s2:0)"), R"(produce C {
  parallel (i, 0, 2) {
    for (j, 0, 4) {
      {
        // attr [tensor_operands("reset", tensor_operand(), tensor_operand(), tensor_operand(C(i, j, 0, 0), C(i, j, 1, 0), C(i, j, 0, 1)))] tensor_intrin = "tensorize_calls"
        for (y.init, 0, 4) {
          for (x.init, 0, 2) {
            C(i, j, y.init, x.init) = 0
          }
        }
      }
      for (o, 0, 2) {
        // attr [tensor_operands("update", tensor_operand(A((i*4), (o*3)), A(((i*4) + 1), (o*3)), A((i*4), ((o*3) + 1))), tensor_operand(B((o*3), (j*2)), B(((o*3) + 1), (j*2)), B((o*3), ((j*2) + 1))), tensor_operand(C(i, j, 0, 0), C(i, j, 1, 0), C(i, j, 0, 1)))] tensor_intrin = "tensorize_calls"
        for (y, 0, 4) {
          for (x, 0, 2) {
            for (r, 0, 3) {
              C(i, j, y, x) = (C(i, j, y, x) + (A(((i*4) + y), ((o*3) + r))*B(((o*3) + r), ((j*2) + x))))
            }
          }
        }
      }
    }
  }
}
)");
}

TEST(Tensorize, LoopsOfACallAreNoLoopsOfTheSchedule) {
  test::declare_product("tensorize_calls", 4, 2, 3, true);
  for (const char* step :
       {"split@1(s2, s2:3, factor=2)", "unroll@1(s2, s2:5)", "reorder@1(s2, [s2:4, s2:0])",
        "fuse@1(s2, [s2:1, s2:3])", "vectorize@1(s2, s2:4)"}) {
    test::expect_error(ErrorCode::NotALeafAxis, [&] { scheduled(kCalls, step); });
  }
  test::expect_error(ErrorCode::BadArgument,
                     [&] { scheduled(kCalls, "transform_layout@1(s2, s2:0, factor=2)"); });
}

TEST(Tensorize, AnIntrinsicThatIsCalledMustBeThereAndCompute) {
  test::declare_product("tensorize_calls", 4, 2, 3, true);
  std::string text = kCalls;
  const std::string name = "tensorize_calls";
  const size_t at = text.find(name);
  const std::string unknown = text.substr(0, at) + "nobody" + text.substr(at + name.size());
  test::expect_error(ErrorCode::UnknownIntrinsic, [&] { scheduled(unknown, ""); });
  // Another of the same name, since: what it computes is compared as that of tensorize is.
  test::declare_product("tensorize_calls", 4, 2, 1, true);
  test::expect_error(ErrorCode::CannotTensorize, [&] { loops(kCalls, ""); });
}

TEST(Tensorize, ANameStandsForTheNewestIntrinsic) {
  test::declare_increment("tensorize_newest", 4);
  const Schedule s = scheduled(
      "A = placeholder(int32, [8])\nB = compute([i: 8], (A(i) + 1))\narguments A B\noutputs B\n",
      "split@1(s1, s1:0, factor=4)\ntensorize@1(s1, t0.1, \"tensorize_newest\")");
  EXPECT_NE(loops(s).find("tensor_intrin = "), std::string::npos);
  test::declare_increment("tensorize_newest", 3);
  test::expect_error(ErrorCode::CannotTensorize, [&] { loops(s); });
}

TEST(Tensorize, ScalarsAndExtentsAreThoseOfTheLoops) {
  test::declare_scale("tensorize_scale");
  EXPECT_EQ(loops("A = placeholder(int32, [8, 6])\nS = placeholder(int32, [8])\n"
                  "C = compute([y: 8, x: 6], ((A(y, x)*(y + 3)) + S(y)))\n"
                  "arguments A S C\noutputs C\n",
                  "split@1(s2, s2:1, factor=3)\ntensorize@1(s2, t0.1, \"tensorize_scale\")"),
            R"(produce C {
  for (y, 0, 8) {
    for (x.outer, 0, 2) {
      // attr [tensor_operands("body", tensor_operand(A(y, (x.outer*3)), A(y, ((x.outer*3) + 1))), tensor_operand(C(y, (x.outer*3)), C(y, ((x.outer*3) + 1))), tensor_values(3, (y + 3), S(y)))] tensor_intrin = "tensorize_scale"
      for (x.inner, 0, 3) {
        C(y, ((x.outer*3) + x.inner)) = ((A(y, ((x.outer*3) + x.inner))*(y + 3)) + S(y))
      }
    }
  }
}
)");
}

}  // namespace
}  // namespace tw
