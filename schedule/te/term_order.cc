// SPDX-License-Identifier: Apache-2.0
#include "schedule/te/term_order.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <random>

#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "schedule/te/evaluation.h"
#include "schedule/te/reducers.h"

namespace tw::te {
namespace {

constexpr int kTrials = 256;
constexpr int kMostFolded = 2;  // terms that the values which are combined are made of

// One value for each lane of each component.
using Tuple = std::vector<Scalar>;

// The condition under which the reducer takes its left operand whole and not its right one;
// undefined where it does not choose so.
Expr choice_of(const CommReducer& reducer) {
  Expr condition;
  for (size_t k = 0; k < reducer.result.size(); ++k) {
    Expr c, yes, no;
    if (const Select* select = as<Select>(reducer.result[k])) {
      c = select->condition, yes = select->true_value, no = select->false_value;
    } else if (const Call* call = as<Call>(reducer.result[k]);
               call != nullptr && call->name == "if_then_else") {
      c = call->args[0], yes = call->args[1], no = call->args[2];
    } else {
      return {};
    }
    const bool left = yes.same_as(reducer.lhs[k]) && no.same_as(reducer.rhs[k]);
    const bool right = yes.same_as(reducer.rhs[k]) && no.same_as(reducer.lhs[k]);
    if (!(left || right) || (condition.defined() && !equal(c, condition))) return {};
    condition = c;
  }
  return condition;
}

// What a value of the type is drawn from: numbers whose sums and products are exact.
Scalar drawn(DType type, std::mt19937_64& random) {
  constexpr double kFloats[] = {1, 2, 3, -1, 0.5, -2.5, 4, -0.25, 1.5, 0};
  constexpr int64_t kIntegers[] = {1, 2, 3, -1, 5, -4, 7, 100, -9, 0};
  if (type.is_float()) return scalar::of_float(kFloats[random() % std::size(kFloats)]);
  const int64_t value = kIntegers[random() % std::size(kIntegers)];
  if (type.is_bool()) return scalar::of_int(value & 1);
  return scalar::of_int(type.is_uint() ? std::abs(value) : value);
}

// Of sums of numbers that were rounded to the type.
double rounding(DType type) {
  switch (type.bits) {
    case 64:
      return 1e-9;
    case 32:
      return 1e-4;
    default:
      return type == float_type(16) ? 0.02 : 0.1;
  }
}

// Runs a reducer on values.
class Trials {
 public:
  explicit Trials(const ComputeNode& compute)
      : run_(no_scalars_), compiler_(run_), starts_elsewhere_(!compute.init.empty()) {
    const Reduce& reduction = *as<Reduce>(compute.body[0]);
    const CommReducer& f = reduction.combiner;
    const Expr choice = choice_of(f);
    for (size_t k = 0; k < f.result.size(); ++k) {
      const DType type = f.result[k].dtype();
      const bool constant = is<IntImm>(reduction.source[k]) || is<FloatImm>(reduction.source[k]);
      for (int lane = 0; lane < type.lanes; ++lane) {
        types_.push_back(type.element());
        compared_.push_back(!choice.defined() || uses(choice, f.lhs[k]) || uses(choice, f.rhs[k]));
        lhs_.push_back(compiler_.slot(f.lhs[k], lane));
        rhs_.push_back(compiler_.slot(f.rhs[k], lane));
        constants_.push_back(constant ? compiler_.compile(reduction.source[k], lane) : Code());
      }
      // Variables of the program have some value.
      for (const Expr& e : {f.result[k], f.identity[k]}) {
        for_each_expr(e, [&](const Expr& part) {
          if (is<ProducerLoad>(part)) evaluable_ = false;
          const Variable* var = as<Variable>(part);
          for (int lane = 0; var != nullptr && lane < var->dtype.lanes; ++lane)
            variables_.emplace_back(var->dtype.element(), compiler_.slot(Var(var), lane));
        });
      }
    }
    if (evaluable_) compile(f);
  }

  bool evaluable() const { return evaluable_; }

  void draw_variables() {
    for (auto& [type, slot] : variables_) *slot = drawn(type, random_);
  }
  Tuple term() {
    Tuple result = anything();
    for (size_t k = 0; k < types_.size(); ++k) {
      if (constants_[k].run) result[k] = constants_[k]();
    }
    return result;
  }
  Tuple identity() {
    Tuple result;
    for (const Code& e : identity_) result.push_back(e());
    return result;
  }
  // What a few terms of the reduction give, and those of a group of them.
  Tuple folded() { return folded(starts_elsewhere_ ? anything() : identity()); }
  Tuple group() { return folded(identity()); }
  Tuple combined(const Tuple& a, const Tuple& b) {
    for (size_t k = 0; k < types_.size(); ++k) *lhs_[k] = a[k], *rhs_[k] = b[k];
    Tuple result;
    for (const Code& e : results_) result.push_back(e());
    return result;
  }

