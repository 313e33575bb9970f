// SPDX-License-Identifier: Apache-2.0
#include "ir/interpret.h"

#include <gtest/gtest.h>

#include "ir/expr.h"
#include "ir/parse.h"
#include "tests/support/expect_error.h"
#include "tests/support/test_producer.h"

namespace tw {
namespace {

using test::expect_error;
using test::producer;

InterpreterBuffer counting(DType type, int64_t size) {
  InterpreterBuffer b(type, size);
  for (int64_t k = 0; k < size; ++k) b.set(k, {.type = int_type(64), .i = k});
  return b;
}

// Runs text whose free buffers are given by name.
void run(const std::string& text, const std::map<std::string, InterpreterBuffer*>& buffers,
         const InterpretOptions& options = {}) {
  const Stmt s = parse_stmt(text);
  InterpreterScope scope;
  for (const Var& v : free_vars(s)) {
    auto it = buffers.find(v.name());
    if (it != buffers.end()) scope.buffers[v] = it->second;
  }
  interpret(s, scope, options);
}

std::string integers(const InterpreterBuffer& b) {
  std::string text;
  for (int64_t k = 0; k < b.size(); ++k) {
    text += b.written(k) ? std::to_string(b.at(k).i) + " " : "? ";
  }
  return text;
}

TEST(Interpret, LoopsAndConditions) {
  InterpreterBuffer out(int_type(32), 8);
  run(R"(declare A: int32*
      for (i, 2, 5) {
        if ((i < 4)) { A[i] = (i*10) } else { A[i] = -1 }
      })",
      {{"A", &out}});
  EXPECT_EQ(integers(out), "? ? 20 30 -1 -1 -1 ? ");
}

TEST(Interpret, LoopsOfEveryKind) {
  for (const char* kind : {"for", "parallel", "vectorized", "unrolled"}) {
    InterpreterBuffer out(int_type(32), 4);
    run("declare A: int32*\n" + std::string(kind) + " (i, 0, 4) { A[i] = i }", {{"A", &out}},
        {.shuffle_parallel = true, .seed = 3});
    EXPECT_EQ(integers(out), "0 1 2 3 ");
  }
  InterpreterBuffer out(int_type(32), 1);
  run("declare A: int32*\nA[0] = 7\nfor (i, 0, 0) { A[0] = 8 }", {{"A", &out}});
  EXPECT_EQ(integers(out), "7 ");
}

TEST(Interpret, ShufflingShowsWhoDependsOnTheOrder) {
  const auto last = [](uint64_t seed) {
    InterpreterBuffer out(int_type(32), 1);
    run("declare A: int32*\nparallel (i, 0, 100) { A[0] = i }", {{"A", &out}},
        {.shuffle_parallel = true, .seed = seed});
    return out.at(0).i;
  };
  EXPECT_EQ(last(5), last(5));
  EXPECT_NE(last(5), last(6));
}

TEST(Interpret, VectorsAndPredicates) {
  InterpreterBuffer in = counting(int_type(32), 8), out(int_type(32), 8);
  run(R"(declare A: int32*
      declare B: int32*
      B[ramp(0, 2, 4)] = (A[ramp(7, -1, 4)] + x4(100)) if (ramp(0, 1, 4) < x4(3))
      B[ramp(1, 2, 4)] = shuffle([A[ramp(0, 1, 4)], A[ramp(4, 1, 4)]], [7, 0, 6, 1])
      B[6] = (A[99] if (bool)0))",
      {{"A", &in}, {"B", &out}});
  EXPECT_EQ(integers(out), "107 7 106 0 105 6 0 1 ");
  // All lanes are read before one is written.
  run("declare A: int32*\nA[ramp(1, 1, 4)] = A[ramp(0, 1, 4)]", {{"A", &in}});
  EXPECT_EQ(integers(in), "0 0 1 2 3 5 6 7 ");
}

