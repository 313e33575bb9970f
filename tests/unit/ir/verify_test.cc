// SPDX-License-Identifier: Apache-2.0
#include "ir/verify.h"

#include <gtest/gtest.h>

#include "ir/expr.h"
#include "ir/parse.h"
#include "ir/substitute.h"
#include "tests/support/expect_error.h"
#include "tests/support/test_producer.h"

namespace tw {
namespace {

using test::expect_error;
using test::producer;

const Stmt kNothing = make(Evaluate{.value = 0});

void accept(Property p, const char* text) {
  const Stmt s = parse_stmt(text);
  EXPECT_NO_THROW(verify(s, {p}, free_vars(s))) << text;
}
std::string refuse(Property p, const Stmt& s, const std::vector<Var>& free = {}) {
  return expect_error(ErrorCode::MalformedIr, [&] { verify(s, {p}, free); }).what;
}
std::string refuse(Property p, const char* text) {
  const Stmt s = parse_stmt(text);
  return refuse(p, s, free_vars(s));
}

TEST(Verify, WellFormedAccepts) {
  accept(Property::WellFormed,
         "declare A: float32*\ndeclare n: int32\n"
         "for (i, 0, n) { A[i] = float32((let t = i in (t*t))) }");
  accept(Property::WellFormed,
         "allocate B[int32 * 4]\n// attr [task] parallel_launch = 4\nB[task] = task");
}

TEST(Verify, ScopesOfVariables) {
  const Var i("i"), n("n"), A = buffer_var("A", int_type(32));
  const Stmt use = make(Evaluate{.value = i});
  const Stmt loop = make(For{.var = i, .min = 0, .extent = 4, .body = use});
  EXPECT_EQ(refuse(Property::WellFormed, block({loop, use})),
            "well-formed: variable 'i' is used outside the scope of its binding in\ni");
  EXPECT_EQ(refuse(Property::WellFormed, block({loop, loop})),
            "well-formed: variable 'i' is bound a second time in\nfor (i, 0, 4) {\n  i\n}");
  EXPECT_EQ(
      refuse(Property::WellFormed, make(For{.var = n, .min = 0, .extent = n, .body = kNothing})),
      "well-formed: variable 'n' is used outside the scope of its binding in\nn");
  EXPECT_EQ(refuse(Property::WellFormed, make(Store{.buffer = A, .value = 1, .index = 0})),
            "well-formed: buffer 'A' is used outside the scope of its binding in\nA[0] = 1");
  // What may be free may also be bound, by the kernel that unpacks it.
  EXPECT_NO_THROW(verify(loop, {Property::WellFormed}, {i}));
}

TEST(Verify, TypesAgree) {
  const Var A = buffer_var("A", int_type(32)), i("i"), x("x", float_type(32));
  EXPECT_EQ(refuse(Property::WellFormed, make(Store{.buffer = A, .value = x, .index = 0}), {A, x}),
            "well-formed: 'A' holds int32, accessed as float32 in\nA[0] = x");
  EXPECT_EQ(refuse(Property::WellFormed, make(Store{.buffer = A, .value = 1, .index = x}), {A, x}),
            "well-formed: an index of type float32 in\nA[x] = 1");
  EXPECT_EQ(refuse(Property::WellFormed, make(Store{.buffer = i, .value = 1, .index = 0}), {i}),
            "well-formed: 'i' is not a buffer but int32 in\ni[0] = 1");
  EXPECT_EQ(refuse(Property::WellFormed, make(For{.var = x,
                                                  .min = make_const(float_type(32), 0),
                                                  .extent = make_const(float_type(32), 3),
                                                  .body = kNothing})),
            "well-formed: a loop over float32 in\nfor (x, 0.000000f, 3.000000f) {\n  0\n}");
  const ProducerRef P = producer("P", {{int_type(32), {4, 4}}});
  EXPECT_EQ(refuse(Property::WellFormed, make(Provide{.producer = P, .value = 1, .indices = {0}})),
            "well-formed: 1 indices for 'P' of rank 2 in\nP(0) = 1");
  EXPECT_EQ(refuse(Property::WellFormed,
                   make(Provide{.producer = P, .value = x, .indices = {0, 0}}), {x}),
            "well-formed: a value of type float32 for elements of int32 in\nP(0, 0) = x");
  EXPECT_EQ(
      refuse(Property::WellFormed,
             make(Evaluate{.value = call(int_type(32), "exp", {i}, CallKind::Intrinsic)}), {i}),
      "well-formed: 'exp' called as having an effect in\ncall_intrinsic<int32>(\"exp\", i)");
}

TEST(Verify, Flat) {
  accept(Property::Flat, "declare A: int32*\nA[0] = A[1]");
  EXPECT_EQ(refuse(Property::Flat, "declare P: int32[4]\nP(0) = 1"),
            "flat: Provide is left in\nP(0) = 1");
  EXPECT_EQ(refuse(Property::Flat, "declare P: int32[4]\nP(0)"),
            "flat: ProducerLoad is left in\nP(0)");
}

TEST(Verify, LoopsCountScalarIntegers) {
  for (const DType type : {int_type(32, 4), float_type(32)}) {
    const Stmt loop = make(For{.var = Var("i", type),
                               .min = make_zero(type),
                               .extent = make_const(type, 4),
                               .body = kNothing});
    EXPECT_TRUE(refuse(Property::WellFormed, loop).starts_with("well-formed: a loop over "));
  }
}

TEST(Verify, Loops) {
  const char* text = "vectorized (i, 0, 4) { unrolled (j, 0, 4) { parallel (k, 0, 4) { 0 } } }";
  EXPECT_EQ(refuse(Property::NoUnrollLoops, text),
            "no-unroll-loops: a loop of kind unrolled in\n"
            "unrolled (j, 0, 4) {\n  parallel (k, 0, 4) {\n    0\n  }\n}");
  EXPECT_NE(refuse(Property::NoVectorLoops, text), "");
  EXPECT_NE(refuse(Property::NoParallelLoops, text), "");
  accept(Property::NoVectorLoops, "for (i, 0, 4) { parallel (k, 0, 4) { 0 } }");
}

TEST(Verify, HoistedStorage) {
  accept(Property::HoistedStorage,
         "declare n: int32\nallocate A[int32 * 4]\nfor (i, 0, 4) { parallel (k, 0, 4) {\n"
         "allocate B[int32 * 4]\nfor (j, 0, 4) {\nallocate C[int32 * n]\n0 } } }");
  EXPECT_EQ(refuse(Property::HoistedStorage,
                   "parallel (k, 0, 4) { for (j, 0, 4) {\nallocate B[int32 * 4]\n0 } }"),
            "hoisted-storage: 'B' of constant size is allocated inside a loop in\n"
            "// attr [B] storage_scope = \"global\"\nallocate B[int32 * 4]\n0");
}

TEST(Verify, KernelSignature) {
  accept(Property::KernelSignature, "let A: int32* = tensor_data(0)\nA[0] = 1");
  // Constants stay free; everything else is an argument.
  accept(Property::KernelSignature, "declare A: int32*\nA[0] = 1");
  EXPECT_THROW(verify(parse_stmt("declare A: int32*\nA[0] = 1"), {Property::KernelSignature}),
               InternalError);
}

TEST(Verify, Legalised) {
  accept(Property::Legalised, "declare x: float32\n(exp(x) + fabs(x))");
  EXPECT_EQ(refuse(Property::Legalised, "declare i: int32\nfloordiv(i, 2)"),
            "legalised: floor division is left in\nfloordiv(i, 2)");
  EXPECT_EQ(refuse(Property::Legalised, "declare x: float32\nsigmoid(x)"),
            "legalised: 'sigmoid' is left in\nsigmoid(x)");
  EXPECT_EQ(refuse(Property::Legalised, "call_pure_intrinsic<int32>(\"mine\")"),
            "legalised: unknown intrinsic 'mine' in\ncall_pure_intrinsic<int32>(\"mine\")");
}

}  // namespace
}  // namespace tw
