// SPDX-License-Identifier: Apache-2.0
#include "schedule/te/start.h"

#include <fmt/format.h>

#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "runtime/error.h"

namespace tw::te {
namespace {

// Holds both between the expression and the compute that it becomes the body of: a call of the
// reduction's component and the values of all components. No compute keeps it.
constexpr const char* kStart = "te.starting_from";

const Call* start_of(const Expr& body) {
  const Call* call = as<Call>(body);
  return call != nullptr && call->name == kStart ? call : nullptr;
}

[[noreturn]] void bad(std::string what, std::string legal) {
  raise({.code = ErrorCode::BadReduction, .what = std::move(what), .legal = std::move(legal)});
}

void check(const Reduce& reduce, const std::vector<Expr>& init) {
  if (init.size() != reduce.source.size()) {
    bad(fmt::format("init has {} values for {} components", init.size(), reduce.source.size()),
        "one for each component, or none");
  }
  for (size_t k = 0; k < init.size(); ++k) {
    TW_CHECK(init[k].defined(), "operand missing");
    if (init[k].dtype() != reduce.source[k].dtype()) {
      bad(fmt::format("component {} starts from {} and its source is {}", k,
                      to_string(init[k].dtype()), to_string(reduce.source[k].dtype())),
          "init of the source's type; cast it");
    }
    for (const IterVar& axis : reduce.axis) {
      if (!uses(init[k], axis->var)) continue;
      bad(fmt::format("init depends on '{}', over which is reduced", axis.name()),
          "an expression of the axes of the compute");
    }
    for_each_part(init[k], [](const Expr& part) {
      if (is<Reduce>(part)) bad("a reduction inside of init", "a compute of its own for it");
    });
  }
}

}  // namespace

std::vector<Expr> starting_from(const std::vector<Expr>& reduction, const std::vector<Expr>& init) {
  if (init.empty()) return reduction;
  std::vector<Expr> result;
  for (const Expr& component : reduction) {
    const Reduce* reduce = as<Reduce>(component);
    if (reduce == nullptr) bad("init of what is no reduction", "te.sum(…), or another reducer");
    check(*reduce, init);
    std::vector<Expr> args = {component};
    args.insert(args.end(), init.begin(), init.end());
    result.push_back(call(component.dtype(), kStart, std::move(args), CallKind::PureExtern));
  }
  return result;
}

Expr starting_from(const Expr& reduction, const Expr& init) {
  return init.defined() ? starting_from(std::vector<Expr>{reduction}, {init})[0] : reduction;
}

std::vector<Expr> started_from(const OperationNode& op) {
  if (!op.is_reduction()) return {};
  std::vector<Expr> evaluated = op.evaluated();
  if (evaluated.empty() || !is<Reduce>(evaluated[0])) return {};
  evaluated.erase(evaluated.begin());
  return evaluated;
}

std::vector<Expr> taken_apart(const std::vector<Expr>& bodies, std::vector<Expr>& init) {
  std::vector<Expr> result;
  for (const Expr& body : bodies) {
    const Call* start = start_of(body);
    result.push_back(start == nullptr ? body : start->args[0]);
    if (start != nullptr && init.empty()) init.assign(start->args.begin() + 1, start->args.end());
  }
  return result;
}

}  // namespace tw::te
