// SPDX-License-Identifier: Apache-2.0
// Tensors that statements compute.
#include <gtest/gtest.h>

#include "schedule/te/extern.h"
#include "tests/support/expect_error.h"
#include "tests/support/scheduled.h"
#include "tests/support/te_run.h"

namespace tw {
namespace {

using test::expect_error;
using test::loops;

// Running sums of a vector, and how many there are.
constexpr char kSums[] =
    "A = placeholder(int32, [4])\n"
    "B = compute([i: 4], (A(i)*2))\n"
    "E = extern(inputs=[B], outputs=[int32: [4], int32: []], memory=[b, e, c], "
    "body=\"e[0] = b[0]\\nfor (i, 0, 3) {\\n  e[(i + 1)] = (e[i] + b[(i + 1)])\\n}\\nc[0] = "
    "4\\n\")\n"
    "D = compute([i: 4], (E.v0(i) + E.v1()))\n"
    "arguments A D\noutputs D\n";

te::Program program(const std::string& text) { return te::parse_program("te 1\n" + text); }

TEST(Extern, ItsStatementsStandBesideTheMemoryOfItsTensors) {
  EXPECT_EQ(loops(kSums), R"(realize B<global>([0, 4]) {
  produce B {
    for (i, 0, 4) {
      B(i) = (A(i)*2)
    }
  }
  realize E.v0<global>([0, 4]) {
    realize E.v1<global>() {
      produce E {
        // attr [b] buffer_bind = B(0)
        // attr [e] buffer_bind = E.v0(0)
        // attr [c] buffer_bind = E.v1()
        e[0] = b[0]
        for (i_1, 0, 3) {
          e[(i_1 + 1)] = (e[i_1] + b[(i_1 + 1)])
        }
        c[0] = 4
      }
      produce D {
        for (i_2, 0, 4) {
          D(i_2) = (E.v0(i_2) + E.v1())
        }
      }
    }
  }
}
)");
}

TEST(Extern, TextRoundTripsAndNamesAreNotInTheHash) {
  const std::string text = "te 1\n" + std::string(kSums);
  const te::Program p = te::parse_program(text);
  EXPECT_EQ(te::to_text(p), text);
  std::string renamed = kSums;
  for (size_t at = 0; (at = renamed.find("e[", at)) != std::string::npos; at += 3)
    renamed.replace(at, 2, "ee[");
  renamed.replace(renamed.find("[b, e, c]"), 9, "[b, ee, c]");
  EXPECT_EQ(te::workload_hash(p), te::workload_hash(program(renamed)));
  std::string other = kSums;
  other.replace(other.find("c[0] = 4"), 8, "c[0] = 5");
  EXPECT_NE(te::workload_hash(p), te::workload_hash(program(other)));
}

TEST(Extern, IsEvaluatedByItsStatements) {
  const test::Array out = test::run(program(kSums).outputs[0], {test::Array({4}, {1, 2, 3, 4})});
  EXPECT_EQ(out.data, (std::vector<double>{6, 10, 16, 24}));
}

TEST(Extern, MayStandInALoopOfItsConsumerAndReadCaches) {
  const std::string text = loops(kSums,
                                 "cache_read@1(s1, \"local\", [s2])\n"
                                 "compute_at@1(s2, s3, s3:0)\n"
                                 "compute_at@1(t0.0, s3, s3:0)\n");
  EXPECT_NE(text.find("realize B.local<local>([0, 4])"), std::string::npos) << text;
}

constexpr char kInPlace[] =
    "A = placeholder(int32, [3])\n"
    "E = extern(inputs=[A], outputs=[int32: [3]], memory=[a, a], body=\"a[1] = (a[1] + "
    "a[0])\\n\")\n"
    "arguments A E\noutputs E\n";

TEST(Extern, InPlaceItsElementsAreTheInputsAtTheStart) {
  const te::Program p = program(kInPlace);
  EXPECT_EQ(te::to_text(p), "te 1\n" + std::string(kInPlace));
  const test::Array out = test::run(p.outputs[0], {test::Array({3}, {1, 2, 3})});
  EXPECT_EQ(out.data, (std::vector<double>{1, 3, 3}));
  EXPECT_EQ(loops(kInPlace), R"(produce E {
  for (i0, 0, 3) {
    E(i0) = A(i0)
  }
  // attr [a] buffer_bind = E(0)
  a[1] = (a[1] + a[0])
}
)");
}

TEST(Extern, WhatItAddressesStaysAsItIs) {
  const auto fails = [](ErrorCode code, const std::string& trace) {
    expect_error(code, [&] { loops(kSums, trace); });
  };
  fails(ErrorCode::CannotInline, "compute_inline@1(s1)");
  fails(ErrorCode::CannotInline, "compute_inline@1(s2)");
  fails(ErrorCode::BadArgument, "transform_layout@1(s1, axis=s1:0, factor=2)");
  fails(ErrorCode::BadArgument, "storage_align@1(s1, s1:0, 8, 0)");
  fails(ErrorCode::BadArgument, "cache_write@1(s2, \"local\")");
}

TEST(Extern, ReadsAndStoresStayInsideItsTensors) {
  const te::Program reads = program(
      "A = placeholder(int32, [3])\n"
      "E = extern(inputs=[A], outputs=[int32: [3]], memory=[a, e], body=\"e[0] = a[3]\\n\")\n"
      "arguments A E\noutputs E\n");
  expect_error(ErrorCode::OutOfBounds,
               [&] { test::run(reads.outputs[0], {test::Array({3}, {1, 2, 3})}); });
  const te::Program partial = program(
      "A = placeholder(int32, [3])\n"
      "E = extern(inputs=[A], outputs=[int32: [3]], memory=[a, e], body=\"e[0] = a[2]\\n\")\n"
      "D = compute([i: 3], E(i))\n"
      "arguments A D\noutputs D\n");
  expect_error(ErrorCode::UninitializedRead,
               [&] { test::run(partial.outputs[0], {test::Array({3}, {1, 2, 3})}); });
}

TEST(Extern, WhatDoesNotFitIsRefused) {
  const te::Tensor a = te::placeholder({3}, int_type(32), "A");
  const Var memory = buffer_var("a", int_type(32)), out = buffer_var("e", int_type(32)),
            floats = buffer_var("f", float_type(32));
  const Var stray("stray");
  const auto make_op = [&](std::vector<Var> vars, const Expr& value, std::vector<Expr> shape) {
    te::extern_op({.name = "E",
                   .inputs = {a},
                   .outputs = {{std::move(shape), int_type(32)}},
                   .memory = std::move(vars),
                   .body = make(Store{.buffer = out, .value = value, .index = 0})});
  };
  expect_error(ErrorCode::BadArgument, [&] { make_op({memory}, 1, {3}); });
  expect_error(ErrorCode::TypeMismatch, [&] { make_op({floats, out}, 1, {3}); });
  expect_error(ErrorCode::BadArgument, [&] { make_op({out, out}, 1, {4}); });
  expect_error(ErrorCode::UnboundVariable, [&] { make_op({memory, out}, stray, {3}); });
}

}  // namespace
}  // namespace tw
