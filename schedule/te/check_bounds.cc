// SPDX-License-Identifier: Apache-2.0
#include "schedule/te/check_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ir/arithmetic/analyzer.h"
#include "ir/expr.h"
#include "ir/guarded_visitor.h"
#include "ir/interpret.h"
#include "ir/print.h"
#include "ir/share.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "schedule/te/ragged.h"

namespace tw::te {
namespace {

// Points that are looked at one by one, of one index. A body is checked once, so that this is a
// fraction of what compiling takes.
constexpr int64_t kMostPoints = 1 << 18;

struct Interval {
  int64_t low = 0, high = 0;
  bool inside(int64_t extent) const { return low >= 0 && high < extent; }
};

// The values of an index, of which both ends are taken; nothing where that is not plain: where it
// is no sum of constants and of multiples of axes, each of them once.
class Ends {
 public:
  explicit Ends(const DomainMap& ranges) : ranges_(ranges) {}

  std::optional<Interval> operator()(const Expr& e) {
    if (const auto c = as_const_int(e)) return Interval{*c, *c};
    if (const Variable* v = as<Variable>(e)) return of_axis(Var(v));
    if (const Add* op = as<Add>(e)) {
      const auto a = (*this)(op->a), b = (*this)(op->b);
      if (a && b) return Interval{a->low + b->low, a->high + b->high};
    } else if (const Sub* op = as<Sub>(e)) {
      const auto a = (*this)(op->a), b = (*this)(op->b);
      if (a && b) return Interval{a->low - b->high, a->high - b->low};
    } else if (const Mul* op = as<Mul>(e)) {
      const auto a = (*this)(op->a);
      const auto c = as_const_int(op->b);
      constexpr int64_t kLarge = INT32_MAX;
      if (a && c && *c <= kLarge && *c >= -kLarge && a->low >= -kLarge && a->high <= kLarge) {
        return Interval{std::min(a->low * *c, a->high * *c), std::max(a->low * *c, a->high * *c)};
      }
    }
    return std::nullopt;
  }

 private:
  std::optional<Interval> of_axis(const Var& v) {
    if (!seen_.insert(v).second) return std::nullopt;  // its two places depend on each other
    const auto it = ranges_.find(v);
    if (it == ranges_.end()) return std::nullopt;
    const auto min = as_const_int(it->second.min), extent = as_const_int(it->second.extent);
    if (!min || !extent) return std::nullopt;
    return Interval{*min, *min + *extent - 1};
  }

  const DomainMap& ranges_;
  VarSet seen_;
};

bool reads_data(const Expr& e) {
  bool found = false;
  for_each_expr(e, [&](const Expr& sub) {
    const Call* call = as<Call>(sub);
    found |= is<ProducerLoad>(sub) || is<Load>(sub) ||
             (call != nullptr && call->call_kind != CallKind::PureIntrinsic);
  });
  return found;
}

// All points of some axes of constant ranges, one after the other.
class Points {
 public:
  Points(std::vector<Var> vars, const DomainMap& ranges) : vars_(std::move(vars)) {
    for (const Var& v : vars_) {
      const Range& range = ranges.at(v);
      const int64_t min = *as_const_int(range.min), extent = *as_const_int(range.extent);
      ends_.push_back({min, min + extent - 1});
      at_.push_back(min);
      count_ =
          extent <= 0 ? 0 : (count_ > kMostPoints / extent ? kMostPoints + 1 : count_ * extent);
    }
  }
  const std::vector<Var>& vars() const { return vars_; }
  bool few() const { return count_ <= kMostPoints; }
  bool none() const { return count_ == 0; }
  void place(CompiledExpr& e) const {
    for (size_t k = 0; k < at_.size(); ++k) e.set(k, at_[k]);
  }
  bool next() {
    for (size_t k = at_.size(); k-- > 0;) {
      if (at_[k]++ < ends_[k].high) return true;
      at_[k] = ends_[k].low;
    }
    return false;
  }
  std::string text() const {
    std::string result;
    for (size_t k = 0; k < at_.size(); ++k) {
      result += fmt::format("{}{} is {}", k == 0 ? "" : ", ", vars_[k].name(), at_[k]);
    }
    return result;
  }

