// SPDX-License-Identifier: Apache-2.0
// Random te programs print, parse back and print the same; the copy has the same hash and computes
// the same. te/evaluate agrees with the IR's interpreter on every body.
#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/visit.h"
#include "runtime/error.h"
#include "schedule/te/compute.h"
#include "schedule/te/evaluate.h"
#include "schedule/te/text.h"
#include "tests/support/fuzz.h"
#include "tests/support/random_ir.h"

namespace tw::te {
namespace {

constexpr int kRows = 3, kColumns = 4;
const std::vector<DType> kTypes = {int_type(32),   int_type(8),    uint_type(64),  float_type(32),
                                   float_type(64), float_type(16), bfloat_type(16)};

// Names that are words of the language, names twice, names that are no identifiers.
std::string some_name(test::Random& random) {
  return random.pick<std::string>({"A",      "A",     "t",           "compute", "sum",
                                   "reduce", "te",    "arguments",   "outputs", "float32",
                                   "exp",    "x4",    "A.v0",        "A.v1",    "two words",
                                   "",       "größe", "placeholder", "var",     "min"});
}

// Bodies are random expressions whose loose variables become reads of earlier tensors.
class RandomTe {
 public:
  explicit RandomTe(uint64_t seed) : random_(seed) {}

  Program make() {
    for (int k = 0; k < 2; ++k) {
      tensors_.push_back(placeholder({kRows, kColumns}, random_.pick(kTypes), some_name(random_)));
    }
    for (int64_t k = random_.between(1, 4); k > 0; --k) step();
    std::vector<Tensor> outputs = {tensors_.back()};
    if (random_.chance(30)) outputs.push_back(tensors_[2]);
    return make_program(outputs);
  }

 private:
  void step() {
    std::vector<IterVar> axis = {axis_of(kRows), axis_of(kColumns)};
    std::vector<Expr> body;
    const Attributes attributes = {{some_name(random_), random_.between(-5, 5)}};
    if (random_.chance(40)) {
      const IterVar k = reduce_axis({Expr(static_cast<int>(random_.between(0, 1))), kRows - 1},
                                    some_name(random_));
      body = reduction(axis, k);
    } else {
      for (int64_t n = random_.between(1, 2); n > 0; --n) {
        body.push_back(expression(random_.pick(kTypes), {axis[0], axis[1]}));
      }
    }
    const Operation op =
        compute_op(some_name(random_), axis, body, random_.chance(20) ? "a tag" : "", attributes);
    for (int k = 0; k < op->num_outputs(); ++k) tensors_.push_back(op.output(k));
  }

  IterVar axis_of(int extent) {
    return IterVar({0, extent}, Var(some_name(random_)), IterKind::DataParallel);
  }

  std::vector<Expr> reduction(const std::vector<IterVar>& axis, const IterVar& k) {
    const std::vector<IterVar> scope = {k, axis[0], axis[1]};
    const DType type = random_.pick(kTypes);
    const Expr source = expression(type, scope);
    const Expr condition = random_.chance(30) ? expression(bool_type(), scope) : Expr();
    switch (random_.between(0, 4)) {
      case 0:
        return {sum(source, {k}, condition)};
      case 1:
        return {prod(source, {k}, condition)};
      case 2:
        return {max(source, {k}, condition)};
      case 3:
        return {min(source, {k}, condition)};
      default:
        break;
    }
    const Var l0(some_name(random_), type), r0(some_name(random_), type);
    const Var l1(some_name(random_)), r1(some_name(random_));
    const CommReducer pair{.lhs = {l0, l1},
                           .rhs = {r0, r1},
                           .result = {tw::max(l0, r0), select(l0 < r0, r1, l1)},
                           .identity = {min_value(type), Expr(-1)}};
    return reduce(pair, {source, k.var()}, {k}, condition);
  }

  Expr expression(DType type, const std::vector<IterVar>& scope) {
    std::vector<Var> variables;
    for (const IterVar& a : scope) variables.push_back(a.var());
    std::vector<std::pair<Var, Expr>> reads;
    for (const Tensor& t : tensors_) {
      // scope[0] stays inside the rows whether it is an axis or a reduction's.
      const Expr read = t(scope[0].var(), scope.back().var());
      for (DType as : {type.is_bool() ? float_type(32) : type, int_type(32)}) {
        reads.emplace_back(Var("read", as), cast(as, read));
        variables.push_back(reads.back().first);
      }
    }
    test::RandomIr ir(random_.bits(), variables, {.constant_limit = 9});
    const Expr e = ir.expr(type, static_cast<int>(random_.between(1, 4)));
    return rewrite(e, [&](const Expr& sub) -> Expr {
      for (const auto& [var, read] : reads) {
        if (sub.same_as(var)) return read;
      }
      return {};
    });
  }