TEST(Interpret, LetsAndAllocations) {
  InterpreterBuffer out(int_type(32), 3);
  run(R"(declare A: int32*
      for (i, 0, 3) {
        // attr [t] storage_scope = "local"
        allocate t[int32 * 2 * 2]
        let twice = (i*2)
        t[3] = twice
        A[i] = (let u = t[3] in (u*u))
      })",
      {{"A", &out}});
  EXPECT_EQ(integers(out), "0 4 16 ");
}

TEST(Interpret, VectorLets) {
  const std::vector<Value> lanes =
      evaluate_lanes(parse_expr("(let v = ramp(3, 2, 4) in shuffle([(v*v)], [3, 2, 1, 0]))"));
  ASSERT_EQ(lanes.size(), 4u);
  EXPECT_EQ(lanes[0].i, 81);
  EXPECT_EQ(lanes[3].i, 9);
}

// A lane that the mask leaves out is not evaluated, nor what a let names in it.
TEST(Interpret, VectorLetsUnderAMask) {
  InterpreterBuffer in(int_type(32), 4), out(int_type(32), 4);
  for (int64_t k = 0; k < 3; ++k) in.set(k, {.type = int_type(32), .i = k + 1});
  run(R"(declare A: int32*
      declare B: int32*
      B[ramp(0, 1, 4)] = (let v = A[ramp(0, 1, 4)] in (v*v)) if (ramp(0, 1, 4) < x4(3)))",
      {{"A", &in}, {"B", &out}});
  EXPECT_EQ(integers(out), "1 4 9 ? ");
  const char* reversed = R"(declare A: int32*
      declare B: int32*
      B[ramp(0, 1, 4)] = (let v = A[ramp(0, 1, 4)] in shuffle([v], [3, 2, 1, 0])))";
  EXPECT_THROW(run(reversed, {{"A", &in}, {"B", &out}}), UserError);
}

TEST(Interpret, ProducersBeforeFlattening) {
  const Var i("i"), n("n");
  const ProducerRef A = producer("A", {{int_type(32), {n, 3}}});
  const ProducerRef B = producer("B", {{int_type(32), {4}}});
  const ProducerRef C = producer("C", {{int_type(32), {4}}});
  const auto at = [](const ProducerRef& p, std::vector<Expr> indices) {
    return make(ProducerLoad{.producer = p, .indices = std::move(indices)});
  };
  // Only B[i .. i + 1) lives in each iteration.
  const Stmt body = block({make(Provide{.producer = B, .value = at(A, {i, 1}), .indices = {i}}),
                           make(Provide{.producer = C, .value = at(B, {i}) + 1, .indices = {i}})});
  const Stmt s = make(For{.var = i,
                          .min = 0,
                          .extent = n,
                          .body = make(Realize{.producer = B, .bounds = {{i, 1}}, .body = body})});
  InterpreterBuffer in = counting(int_type(32), 12), out(int_type(32), 4);
  InterpreterScope scope;
  scope.values[n] = {.type = int_type(32), .i = 4};
  scope.producers[{A.get(), 0}] = &in;
  scope.producers[{C.get(), 0}] = &out;
  interpret(s, scope);
  EXPECT_EQ(integers(out), "2 5 8 11 ");

  const Stmt outside =
      make(Realize{.producer = B,
                   .bounds = {{1, 2}},
                   .body = make(Provide{.producer = B, .value = 0, .indices = {0}})});
  const ErrorInfo info = expect_error(ErrorCode::OutOfBounds, [&] { interpret(outside, scope); });
  EXPECT_EQ(info.what, "write of 'B' at index 0 in dimension 0, extent 2 from 1");
  const Stmt never =
      make(Realize{.producer = B, .bounds = {{0, 4}}, .body = make(Evaluate{.value = at(B, {2})})});
  EXPECT_EQ(expect_error(ErrorCode::UninitializedRead, [&] { interpret(never, scope); }).what,
            "read of 'B' at index (2), which was never written, extent 4");
}

