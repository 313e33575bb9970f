// SPDX-License-Identifier: Apache-2.0
// Axes of reductions, and the reductions over them.
#include <fmt/format.h>

#include "ir/expr.h"
#include "runtime/error.h"
#include "schedule/te/check_body.h"
#include "schedule/te/operation.h"

namespace tw::te {
namespace {

Expr one_reduction(CommReducer combiner, const Expr& source, const std::vector<IterVar>& axes,
                   const Expr& condition) {
  return reduce(combiner, {source}, axes, condition)[0];
}

// A reducer of single values: `result` combines two variables of the source's type.
template <class F>
CommReducer scalar_reducer(const Expr& identity, F result) {
  const Var x("x", identity.dtype()), y("y", identity.dtype());
  return {.lhs = {x}, .rhs = {y}, .result = {result(x, y)}, .identity = {identity}};
}

void check_reducible(std::string_view what, const Expr& source) {
  TW_CHECK(source.defined(), "operand missing");
  const DType type = source.dtype();
  if (!(type.is_integer() || type.is_float())) {
    raise({.code = ErrorCode::TypeMismatch,
           .what = fmt::format("{} of {}", what, to_string(type)),
           .legal = "int, uint, float or bfloat values, or vectors of them; cast the source"});
  }
}

}  // namespace

IterVar reduce_axis(const Range& domain, const std::string& name) {
  const Expr min = domain.min.defined() ? domain.min : Expr(0);
  check_reduced_domain({min, domain.extent}, name);
  const DType type = domain.extent.dtype();
  const Expr var = make(Variable{.name = name, .type = type, .reduces = true});
  return IterVar(Range{cast(type, min), domain.extent}, Var(as<Variable>(var)),
                 IterKind::Reduction);
}

std::vector<Expr> reduce(const CommReducer& combiner, const std::vector<Expr>& sources,
                         const std::vector<IterVar>& axes, const Expr& condition) {
  const auto bad = [](std::string what, std::string legal) {
    raise({.code = ErrorCode::BadReduction, .what = std::move(what), .legal = std::move(legal)});
  };
  const size_t n = sources.size();
  if (n == 0 || combiner.lhs.size() != n || combiner.rhs.size() != n ||
      combiner.result.size() != n || combiner.identity.size() != n) {
    bad(fmt::format("a reducer of {} components over tuples of {}", combiner.result.size(), n),
        "a source, two variables, a result and an identity for each component");
  }
  for (size_t k = 0; k < n; ++k) {
    const DType type = sources[k].dtype();
    if (combiner.lhs[k].dtype() != type || combiner.rhs[k].dtype() != type ||
        combiner.result[k].dtype() != type || combiner.identity[k].dtype() != type) {
      bad(fmt::format("component {} of the reducer does not have its source's type {}", k,
                      to_string(type)),
          "variables, result and identity of the source's type");
    }
  }
  if (axes.empty()) bad("a reduction over no axes", "at least one axis made by reduce_axis");
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i]->kind != IterKind::Reduction) {
      bad(fmt::format("axis '{}' is not a reduce axis", axes[i].name()),
          "axes made by reduce_axis");
    }
    for (size_t j = 0; j < i; ++j) {
      if (axes[i].var().same_as(axes[j].var())) {
        bad(fmt::format("axis '{}' stands twice", axes[i].name()), "each axis once");
      }
    }
  }
  if (condition.defined() && condition.dtype() != bool_type()) {
    raise({.code = ErrorCode::TypeMismatch,
           .what = fmt::format("a reduction condition of type {}", to_string(condition.dtype())),
           .legal = "a scalar bool condition"});
  }
  std::vector<Expr> result;
  for (size_t k = 0; k < n; ++k) {
    result.push_back(make(Reduce{.combiner = combiner,
                                 .source = sources,
                                 .axis = axes,
                                 .condition = condition,
                                 .value_index = static_cast<int>(k)}));
  }
  return result;
}

Expr sum(const Expr& source, const std::vector<IterVar>& axes, const Expr& condition) {
  check_reducible("sum", source);
  const auto add = [](const Expr& x, const Expr& y) { return x + y; };
  return one_reduction(scalar_reducer(make_zero(source.dtype()), add), source, axes, condition);
}

Expr prod(const Expr& source, const std::vector<IterVar>& axes, const Expr& condition) {
  check_reducible("product", source);
  const auto multiply = [](const Expr& x, const Expr& y) { return x * y; };
  return one_reduction(scalar_reducer(make_const(source.dtype(), 1), multiply), source, axes,
                       condition);
}

Expr max(const Expr& source, const std::vector<IterVar>& axes, const Expr& condition) {
  check_reducible("maximum", source);
  const auto larger = [](const Expr& x, const Expr& y) { return tw::max(x, y); };
  return one_reduction(scalar_reducer(max_identity(source.dtype()), larger), source, axes,
                       condition);
}

Expr min(const Expr& source, const std::vector<IterVar>& axes, const Expr& condition) {
  check_reducible("minimum", source);
  const auto smaller = [](const Expr& x, const Expr& y) { return tw::min(x, y); };
  return one_reduction(scalar_reducer(min_identity(source.dtype()), smaller), source, axes,
                       condition);
}

}  // namespace tw::te