  test::Random random_;
  std::vector<Tensor> tensors_;
};

std::vector<InterpreterBuffer> buffers_of(const Program& p) {
  std::vector<InterpreterBuffer> buffers;
  for (const Tensor& t : p.arguments) {
    buffers.emplace_back(t.dtype(), kRows * kColumns);
    if (as_op<ComputeNode>(t.op())) continue;
    for (int64_t i = 0; i < kRows * kColumns; ++i) {
      const auto v = static_cast<double>((i * 7) % 11 - 5);
      buffers.back().set(i, {.type = float_type(64), .f = v});
    }
  }
  return buffers;
}

void run(const Program& p, std::vector<InterpreterBuffer>& buffers) {
  std::vector<InterpreterBuffer*> pointers;
  for (InterpreterBuffer& b : buffers) pointers.push_back(&b);
  evaluate(p, pointers);
}

std::vector<int64_t> bits(const InterpreterBuffer& b) {
  std::vector<int64_t> result;
  for (int64_t k = 0; k < b.size(); ++k) result.push_back(b.raw(k).i);
  return result;
}

TEST(TeTextFuzz, ProgramsRoundTripAndComputeTheSame) {
  test::FuzzCases cases(600, 1);
  while (cases.next()) {
    const uint64_t seed = cases.seed();
    SCOPED_TRACE(seed);
    const Program p = RandomTe(seed).make();
    const std::string text = to_text(p);
    const Program copy = parse_program(text);
    ASSERT_EQ(to_text(copy), text);
    ASSERT_EQ(workload_hash(copy), workload_hash(p)) << text;
    ASSERT_EQ(count_operations(copy), count_operations(p)) << text;
    std::vector<InterpreterBuffer> first = buffers_of(p), second = buffers_of(copy);
    ASSERT_EQ(first.size(), second.size());
    run(p, first);
    run(copy, second);
    for (size_t b = 0; b < first.size(); ++b) ASSERT_EQ(bits(first[b]), bits(second[b])) << text;
  }
}

TEST(TeTextFuzz, EvaluationAgreesWithTheInterpreter) {
  test::FuzzCases cases(600, 1);
  while (cases.next()) {
    const int k = cases.index();
    const uint64_t seed = test::fuzz_seed() * 2'000'003 + static_cast<uint64_t>(k);
    SCOPED_TRACE(seed);
    // Every tensor is an argument, so that the interpreter finds what a body reads.
    Program p = RandomTe(seed).make();
    for (const Operation& op : operations(p.outputs)) {
      for (int output = 0; output < op->num_outputs(); ++output) {
        bool known = false;
        for (const Tensor& t : p.arguments) known |= t == op.output(output);
        if (!known) p.arguments.push_back(op.output(output));
      }
    }
    std::vector<InterpreterBuffer> buffers = buffers_of(p);
    run(p, buffers);
    InterpreterScope scope;
    for (size_t b = 0; b < buffers.size(); ++b) {
      const Tensor& t = p.arguments[b];
      scope.producers[{t.op().get(), t.value_index()}] = &buffers[b];
    }
    for (size_t b = 0; b < buffers.size(); ++b) {
      const Tensor& t = p.arguments[b];
      const auto* compute = as_op<ComputeNode>(t.op());
      if (!compute) continue;
      const std::vector<Var> axes = {compute->axis[0].var(), compute->axis[1].var()};
      CompiledExpr body(compute->body[static_cast<size_t>(t.value_index())], axes, scope);
      for (int64_t i = 0; i < kRows * kColumns; ++i) {
        body.set(0, i / kColumns);
        body.set(1, i % kColumns);
        InterpreterBuffer element(t.dtype(), 1);
        element.set(0, body());
        ASSERT_EQ(element.raw(0).i, buffers[b].raw(i).i) << i << "\n" << to_text(p);
      }
    }
  }
}

// Text from elsewhere may be anything: it parses, or the error is the user's.
TEST(TeTextFuzz, DamagedTextIsAnErrorOfTheUser) {
  const std::string characters = "()[]{}<>,:=+-*/%!\"#. \n0123456789abcdefijkxvAB_\\\xff";
  test::FuzzCases cases(6000, 0.008);  // damage that leaves a program is rare
  while (cases.next()) {
    const int k = cases.index();
    const uint64_t seed = test::fuzz_seed() * 3'000'017 + static_cast<uint64_t>(k);
    test::Random random(seed);
    std::string text = to_text(RandomTe(seed / 8).make());
    for (int64_t damage = random.between(1, 3); damage > 0; --damage) {
      const auto at = static_cast<size_t>(random.between(0, static_cast<int64_t>(text.size()) - 1));
      const auto length = static_cast<size_t>(random.between(1, 9));
      const auto character = characters[static_cast<size_t>(
          random.between(0, static_cast<int64_t>(characters.size()) - 1))];
      switch (random.between(0, 3)) {
        case 0:
          text[at] = character;
          break;
        case 1:
          text.insert(at, 1, character);
          break;
        case 2:
          text.erase(at, length);
          break;
        default: {  // a piece of the text at another place
          const auto from =
              static_cast<size_t>(random.between(0, static_cast<int64_t>(text.size()) - 1));
          text.insert(at, text.substr(from, length));
          break;
        }
      }
    }
    SCOPED_TRACE(text);
    try {
      const Program p = parse_program(text);
      ASSERT_EQ(to_text(parse_program(to_text(p))), to_text(p));
    } catch (const UserError& e) {
      ASSERT_FALSE(e.info().where.empty()) << e.what();
      cases.refuse();
    } catch (const std::exception& e) {
      FAIL() << e.what();
    }
  }
}

}  // namespace
}  // namespace tw::te
