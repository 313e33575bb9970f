// SPDX-License-Identifier: Apache-2.0
#include "schedule/te/ragged_length.h"

#include <algorithm>

#include "ir/arithmetic/analyzer.h"
#include "ir/expr.h"
#include "ir/visit.h"
#include "schedule/te/ragged.h"

namespace tw::te {
namespace {

class Expected : public Mutator {
 public:
  Expected(const std::function<Expr(const Var&)>& middle, int64_t elements)
      : middle_(middle), elements_(elements) {}

 protected:
  using Mutator::on;

  Expr on(const Variable& op, const Expr& self) override {
    const Expr value = middle_(Var(&op));
    return value.defined() ? cast(op.type, value) : self;
  }
  Expr on(const ProducerLoad& op, const Expr& self) override {
    const std::vector<Expr>& shape = op.producer->output_shape(op.value_index);
    const auto size = shape.empty() ? std::nullopt : as_const_int(shape.back());
    if (!op.dtype.is_integer() || !size || op.indices.empty()) return self;
    const auto at = as_const_int(simplify(mutate(op.indices.back())));
    if (!at) return self;
    const int64_t last = std::max<int64_t>(*size - 1, 1);
    return make_const(op.dtype, std::clamp<int64_t>(*at, 0, last) * elements_ / last);
  }

 private:
  const std::function<Expr(const Var&)>& middle_;
  int64_t elements_;
};

int64_t least_extent(const ProducerLoad& load, const Var& var, int64_t known) {
  const std::vector<Expr>& shape = load.producer->output_shape(load.value_index);
  for (size_t d = 0; d < load.indices.size(); ++d) {
    if (!moves_with(load.indices[d], var)) continue;
    const int64_t extent = as_const_int(shape[d]).value_or(0);
    if (extent > 0) known = known == 0 ? extent : std::min(known, extent);
  }
  return known;
}

template <class Root>
int64_t elements_in(const Root& body, const Var& var) {
  int64_t least = 0;
  for_each_expr(body, [&](const Expr& e) {
    if (const ProducerLoad* load = as<ProducerLoad>(e)) least = least_extent(*load, var, least);
  });
  return least;
}

}  // namespace

bool moves_with(const Expr& e, const Var& var) {
  if (is<ProducerLoad>(e)) return false;
  if (e.same_as(var)) return true;
  bool found = false;
  for_each_operand(e, [&](const Expr& operand) { found = found || moves_with(operand, var); });
  return found;
}

int64_t elements_along(const Stmt& body, const Var& var) { return elements_in(body, var); }
int64_t elements_along(const Expr& body, const Var& var) { return elements_in(body, var); }

int64_t expected_length(const Expr& extent, const std::function<Expr(const Var&)>& middle,
                        int64_t elements) {
  const Expr length = simplify(Expected(middle, elements).mutate(extent));
  return std::max<int64_t>(as_const_int(length).value_or(1), 1);
}

std::vector<std::optional<int64_t>> expected_extents(const OperationNode& op) {
  const std::vector<IterVar>& axes = op.root_axes();
  std::vector<std::optional<int64_t>> extents;
  const auto middle = [&](const Var& v) -> Expr {
    for (size_t k = 0; k < extents.size(); ++k) {
      if (axes[k].var().same_as(v) && extents[k]) return make_const(int_type(64), *extents[k] / 2);
    }
    return {};
  };
  const std::vector<Expr> terms = op.evaluated();
  for (const IterVar& axis : axes) {
    if (!is_ragged(op, axis)) {
      extents.push_back(as_const_int(simplify(axis->domain.extent)));
      continue;
    }
    int64_t elements = 0;
    for (const Expr& e : terms) elements = std::max(elements, elements_along(e, axis.var()));
    extents.push_back(expected_length(axis->domain.extent, middle, elements));
  }
  return extents;
}

}  // namespace tw::te