 private:
  std::vector<Var> vars_;
  std::vector<Interval> ends_;
  std::vector<int64_t> at_;
  int64_t count_ = 1;
};

class Check : public GuardedVisitor {
 public:
  Check(const Operation& op, const DomainMap& ranges, const VarMap& values)
      : op_(op), values_(values) {
    for (const IterVar& axis : op->root_axes()) {
      const auto given = ranges.find(axis->var);
      ranges_[axis->var] = given == ranges.end() ? range_of(axis) : given->second;
      analyzer_.bind(axis->var, ranges_[axis->var]);
    }
    for (const auto& [var, range] : ranges) {
      if (ranges_.emplace(var, range).second) analyzer_.bind(var, range);
    }
  }

  std::optional<DoubtfulRead> run() {
    const auto is_empty = [&](const IterVar& axis) {
      return is_const_int(ranges_.at(axis->var).extent, 0);
    };
    if (std::ranges::any_of(op_->data_axes(), is_empty)) return {};  // no element is computed
    computed(0);
    return std::move(found_);
  }

 protected:
  using GuardedVisitor::on;

  void visit_given(const Expr& condition, const Expr& value) override {
    if (reads_data(value)) given(condition, [&] { visit(value); });
  }
  void on(const Reduce& op) override {
    const auto is_empty = [&](const IterVar& axis) {
      return is_const_int(ranges_.at(axis->var).extent, 0);
    };
    if (std::ranges::any_of(op.axis, is_empty)) return;  // no term is evaluated
    for (const Expr& e : ragged_ends(*op_)) visit(e);
    terms(op, 0);
  }
  // In indices and conditions a variable is what it stands for, unless that has become large: then
  // nothing is known of it.
  void on(const Let& op) override {
    visit(op.value);
    const bool known = !op.value.dtype().is_float() && !has_more_parts_than(op.value, kMostParts);
    visit(known ? substitute(op.body, {{op.var, op.value}}) : op.body);
  }
  void on(const ProducerLoad& op) override {
    const std::vector<Expr> shape = op.producer->output_shape(op.value_index);
    for (size_t d = 0; d < shape.size() && !certain(); ++d) {
      if (op.indices[d].defined()) judge(op, d, shape[d]);
    }
    GuardedVisitor::on(op);
  }

 private:
  // What is computed, inside the domains of the data axes from number k on.
  void computed(size_t k) {
    if (k == op_->data_axes().size()) {
      for (const Expr& e : op_->evaluated()) visit(values_.empty() ? e : substitute(e, values_));
      return;
    }
    const IterVar& axis = op_->data_axes()[k];
    const auto value = values_.find(axis->var);
    if (value == values_.end()) return computed(k + 1);
    const Range& own = axis->domain;
    given(value->second >= own.min,
          [&] { given(value->second < own.min + own.extent, [&] { computed(k + 1); }); });
  }
  // An axis that has another domain for each element runs over all of them, and its terms are those
  // inside of the element's own.
  Range range_of(const IterVar& axis) {
    if (!is_ragged(*op_, axis)) return axis->domain;
    const Range whole = hull(axis->domain, ranges_, analyzer_);
    if (!whole.min.defined()) return axis->domain;
    hulls_.push_back(axis);
    return whole;
  }
  // Of a reduction, inside the domains of the axes from `hulls_[k]` on.
  void terms(const Reduce& op, size_t k) {
    if (k < hulls_.size()) {
      const IterVar& axis = hulls_[k];
      const Range& own = axis->domain;
      return given(axis->var >= own.min && axis->var < own.min + own.extent,
                   [&] { terms(op, k + 1); });
    }
    visit(op.condition);
    given(op.condition.defined() ? op.condition : make_bool(true), [&] {
      for (const Expr& e : op.source) visit(e);
    });
  }