TEST(Interpret, Reductions) {
  const Var k("k"), x("x"), y("y");
  const ProducerRef A = producer("A", {{int_type(32), {8}}});
  const Expr sum =
      make(Reduce{.combiner = {.lhs = {x}, .rhs = {y}, .result = {x + y}, .identity = {0}},
                  .source = {make(ProducerLoad{.producer = A, .indices = {k}})},
                  .axis = {IterVar({0, 8}, k, IterKind::Reduction)},
                  .condition = k < 5});
  InterpreterBuffer in = counting(int_type(32), 8);
  InterpreterScope scope;
  scope.producers[{A.get(), 0}] = &in;
  EXPECT_EQ(evaluate(sum, scope).i, 10);
}

TEST(Interpret, ErrorsNameBufferIndexAndExtent) {
  InterpreterBuffer b = counting(int_type(32), 4);
  const auto fails = [&](ErrorCode code, const std::string& text) {
    return expect_error(code, [&] { run("declare A: int32*\n" + text, {{"A", &b}}); }).what;
  };
  EXPECT_EQ(fails(ErrorCode::OutOfBounds, "A[4] = 0"), "write of 'A' at index 4, extent 4");
  EXPECT_EQ(fails(ErrorCode::OutOfBounds, "A[0] = A[-1]"), "read of 'A' at index -1, extent 4");
  // A select evaluates both sides, if_then_else only one.
  EXPECT_EQ(fails(ErrorCode::OutOfBounds, "A[0] = select((bool)1, 5, A[9])"),
            "read of 'A' at index 9, extent 4");
  run("declare A: int32*\nA[0] = tvm_if_then_else((bool)1, 5, A[9])", {{"A", &b}});
  run("declare A: int32*\nif (((bool)0 && (A[9] == 1))) { A[1] = 0 }", {{"A", &b}});
  EXPECT_EQ(integers(b), "5 1 2 3 ");
  EXPECT_EQ(fails(ErrorCode::UninitializedRead, "allocate t[int32 * 4]\nA[0] = t[2]"),
            "read of 't' at index 2, which was never written, extent 4");
  EXPECT_EQ(fails(ErrorCode::AssertionFailed, "assert((A[0] == 6), \"not six\")\nA[0] = 0"),
            "not six");
  EXPECT_EQ(fails(ErrorCode::UnboundVariable, "declare n: int32\nA[0] = n"), "'n' has no value");
  EXPECT_EQ(fails(ErrorCode::TypeMismatch, "declare A2: int32*\nA[0] = int32(A<float32>[0])"),
            "'A' holds int32, accessed as float32");
  EXPECT_EQ(fails(ErrorCode::BadShape, "allocate t[int32 * -4]\nA[0] = 0"),
            "allocation of 't' with extents [-4]");
  EXPECT_EQ(fails(ErrorCode::UnknownFunction, "call_extern<int32>(\"f\")"),
            "the interpreter cannot call 'f'");
  EXPECT_EQ(integers(b), "5 1 2 3 ");
  expect_error(ErrorCode::BadArgument, [&] {
    run("declare A: int32*\nfor (i, 0, 1000) { A[0] = i }", {{"A", &b}}, {.max_steps = 100});
  });
}

TEST(Interpret, CompiledExpressions) {
  const Var i("i"), x("x", float_type(32));
  CompiledExpr f(cast(float_type(32), i) * x, {i, x});
  f.set(0, 3);
  f.set(1, Value{.type = float_type(32), .f = 0.5});
  EXPECT_EQ(f().f, 1.5);
  f.set(0, 4);
  EXPECT_EQ(f().f, 2.0);
}

TEST(Interpret, BuffersInBytes) {
  const float values[] = {1.5f, -2.0f};
  InterpreterBuffer b = InterpreterBuffer::from_bytes(float_type(32), values, 2);
  EXPECT_EQ(b.at(1).f, -2.0);
  b.set(0, {.type = float_type(64), .f = 0.1});
  float out[2] = {};
  b.copy_to(out);
  EXPECT_EQ(out[0], 0.1f);
  EXPECT_EQ(out[1], -2.0f);
  InterpreterBuffer fresh(int_type(16), 2);
  fresh.set(1, {.type = int_type(32), .i = 70000});
  int16_t shorts[2] = {9, 9};
  fresh.copy_to(shorts);
  EXPECT_EQ(shorts[0], 0);
  EXPECT_EQ(shorts[1], 70000 - 65536);
}

