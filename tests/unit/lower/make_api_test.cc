// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/expr.h"
#include "ir/interpret.h"
#include "ir/verify.h"
#include "runtime/error.h"
#include "tests/support/expect_error.h"
#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

// f(A: float32[n, 3], s: int32, B: float32[n]) with B[i] = A[i, 0].
struct Example {
  Var n{"n"}, s{"s"};
  Var a = buffer_var("A", float_type(32)), b = buffer_var("B", float_type(32));
  Kernel kernel;
  Example() {
    const Var i("i");
    kernel.name = "f";
    kernel.arguments = {
        {.name = "A", .dtype = float_type(32), .shape = {n, 3}, .var = a},
        {.name = "s", .dtype = int_type(32), .is_tensor = false, .var = s},
        {.name = "B", .dtype = float_type(32), .shape = {n}, .var = b, .is_output = true}};
    const Expr value = make(Load{.type = float_type(32), .buffer = a, .index = i * 3});
    kernel.body = make(For{.var = i,
                           .min = 0,
                           .extent = n,
                           .body = make(Store{.buffer = b, .value = value, .index = i})});
    kernel = run_pass(pass::make_api, kernel);
  }
};

TEST(MakeApi, UnpacksAndChecks) {
  EXPECT_EQ(
      to_string(Example().kernel.body),
      R"(assert((argument_count() == 3), argument_error(0, "f", "", 0, (int64)3, int64(argument_count())))
assert((argument_type(0) == 0), argument_error(1, "f", "A", 0, (int64)0, int64(argument_type(0))))
assert((tensor_rank(0) == 2), argument_error(3, "f", "A", 0, (int64)2, int64(tensor_rank(0))))
assert((tensor_dtype(0) == 73730), argument_error(4, "f", "A", 0, (int64)73730, int64(tensor_dtype(0))))
assert((tensor_device(0) == 1), argument_error(9, "f", "A", 0, (int64)1, int64(tensor_device(0))))
assert((argument_type(1) == 1), argument_error(1, "f", "s", 1, (int64)1, int64(argument_type(1))))
assert((argument_type(2) == 0), argument_error(1, "f", "B", 2, (int64)0, int64(argument_type(2))))
assert((tensor_rank(2) == 1), argument_error(3, "f", "B", 0, (int64)1, int64(tensor_rank(2))))
assert((tensor_dtype(2) == 73730), argument_error(4, "f", "B", 0, (int64)73730, int64(tensor_dtype(2))))
assert((tensor_device(2) == 1), argument_error(9, "f", "B", 0, (int64)1, int64(tensor_device(2))))
let n = int32(tensor_shape(0, 0))
let s = int32(argument_int(1))
assert((int64(s) == argument_int(1)), argument_error(10, "f", "s", 1, int64(s), argument_int(1)))
assert((tensor_shape(0, 0) == int64(n)), argument_error(5, "f", "A", 0, int64(n), tensor_shape(0, 0)))
assert((tensor_shape(0, 1) == (int64)3), argument_error(5, "f", "A", 1, (int64)3, tensor_shape(0, 1)))
assert(((tvm_if_then_else(tensor_has_strides(0), tensor_stride(0, 1), (int64)1) == (int64)1) || (int64(n) == (int64)0)), argument_error(6, "f", "A", 1, (int64)1, tvm_if_then_else(tensor_has_strides(0), tensor_stride(0, 1), (int64)1)))
assert((((tvm_if_then_else(tensor_has_strides(0), tensor_stride(0, 0), (int64)3) == (int64)3) || (int64(n) == (int64)1)) || (int64(n) == (int64)0)), argument_error(6, "f", "A", 0, (int64)3, tvm_if_then_else(tensor_has_strides(0), tensor_stride(0, 0), (int64)3)))
assert((((int64)3*int64(n)) <= (int64)2147483647), argument_error(12, "f", "A", 0, (int64)2147483647, ((int64)3*int64(n))))
assert((tensor_shape(2, 0) == int64(n)), argument_error(5, "f", "B", 0, int64(n), tensor_shape(2, 0)))
assert((((tvm_if_then_else(tensor_has_strides(2), tensor_stride(2, 0), (int64)1) == (int64)1) || (int64(n) == (int64)1)) || (int64(n) == (int64)0)), argument_error(6, "f", "B", 0, (int64)1, tvm_if_then_else(tensor_has_strides(2), tensor_stride(2, 0), (int64)1)))
assert((int64(n) <= (int64)2147483647), argument_error(12, "f", "B", 2, (int64)2147483647, int64(n)))
let A: float32* = tensor_data(0)
assert(((address_bits(A) != (uint64)0) || (int64(n) == (int64)0)), argument_error(2, "f", "A", 0, (int64)0, (int64)0))
assert((bitwise_and(address_bits(A), (uint64)3) == (uint64)0), argument_error(7, "f", "A", 0, (int64)4, int64(address_bits(A))))
let B: float32* = tensor_data(2)
assert(((address_bits(B) != (uint64)0) || (int64(n) == (int64)0)), argument_error(2, "f", "B", 2, (int64)0, (int64)0))
assert((bitwise_and(address_bits(B), (uint64)3) == (uint64)0), argument_error(7, "f", "B", 2, (int64)4, int64(address_bits(B))))
assert((tensor_overlap(2, 0) == (int64)0), argument_error(11, "f", "B", 0, (int64)0, tensor_overlap(2, 0)))
// attr [] compute_scope = "f_compute"
for (i, 0, n) {
  B[i] = A[(i*3)]
}
)");
  verify(Example().kernel.body, {Property::WellFormed, Property::KernelSignature});
}

