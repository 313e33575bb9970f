// SPDX-License-Identifier: Apache-2.0
#include "lower/conditions.h"

#include "ir/expr.h"
#include "ir/visit.h"

namespace tw {
namespace {

void collect_conjuncts(const Expr& e, std::vector<Expr>& out) {
  if (const And* a = as<And>(e)) {
    collect_conjuncts(a->a, out);
    collect_conjuncts(a->b, out);
    return;
  }
  const Call* call = as<Call>(e);
  if (call && call->name == "likely" && is<And>(call->args[0])) {
    std::vector<Expr> inner;
    collect_conjuncts(call->args[0], inner);
    for (const Expr& c : inner) out.push_back(likely(c));
    return;
  }
  out.push_back(e);
}

}  // namespace

Expr strip_likely(const Expr& condition) {
  return rewrite(condition, [](const Expr& e) -> Expr {
    const Call* call = as<Call>(e);
    return call && call->name == "likely" ? call->args[0] : Expr();
  });
}

std::vector<Expr> conjuncts(const Expr& condition) {
  std::vector<Expr> result;
  collect_conjuncts(condition, result);
  return result;
}

Expr conjunction(const std::vector<Expr>& conditions) {
  Expr all;
  for (const Expr& e : conditions) all = all.defined() ? make(And{.a = all, .b = e}) : e;
  return all;
}

}  // namespace tw