  // What makes a point of the reads be reached.
  struct Guard {
    Expr condition;
    bool evaluable;  // of axes of constant ranges
  };

  bool certain() const { return found_ && found_->reach == Reach::Outside; }

  template <class F>
  void given(const Expr& condition, F inside) {
    if (is_const_int(condition, 1) || (!values_.empty() && analyzer_.can_prove(condition)))
      return inside();
    if (!reads_data(condition) && is_zero(analyzer_.simplify(condition))) return;
    const bool evaluable = !reads_data(condition) && constant_ranges(free_vars(condition));
    guards_.push_back({condition, evaluable});
    if (reads_data(condition)) {
      inside();
    } else {
      const Analyzer::Scope scope = analyzer_.assume(condition);
      inside();
    }
    guards_.pop_back();
  }

  bool constant_ranges(const std::vector<Var>& vars) const {
    return std::ranges::all_of(vars, [&](const Var& v) {
      const auto it = ranges_.find(v);
      return it != ranges_.end() && as_const_int(it->second.min) && as_const_int(it->second.extent);
    });
  }

  void judge(const ProducerLoad& read, size_t d, const Expr& extent) {
    const Expr& index = read.indices[d];
    const auto size = as_const_int(extent);
    const auto plain = Ends(ranges_)(index);
    if (size && plain && plain->inside(*size)) return;
    if (reads_data(index)) return;
    if (!size || !constant_ranges(free_vars(index))) return symbolic(read, d, extent);
    const Expr simple = analyzer_.simplify(index);
    const ConstBound bound = analyzer_.const_bound(simple);
    if (bound.least >= 0 && bound.greatest < *size) return;
    const Expr zero = make_zero(simple.dtype());
    if (!guards_.empty() && analyzer_.can_prove(simple >= zero) &&
        analyzer_.can_prove(simple < cast(simple.dtype(), extent))) {
      return;
    }
    const auto ends = Ends(ranges_)(simple);
    if (ends && ends->inside(*size)) return;
    if (guards_.empty() && ends) return report(read, d, *size, Reach::Outside, values(*ends));
    by_points(read, d, simple, *size);
  }

  // Looks at every point of the axes that the index depends on, and of those that the guards which
  // share an axis with it do.
  void by_points(const ProducerLoad& read, size_t d, const Expr& index, int64_t size) {
    std::vector<Var> vars = free_vars(index);
    const VarSet own(vars.begin(), vars.end());
    std::vector<Expr> conditions;
    bool guarded = false;  // by what is not evaluated here
    for (const Guard& guard : guards_) {
      if (!uses_any(guard.condition, own)) continue;
      if (!guard.evaluable) {
        guarded = true;
        continue;
      }
      conditions.push_back(guard.condition);
      for (const Var& v : free_vars(guard.condition)) {
        if (std::ranges::none_of(vars, [&](const Var& known) { return known.same_as(v); }))
          vars.push_back(v);
      }
    }
    Points points(vars, ranges_);
    if (points.none()) return;
    if (!points.few()) {
      if (guarded || !conditions.empty()) return;
      const ConstBound bound = analyzer_.const_bound(index);
      const bool known = bound.least != ConstBound::kMin && bound.greatest != ConstBound::kMax;
      return report(read, d, size, Reach::Unproven,
                    known ? fmt::format("may go from {} to {}", bound.least, bound.greatest)
                          : "may be any number");
    }
    CompiledExpr value(index, vars);
    std::vector<CompiledExpr> tests;
    for (const Expr& c : conditions) tests.emplace_back(c, vars);
    do {
      points.place(value);
      const int64_t at = value().i;
      if (at >= 0 && at < size) continue;
      const bool reached = std::ranges::all_of(tests, [&](CompiledExpr& test) {
        points.place(test);
        return test().i != 0;
      });
      if (!reached) continue;
      if (guarded) return;
      // A guard of other axes may never hold.
      const bool sure = conditions.size() == guards_.size();
      return report(read, d, size, sure ? Reach::Outside : Reach::Unproven,
                    fmt::format("is {} where {}", at, points.text()));
    } while (points.next());
  }