// Runs the example; the code of the error, or Internal when there was none.
ErrorCode run(std::vector<InterpreterArgument> arguments) {
  InterpreterScope scope;
  scope.arguments = std::move(arguments);
  try {
    interpret(Example().kernel.body, scope);
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::Internal;
}

TEST(MakeApi, RefusesWhatDoesNotFit) {
  const std::vector<float> zeros(12, 0.0f);
  InterpreterBuffer a = InterpreterBuffer::from_bytes(float_type(32), zeros.data(), 12);
  InterpreterBuffer b(float_type(32), 4), wrong(float_type(64), 4);
  const InterpreterArgument good_a{.tensor = &a, .shape = {4, 3}},
      good_b{.tensor = &b, .shape = {4}};
  const InterpreterArgument s{.value = {.type = int_type(64), .i = 5}};
  constexpr ErrorCode kNone = ErrorCode::Internal;
  EXPECT_EQ(run({good_a, s, good_b}), kNone);
  EXPECT_TRUE(b.written(3));
  EXPECT_EQ(run({good_a, s}), ErrorCode::ArgumentCount);
  EXPECT_EQ(run({s, s, good_b}), ErrorCode::TypeMismatch);
  EXPECT_EQ(run({good_a, good_b, good_b}), ErrorCode::TypeMismatch);
  EXPECT_EQ(run({{.tensor = &a, .shape = {12}}, s, good_b}), ErrorCode::ArgumentShape);
  EXPECT_EQ(run({{.tensor = &a, .shape = {3, 4}}, s, good_b}), ErrorCode::ArgumentShape);
  EXPECT_EQ(run({good_a, s, {.tensor = &b, .shape = {3}}}), ErrorCode::ArgumentShape);
  EXPECT_EQ(run({good_a, s, {.tensor = &wrong, .shape = {4}}}), ErrorCode::ArgumentDType);
  EXPECT_EQ(run({{.tensor = &a, .shape = {4, 3}, .strides = {3, 1}}, s, good_b}), kNone);
  EXPECT_EQ(run({{.tensor = &a, .shape = {4, 3}, .strides = {1, 4}}, s, good_b}),
            ErrorCode::ArgumentStrides);
  EXPECT_EQ(run({good_a, {.value = {.type = int_type(64), .i = int64_t{1} << 40}}, good_b}),
            ErrorCode::BadArgument);
  // An extent of one has no stride to speak of.
  EXPECT_EQ(run({{.tensor = &a, .shape = {1, 3}, .strides = {77, 1}},
                 s,
                 {.tensor = &b, .shape = {1}, .strides = {77}}}),
            kNone);
  // Nor has an array without elements.
  EXPECT_EQ(run({{.tensor = &a, .shape = {0, 3}, .strides = {0, 0}},
                 s,
                 {.tensor = &b, .shape = {0}, .strides = {0}}}),
            kNone);
  EXPECT_EQ(run({{.tensor = &a, .shape = {0, 4}, .strides = {0, 0}},
                 s,
                 {.tensor = &b, .shape = {0}, .strides = {0}}}),
            ErrorCode::ArgumentShape);
}

TEST(MakeApi, OutputsShareNoMemory) {
  // f(A: float32[4], B: float32[4], C: float32[4]) writes B and C.
  Kernel kernel{.name = "f", .body = make(Evaluate{.value = 0})};
  for (const char* name : {"A", "B", "C"}) {
    kernel.arguments.push_back({.name = name,
                                .dtype = float_type(32),
                                .shape = {4},
                                .var = buffer_var(name, float_type(32)),
                                .is_output = *name != 'A'});
  }
  const Stmt body = run_pass(pass::make_api, kernel).body;
  InterpreterBuffer a(float_type(32), 4), b(float_type(32), 4), c(float_type(32), 4);
  const auto run = [&](InterpreterBuffer* x, InterpreterBuffer* y, InterpreterBuffer* z) {
    InterpreterScope scope;
    for (InterpreterBuffer* t : {x, y, z}) {
      scope.arguments.push_back({.tensor = t, .shape = {4}, .strides = {}, .value = {}});
    }
    interpret(body, scope);
  };
  run(&a, &b, &c);
  EXPECT_EQ(test::expect_error(ErrorCode::ArgumentOverlap, [&] { run(&a, &a, &c); }).what,
            "argument 'B' of 'f' shares 16 bytes of memory with argument 0, counted from 0: an "
            "output needs memory of its own");
  test::expect_error(ErrorCode::ArgumentOverlap, [&] { run(&a, &b, &b); });
  test::expect_error(ErrorCode::ArgumentOverlap, [&] { run(&a, &b, &a); });
}

TEST(MakeApi, VariableThatNothingGives) {
  const Var loose("loose");
  const Var a = buffer_var("A", float_type(32));
  Kernel kernel{.name = "f",
                .arguments = {{.name = "A", .dtype = float_type(32), .shape = {4}, .var = a}},
                .body = make(Store{.buffer = a, .value = cast(float_type(32), loose), .index = 0})};
  const ErrorInfo info =
      test::expect_error(ErrorCode::UnboundVariable, [&] { run_pass(pass::make_api, kernel); });
  EXPECT_EQ(info.what, "no loop, reduction or argument of 'f' gives 'loose'");
}

// Extents that are linear in one variable give it; whether they are its multiples is checked.
TEST(MakeApi, ExtentsAreSolvedForTheirVariables) {
  const Var n("n"), m("m");
  const Var a = buffer_var("A", float_type(32)), b = buffer_var("B", float_type(32));
  const Kernel kernel{
      .name = "f",
      .arguments = {{.name = "A", .dtype = float_type(32), .shape = {n * 8 + 3}, .var = a},
                    {.name = "B", .dtype = float_type(32), .shape = {m + n}, .var = b}},
      .body = make(Store{.buffer = a, .value = cast(float_type(32), m), .index = n})};
  const std::string text = to_string(run_pass(pass::make_api, kernel).body);
  EXPECT_NE(text.find("let n = int32(((tensor_shape(0, 0) - (int64)3)/(int64)8))"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("let m = int32((tensor_shape(1, 0) - int64(n)))"), std::string::npos) << text;
}

TEST(MakeApi, ExtentThatNothingGives) {
  const Var n("n"), m("m");
  Kernel kernel{.arguments = {{.name = "A",
                               .dtype = float_type(32),
                               .shape = {n * m},
                               .var = buffer_var("A", float_type(32))}},
                .body = make(Evaluate{.value = 0})};
  try {
    run_pass(pass::make_api, kernel);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::UnboundVariable);
  }
}

}  // namespace
}  // namespace tw