constexpr char kKernel[] = R"(
assert((argument_count() == 1), argument_error(0, "fill", "", 0, (int64)1, int64(argument_count())))
assert((tensor_rank(0) == 1), argument_error(3, "fill", "A", 0, (int64)1, int64(tensor_rank(0))))
let n = int32(tensor_shape(0, 0))
let A: int32* = tensor_data(0)
assert((bitwise_and(address_bits(A), (uint64)3) == (uint64)0))
let tasks = min(num_threads(), n)
// attr [task] parallel_launch = tasks
for (i, (task*(n/tasks)), (n/tasks)) {
  A[i] = (i + 100)
}
)";

TEST(Interpret, KernelsUnpackTheirArguments) {
  const Stmt kernel = parse_stmt(kKernel);
  EXPECT_TRUE(free_vars(kernel).empty());
  InterpreterBuffer out(int_type(32), 6);
  InterpreterScope scope;
  scope.arguments = {{.tensor = &out, .shape = {6}}};
  interpret(kernel, scope, {.shuffle_parallel = true});
  EXPECT_EQ(integers(out), "100 101 102 103 104 105 ");
  scope.arguments[0].shape = {2, 3};
  EXPECT_EQ(expect_error(ErrorCode::ArgumentShape, [&] { interpret(kernel, scope); }).what,
            "argument 'A' of 'fill': 2 dimensions, expected 1");
  scope.arguments.clear();
  EXPECT_EQ(expect_error(ErrorCode::ArgumentCount, [&] { interpret(kernel, scope); }).what,
            "'fill' got 0 arguments, expected 1");
}

TEST(Interpret, TellsAnObserverWhatItDoes) {
  struct Log : RunObserver {
    std::string text;
    void begin_loop(ForKind kind) override { text += std::string(to_string(kind)) + " "; }
    void begin_iteration(int64_t value) override { text += std::to_string(value) + ": "; }
    void end_loop() override { text += "end "; }
    void allocated(const InterpreterBuffer& b) override {
      text += "new " + std::to_string(b.size()) + " ";
    }
    void access(const InterpreterBuffer&, int64_t index, bool is_write) override {
      text += (is_write ? "w" : "r") + std::to_string(index) + " ";
    }
  } log;
  InterpreterBuffer a = counting(int_type(32), 4);
  run("declare A: int32*\n"
      "parallel (i, 1, 2) {\n"
      "  // attr [t] storage_scope = \"local\"\n"
      "  allocate t[int32 * 3]\n"
      "  t[2] = A[i]\n"
      "  A[0] = t[2]\n"
      "}\n",
      {{"A", &a}}, {.observer = &log});
  EXPECT_EQ(log.text, "parallel 1: new 3 r1 w2 r2 w0 2: new 3 r2 w2 r2 w0 end ");
}

TEST(Interpret, WhileLoopsAskBeforeEachRound) {
  InterpreterBuffer c(int_type(32), 2);
  run("declare C: int32*\nC[0] = 0\nC[1] = 7\nwhile ((C[0] < C[1])) {\n"
      "  C[0] = (C[0] + 2)\n  C[1] = (C[1] - 1)\n}\n",
      {{"C", &c}});
  EXPECT_EQ(integers(c), "6 4 ");
  run("declare C: int32*\nwhile ((C[0] < C[1])) {\n  C[0] = 100\n}\n", {{"C", &c}});
  EXPECT_EQ(integers(c), "6 4 ");
}

TEST(Interpret, AWhileLoopWithoutProgressEnds) {
  InterpreterBuffer c(int_type(32), 1);
  const ErrorInfo e = expect_error(ErrorCode::BadArgument, [&] {
    run("declare C: int32*\nC[0] = 0\nwhile ((C[0] < 1)) {\n  C[0] = 0\n}\n", {{"C", &c}},
        {.max_steps = 1000});
  });
  EXPECT_EQ(e.what, "the program did not end within 1000 steps");
}

}  // namespace
}  // namespace tw