  // Where extents are symbols. Nothing is refused but what is outside whatever they are: at one of
  // the corners of the axes, which are there if the loops run at all. In terms of other variables
  // corners say nothing, and what is not proven is.
  void symbolic(const ProducerLoad& read, size_t d, const Expr& extent) {
    if (!values_.empty()) {
      const Expr at = analyzer_.simplify(read.indices[d]);
      const bool inside = analyzer_.can_prove(at >= make_zero(at.dtype())) &&
                          analyzer_.can_prove(at < cast(at.dtype(), extent));
      if (!inside) report(read, d, extent, Reach::Unproven, fmt::format("is {}", to_string(at)));
      return;
    }
    if (!guards_.empty()) return;
    const Expr index = read.indices[d];
    for (const bool last : {false, true}) {
      VarMap corner;
      for (const auto& [var, range] : ranges_) {
        const Expr end = range.min + (range.extent - make_const(range.extent.dtype(), 1));
        corner[var] = cast(var.dtype(), last ? end : range.min);
      }
      const Expr at = analyzer_.simplify(substitute(index, corner));
      const DType type = at.dtype();
      if (!analyzer_.can_prove(at < make_zero(type)) &&
          !analyzer_.can_prove(at >= cast(type, extent))) {
        continue;
      }
      return report(read, d, extent, Reach::Outside, fmt::format("is {}", to_string(at)));
    }
  }

  static std::string values(const Interval& v) {
    return v.low == v.high ? fmt::format("is {}", v.low)
                           : fmt::format("goes from {} to {}", v.low, v.high);
  }

  void report(const ProducerLoad& read, size_t d, const Expr& extent, Reach reach,
              const std::string& values) {
    const Expr last = analyzer_.simplify(extent - make_const(extent.dtype(), 1));
    report(read, d, to_string(last), reach, values);
  }
  void report(const ProducerLoad& read, size_t d, int64_t size, Reach reach,
              const std::string& values) {
    report(read, d, std::to_string(size - 1), reach, values);
  }
  void report(const ProducerLoad& read, size_t d, const std::string& last, Reach reach,
              const std::string& values) {
    if (found_ && (certain() || reach == Reach::Unproven)) return;
    std::string axes;
    for (const Var& v : free_vars(read.indices[d])) {
      axes += fmt::format("{}{}", axes.empty() ? "" : ", ", v.name());
    }
    const char* proof = reach == Reach::Outside ? "" : ", for all that can be proven";
    found_ = DoubtfulRead{
        .reach = reach,
        .error = {.code = ErrorCode::OutOfBounds,
                  .what = fmt::format("index {} of '{}', {}, {}{}", d, read.producer->name,
                                      to_string(read.indices[d]), values, proof),
                  .stage = op_->name,
                  .axis = axes,
                  .where = "",
                  .legal = fmt::format("0 to {}; te.if_then_else around what may lie outside{}",
                                       last, reach == Reach::Outside ? "" : kTestedAtRunTime)}};
  }

  static constexpr int kMostParts = 1000;
  static constexpr const char* kTestedAtRunTime =
      ", or the option check_bounds of lower and build, which tests indices when the kernel runs";

  const Operation& op_;
  const VarMap& values_;
  DomainMap ranges_;
  Analyzer analyzer_;
  std::vector<IterVar> hulls_;
  std::vector<Guard> guards_;
  std::optional<DoubtfulRead> found_;
};

}  // namespace

std::optional<DoubtfulRead> doubtful_read(const Operation& op, const DomainMap& ranges,
                                          const VarMap& values) {
  if (!op->has_points()) return std::nullopt;
  return Check(op, ranges, values).run();
}

}  // namespace tw::te