  // Whether both are the same but for rounding. Beyond what numbers the reducer is of, as the root
  // of a negative one, nothing is.
  bool same(const Tuple& expected, const Tuple& found) const {
    for (size_t k = 0; k < types_.size(); ++k) {
      if (!compared_[k]) continue;
      if (!types_[k].is_float()) {
        if (expected[k].i != found[k].i) return false;
        continue;
      }
      const double a = expected[k].f, b = found[k].f;
      if (!std::isfinite(a)) continue;
      if (!(std::abs(a - b) <= rounding(types_[k]) * (1 + std::abs(a)))) return false;
    }
    return true;
  }

  std::string text(const Tuple& t) const {
    std::string result;
    for (size_t k = 0; k < t.size(); ++k) {
      result += result.empty() ? "" : ", ";
      result += types_[k].is_float() ? fmt::format("{:g}", t[k].f) : fmt::format("{}", t[k].i);
    }
    return t.size() == 1 ? result : fmt::format("({})", result);
  }

 private:
  Tuple anything() {
    Tuple result;
    for (const DType type : types_) result.push_back(drawn(type, random_));
    return result;
  }
  Tuple folded(Tuple from) {
    for (uint64_t k = random_() % (kMostFolded + 1); k > 0; --k) from = combined(from, term());
    return from;
  }
  void compile(const CommReducer& f) {
    try {
      for (size_t k = 0; k < f.result.size(); ++k) {
        for (int lane = 0; lane < f.result[k].dtype().lanes; ++lane) {
          results_.push_back(compiler_.compile(f.result[k], lane));
          identity_.push_back(compiler_.compile(f.identity[k], lane));
        }
      }
    } catch (const UserError&) {
      evaluable_ = false;
    }
  }

  InterpreterScope no_scalars_;
  Evaluation run_;
  EvaluationCompiler compiler_;
  std::mt19937_64 random_{2018};
  std::vector<DType> types_;
  std::vector<bool> compared_;
  std::vector<Scalar*> lhs_, rhs_;
  std::vector<Code> constants_, results_, identity_;
  std::vector<std::pair<DType, Scalar*>> variables_;
  bool starts_elsewhere_, evaluable_ = true;
};

// Asks `refute` again and again, which returns an example where one was found; the shortest.
template <class Refute>
std::string refuted(const ComputeNode& compute, Refute refute) {
  if (!reducer_name(as<Reduce>(compute.body[0])->combiner).empty()) return "";
  Trials trials(compute);
  if (!trials.evaluable()) return "nothing is known of the functions that the reducer calls";
  std::string shortest;
  for (int k = 0; k < kTrials; ++k) {
    trials.draw_variables();
    std::string example = refute(trials);
    if (shortest.empty() || (!example.empty() && example.size() < shortest.size()))
      shortest = std::move(example);
  }
  return shortest;
}

}  // namespace

std::string order_matters(const ComputeNode& reduction) {
  return refuted(reduction, [](Trials& f) -> std::string {
    const Tuple a = f.folded(), x = f.term(), y = f.term();
    const Tuple in_order = f.combined(f.combined(a, x), y);
    const Tuple exchanged = f.combined(f.combined(a, y), x);
    if (f.same(in_order, exchanged)) return "";
    return fmt::format("f(f({0}, {1}), {2}) is {3}, f(f({0}, {2}), {1}) is {4}", f.text(a),
                       f.text(x), f.text(y), f.text(in_order), f.text(exchanged));
  });
}

std::string grouping_matters(const ComputeNode& reduction) {
  return refuted(reduction, [](Trials& f) -> std::string {
    const Tuple a = f.folded(), b = f.group(), x = f.term();
    // A group without terms.
    const Tuple e = f.identity(), with_none = f.combined(a, e);
    if (!f.same(a, with_none)) {
      return fmt::format("{0} is no identity, as f({1}, {0}) is {2}", f.text(e), f.text(a),
                         f.text(with_none));
    }
    const Tuple in_order = f.combined(f.combined(a, b), x);
    const Tuple grouped = f.combined(a, f.combined(b, x));
    if (f.same(in_order, grouped)) return "";
    return fmt::format("f(f({0}, {1}), {2}) is {3}, f({0}, f({1}, {2})) is {4}", f.text(a),
                       f.text(b), f.text(x), f.text(in_order), f.text(grouped));
  });
}

}  // namespace tw::te
