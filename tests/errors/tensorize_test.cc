// SPDX-License-Identifier: Apache-2.0
// What is no intrinsic, and loops that are not what one computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/llvm/compile.h"
#include "lower/pipeline.h"
#include "tests/support/expect_error.h"
#include "tests/support/scheduled.h"
#include "tests/support/test_intrins.h"

namespace tw {
namespace {

using test::expect_error;
using test::loops;
using test::scheduled;
using testing::HasSubstr;

constexpr char kProduct[] =
    "A = placeholder(int32, [8, 6])\n"
    "B = placeholder(int32, [6, 8])\n"
    "C = compute([y: 8, x: 8], reduce [r: 6], sum((A(y, r)*B(r, x))))\n"
    "arguments A B C\noutputs C\n";
constexpr char kCopy[] =
    "A = placeholder(int32, [12])\nB = compute([x: 12], (A(x) + 1))\narguments A B\noutputs B\n";

// The error of lowering `program` with `trace`.
ErrorInfo refused(std::string_view program, const std::string& trace) {
  return expect_error(ErrorCode::CannotTensorize, [&] { loops(program, trace); });
}

TEST(TensorizeErrors, UnknownIntrinsic) {
  test::declare_increment("errors_increment4", 4);
  const ErrorInfo e = expect_error(ErrorCode::UnknownIntrinsic, [&] {
    scheduled(kCopy, "tensorize@1(s1, s1:0, \"errors_incrememt4\")");
  });
  EXPECT_THAT(e.what, HasSubstr("'errors_incrememt4'; the nearest is 'errors_increment4'"));
  EXPECT_THAT(e.legal, HasSubstr("decl_tensor_intrin"));
}

TEST(TensorizeErrors, ReductionOrNot) {
  test::declare_increment("errors_kind", 4);
  const ErrorInfo e = expect_error(ErrorCode::CannotTensorize, [&] {
    scheduled(kProduct, "tensorize@1(s2, s2:0, \"errors_kind\")");
  });
  EXPECT_EQ(e.what,
            "the stage is a reduction, and 'errors_kind' computes B(i) = (A(i) + 1), i < 4");
  EXPECT_EQ(e.stage, "C");
  EXPECT_EQ(e.axis, "y");
}

// Its loops would be of two stages.
TEST(TensorizeErrors, NoRFactorAfterIt) {
  test::declare_product("errors_product", 4, 4, 2, true);
  const Schedule s = scheduled(
      kProduct,
      "split@1(s2, s2:0, factor=4)\nsplit@1(s2, s2:1, factor=4)\nsplit@1(s2, s2:2, factor=2)\n"
      "reorder@1(s2, [t0.0, t1.0, t2.0, t0.1, t1.1, t2.1])\n"
      "tensorize@1(s2, t0.1, \"errors_product\")");
  const ErrorInfo e = expect_error(ErrorCode::CannotFactor,
                                   [&] { s.apply(parse_trace("rfactor@1(s2, t2.0)").steps[0]); });
  EXPECT_EQ(e.stage, "C");
  EXPECT_EQ(e.axis, "y.inner");
  EXPECT_EQ(
      e.legal,
      "rfactor first, then tensorize of 'C.rf', which takes the loops of the reduction, or of "
      "'C', which keeps those over data");
}

TEST(TensorizeErrors, OneAStage) {
  test::declare_increment("errors_one", 4);
  const Schedule s =
      scheduled(kCopy, "split@1(s1, s1:0, factor=4)\ntensorize@1(s1, t0.1, \"errors_one\")");
  expect_error(ErrorCode::CannotTensorize,
               [&] { s.apply(parse_trace("tensorize@1(s1, t0.0, \"errors_one\")").steps[0]); });
}

TEST(TensorizeErrors, OtherExtents) {
  test::declare_increment("errors_extent", 4);
  const ErrorInfo e = refused(
      kCopy, "split@1(s1, s1:0, factor=6)\ntensorize@1(s1, t0.1, \"errors_extent\")  # a.py:3");
  EXPECT_EQ(e.what,
            "the loops from here on compute B(x) = (A(x) + 1) for x < 6, and 'errors_extent' "
            "computes B(i) = (A(i) + 1), i < 4; the first difference: no loop of extent 4 where it "
            "has one over 'i'");
  EXPECT_EQ(e.stage, "B");
  EXPECT_EQ(e.axis, "x.inner");
  EXPECT_EQ(e.where, "a.py:3");
}

TEST(TensorizeErrors, AnotherExpression) {
  test::declare_increment("errors_expression", 4);
  EXPECT_THAT(
      refused("A = placeholder(int32, [4])\nB = compute([x: 4], (A(x) + 2))\narguments A B\n"
              "outputs B\n",
              "tensorize@1(s1, s1:0, \"errors_expression\")")
          .what,
      HasSubstr("compute B(x) = (A(x) + 2) for x < 4"));
  // The same operand in both places of a product, and one that is read backwards.
  test::declare_product("errors_product", 2, 2, 2, false);
  for (const char* body : {"(A(y, r)*A(y, r))", "(A(y, r)*B(r, (1 - x)))", "(A(y, r) + B(r, x))",
                           "(A(y, r)*B(x, r))"}) {
    const bool transposed = std::string_view(body).find("B(x, r)") != std::string_view::npos;
    const std::string program = fmt::format(
        "A = placeholder(int32, [2, 2])\nB = placeholder(int32, [2, 2])\n"
        "C = compute([y: 2, x: 2], reduce [r: 2], sum({}))\narguments A B C\noutputs C\n",
        body);
    const std::string trace = "tensorize@1(s2, s2:0, \"errors_product\")";
    // Where an operand lies is the intrinsic's buffers' business: a transposed one is only strided.
    if (transposed) {
      EXPECT_THAT(loops(program, trace), HasSubstr("tensor_intrin"));
    } else if (std::string_view(body).find("A(y, r)*A") == std::string_view::npos) {
      refused(program, trace);
    }
  }
}

// Of what can be turned around, the order that agrees further is compared.
TEST(TensorizeErrors, FirstDifference) {
  test::declare_increment("errors_difference", 4);
  for (const auto& [body, difference] :
       {std::pair("(A(x) + 2)", "2 where it has 1"), std::pair("(2 + A(x))", "2 where it has 1"),
        std::pair("((A(x)*2) + 1)", "(A(i)*2) where it has A(i)"),
        std::pair("(1 + A((x*2)))", "A((i*2)) where it has A(i)"),
        std::pair("(A(x) - 1)", "(A(i) - 1) where it has (A(i) + 1)")}) {
    const std::string program = fmt::format(
        "A = placeholder(int32, [8])\nB = compute([x: 4], {})\narguments A B\noutputs B\n", body);
    const std::string what = refused(program, "tensorize@1(s1, s1:0, \"errors_difference\")").what;
    EXPECT_THAT(what, testing::EndsWith(fmt::format("the first difference: {}", difference)));
  }
  EXPECT_THAT(refused(kCopy,
                      "split@1(s1, s1:0, factor=4)\n"
                      "tensorize@1(s1, t0.0, \"errors_difference\")")
                  .what,
              testing::EndsWith("no loop of extent 4 where it has one over 'i'"));
}

TEST(TensorizeErrors, BeyondTheTensor) {
  test::declare_increment("errors_beyond", 5);
  const ErrorInfo e =
      refused(kCopy, "split@1(s1, s1:0, factor=5)\ntensorize@1(s1, t0.1, \"errors_beyond\")");
  EXPECT_EQ(e.what,
            "'x.inner' runs beyond the tensor: (((x.outer*5) + x.inner) < 12) must be tested");
}

// A block of the reduction may overhang where both factors are zero there.
TEST(TensorizeErrors, BeyondTheReduction) {
  test::declare_product("errors_reduction", 8, 8, 4, true);
  const auto trace = [](const std::string& copies, int places) {
    const int split = places + 1;  // the step's number; the first is a cache_write
    return fmt::format(
        "cache_write@1(s2, \"local\")\n{0}split@1(t0.0, t0.0:2, factor=4)\n"
        "reorder@1(t0.0, [t{1}.0, t0.0:0, t0.0:1, t{1}.1])\n"
        "tensorize@1(t0.0, t0.0:0, \"errors_reduction\")",
        copies, split);
  };
  const std::string a =
      "cache_read@1(s0, \"global\", [t0.0])\ntransform_layout@1(t1.0, axis=t1.0:1, factor=4)\n";
  const std::string b =
      "cache_read@1(s1, \"global\", [t0.0])\ntransform_layout@1(t3.0, axis=t3.0:0, factor={})\n";
  const std::string beyond =
      "'r.inner' runs beyond the tensor: (((r.outer*4) + r.inner) < 6) must be tested";
  EXPECT_EQ(refused(kProduct, trace("", 0)).what, beyond);
  EXPECT_EQ(refused(kProduct, trace(a, 2)).what, beyond);
  const std::string packed = trace(a + fmt::format(fmt::runtime(b), 4), 4);
  EXPECT_THAT(loops(kProduct, packed), HasSubstr("tensor_intrin"));
  // Sums that are not, and products with something else.
  for (const char* body : {"max((A(y, r)*B(r, x)))", "sum(((A(y, r)*B(r, x)) + 1))"}) {
    const std::string other = fmt::format(
        "A = placeholder(int32, [8, 6])\nB = placeholder(int32, [6, 8])\n"
        "C = compute([y: 8, x: 8], reduce [r: 6], {})\narguments A B C\noutputs C\n",
        body);
    refused(other, packed);
  }
}

TEST(TensorizeErrors, NoBlock) {
  test::declare_increment("errors_block", 4);
  EXPECT_EQ(refused(kCopy,
                    "split@1(s1, s1:0, factor=2)\nreorder@1(s1, [t0.1, t0.0])\n"
                    "tensorize@1(s1, t0.0, \"errors_block\")")
                .legal,
            "loops over blocks of x");
}

TEST(TensorizeErrors, PartsOfAReductionWithoutUpdate) {
  test::declare_product("errors_parts", 8, 8, 3, false);
  const ErrorInfo e =
      refused(kProduct,
              "split@1(s2, s2:2, factor=3)\nreorder@1(s2, [t0.0, s2:0, s2:1, t0.1])\n"
              "tensorize@1(s2, s2:0, \"errors_parts\")");
  EXPECT_EQ(e.what,
            "'r.outer' is a loop of the reduction and stands outside, and 'errors_parts' has no "
            "reset and update");
}

TEST(TensorizeErrors, MarksInsideAndLanesOutside) {
  test::declare_increment("errors_marks", 4);
  const std::string split = "split@1(s1, s1:0, factor=4)\n";
  const std::string intrin = "tensorize@1(s1, t0.1, \"errors_marks\")\n";
  EXPECT_EQ(refused(kCopy, split + "vectorize@1(s1, t0.1)\n" + intrin).what,
            "'x.inner' is marked, and is a loop of 'errors_marks'");
  EXPECT_EQ(refused(kCopy, split + "vectorize@1(s1, t0.0)\n" + intrin).what,
            "'x.outer' around it runs in vector lanes");
}

TEST(TensorizeErrors, AStageInside) {
  test::declare_increment("errors_inside", 4);
  EXPECT_EQ(refused("A = placeholder(int32, [4])\nP = compute([x: 4], (A(x)*2))\n"
                    "B = compute([x: 4], (P(x) + 1))\narguments A B\noutputs B\n",
                    "compute_at@1(s1, s2, s2:0)\ntensorize@1(s2, s2:0, \"errors_inside\")")
                .what,
            "'P' is computed inside 'x', a loop of 'errors_inside'");
}

TEST(TensorizeErrors, StridesThatDoNotAgree) {
  const te::Program program = te::parse_program(
      "te 1\nA = placeholder(int32, [2, 2])\nB = compute([i: 2, j: 2], A(i, j))\n"
      "arguments A B\noutputs B\n");
  const te::Tensor a = program.arguments[0], b = program.outputs[0];
  const IntrinBuffer x = decl_buffer(a.shape(), a.dtype(), "A", {}, 4), y = test::any_buffer(b);
  register_tensor_intrin(make_tensor_intrin({.name = "errors_strides",
                                             .op = b.op(),
                                             .inputs = {a},
                                             .buffers = {x, y},
                                             .body = test::store(y, {0, 0}, 0)}));
  const auto lowered = [&](int64_t columns, int64_t tile) {
    const Schedule s = scheduled(
        fmt::format("A = placeholder(int32, [4, {0}])\nB = compute([y: 4, x: {0}], A(y, x))\n"
                    "arguments A B\noutputs B\n",
                    columns),
        fmt::format("tile@1(s1, s1:0, s1:1, 2, {})\ntensorize@1(s1, t0.2, \"errors_strides\")",
                    tile));
    const te::Tensor out = s.outputs()[0];
    return lower(s, {out.op()->input_tensors()[0], out}, Target{});
  };
  EXPECT_EQ(expect_error(ErrorCode::CannotTensorize, [&] { lowered(4, 2); }).what,
            "operand 'A' of 'errors_strides', which is 'A': its offset in memory is ((y.outer*8) + "
            "(x.outer*2))");
  EXPECT_EQ(expect_error(ErrorCode::CannotTensorize, [&] { lowered(8, 2); }).stage, "B");
  lowered(2, 2);
}

TEST(TensorizeErrors, Scopes) {
  const te::Program program = te::parse_program(
      "te 1\nA = placeholder(int32, [4])\nB = compute([i: 4], (A(i) + 1))\narguments A B\n"
      "outputs B\n");
  const te::Tensor a = program.arguments[0], b = program.outputs[0];
  register_tensor_intrin(
      make_tensor_intrin({.name = "errors_scopes",
                          .op = b.op(),
                          .inputs = {a},
                          .buffers = {test::any_buffer(a, "amx.tile"), test::any_buffer(b)},
                          .body = make(Evaluate{.value = 0})}));
  const ErrorInfo e =
      refused(kCopy, "split@1(s1, s1:0, factor=4)\ntensorize@1(s1, t0.1, \"errors_scopes\")");
  EXPECT_EQ(e.what, "'A' is stored in scope global, and 'errors_scopes' takes it from amx.tile");
}

TEST(TensorIntrinErrors, WhatIsNoIntrinsic) {
  const te::Program program = te::parse_program(
      "te 1\nA = placeholder(int32, [4])\nB = compute([i: 4], (A(i) + 1))\n"
      "C = compute([i: 4], (B(i)*2))\narguments A C\noutputs C\n");
  const te::Tensor a = program.arguments[0], c = program.outputs[0];
  const te::Tensor b = c.op()->input_tensors()[0];
  const auto bad = [&](TensorIntrinParts parts) {
    return expect_error(ErrorCode::BadIntrinsic, [&] { make_tensor_intrin(std::move(parts)); })
        .what;
  };
  const IntrinBuffer x = test::any_buffer(a), y = test::any_buffer(b), z = test::any_buffer(c);
  const Stmt body = test::store(z, {0}, 0);
  EXPECT_EQ(bad({.name = "n", .op = c.op(), .inputs = {b}, .buffers = {y, z}, .body = body}),
            "intrinsic 'n': it reads 'B', which is computed");
  EXPECT_EQ(bad({.name = "n", .op = b.op(), .inputs = {a}, .buffers = {x, y}}),
            "intrinsic 'n': it has no statements");
  EXPECT_EQ(bad({.name = "n", .op = b.op(), .inputs = {a}, .buffers = {x, y}, .update = body}),
            "intrinsic 'n': it has an update and no reset");
  const IntrinBuffer wide = decl_buffer({8}, int_type(32), "A");
  EXPECT_EQ(bad({.name = "n", .op = b.op(), .inputs = {a}, .buffers = {wide, y}, .body = body}),
            "intrinsic 'n': buffer 'A' has not the shape and type of 'A'");
}

// A target without the instructions: schedules can be written and lowered, code is refused.
TEST(TensorizeErrors, TargetWithoutTheFeature) {
  const Schedule s = scheduled(
      "A = placeholder(uint8, [4])\nB = placeholder(int8, [16, 4])\n"
      "C = compute([j: 16], reduce [k: 4], sum((int32(A(k))*int32(B(j, k)))))\n"
      "arguments A B C\noutputs C\n",
      "tensorize@1(s2, s2:0, \"vnni.dot_u8s8\")");
  const te::Tensor c = s.outputs()[0];
  const std::vector<te::Tensor> inputs = c.op()->input_tensors();
  const auto compiled = [&](const char* target) {
    const Target t = Target::parse(target);
    compile({lower(s, {inputs[0], inputs[1], c}, t)}, t, {.cross = true});
  };
  const ErrorInfo e =
      expect_error(ErrorCode::TargetFeature, [&] { compiled("llvm -mcpu=x86-64-v3"); });
  EXPECT_EQ(e.what,
            "tensor intrinsic 'vnni.dot_u8s8' needs avx512vnni, avx512vl, which 'llvm "
            "-mcpu=x86-64-v3' has not");
  compiled("llvm -mcpu=icelake-server");
}

}  // namespace
}  // namespace tw
