// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "runtime/error.h"
#include "schedule/te/ragged_length.h"
#include "schedule/te/text.h"

namespace tw::te {
namespace {

// Operations on data in one expression. Arithmetic on axes alone (indices, conditions of padding)
// is the loop nest's and is not counted.
class Counter {
 public:
  explicit Counter(VarSet data = {}) : data_(std::move(data)) {}

  double count(const Expr& e) {
    switch (e->kind) {
      case NodeKind::ProducerLoad:
        return 0;
      case NodeKind::Cast:
        return count(as<Cast>(e)->value);
      case NodeKind::Broadcast:
        return count(as<Broadcast>(e)->value);
      case NodeKind::Not:
        return count(as<Not>(e)->a);
      case NodeKind::Let:
        return let(*as<Let>(e));
      case NodeKind::Select: {
        const Select* op = as<Select>(e);
        return choice(op->condition, op->true_value, op->false_value);
      }
      case NodeKind::Call: {
        const Call* op = as<Call>(e);
        if (op->name == "if_then_else") return choice(op->args[0], op->args[1], op->args[2]);
        const bool free = op->name == "likely" || op->name == "reinterpret" ||
                          op->name == "saturating_cast" || !on_data(e);
        double n = free ? 0 : e.dtype().lanes * (op->name == "fma" ? 2 : 1);
        for (const Expr& a : op->args) n += count(a);
        return n;
      }
#define TW_COUNT_BINARY(Name) \
  case NodeKind::Name:        \
    return binary(e, as<Name>(e)->a, as<Name>(e)->b);
        TW_COUNT_BINARY(Add)
        TW_COUNT_BINARY(Sub)
        TW_COUNT_BINARY(Mul)
        TW_COUNT_BINARY(Div)
        TW_COUNT_BINARY(Mod)
        TW_COUNT_BINARY(FloorDiv)
        TW_COUNT_BINARY(FloorMod)
        TW_COUNT_BINARY(Min)
        TW_COUNT_BINARY(Max)
        TW_COUNT_BINARY(Equal)
        TW_COUNT_BINARY(NotEqual)
        TW_COUNT_BINARY(Less)
        TW_COUNT_BINARY(LessEqual)
        TW_COUNT_BINARY(Greater)
        TW_COUNT_BINARY(GreaterEqual)
#undef TW_COUNT_BINARY
      case NodeKind::And:
        return count(as<And>(e)->a) + count(as<And>(e)->b);
      case NodeKind::Or:
        return count(as<Or>(e)->a) + count(as<Or>(e)->b);
      default:
        return 0;
    }
  }

 private:
  // Floats, and whatever is made of tensors' elements.
  bool on_data(const Expr& e) const {
    if (e.dtype().is_float()) return true;
    bool found = false;
    for_each_expr(e, [&](const Expr& sub) {
      found |= is<ProducerLoad>(sub) || sub.dtype().is_float();
      if (const Variable* v = as<Variable>(sub)) found |= data_.count(Var(v)) != 0;
    });
    return found;
  }
  double binary(const Expr& e, const Expr& a, const Expr& b) {
    return (on_data(e) ? e.dtype().lanes : 0) + count(a) + count(b);
  }
  double let(const Let& op) {
    if (on_data(op.value)) data_.insert(op.var);
    const double value = count(op.value);
    return value + count(op.body);
  }
  double choice(const Expr& condition, const Expr& yes, const Expr& no) {
    return count(condition) + std::max(count(yes), count(no));
  }

  VarSet data_;
};

double points(const OperationNode& op) {
  double n = 1;
  const auto extents = expected_extents(op);
  for (size_t k = 0; k < extents.size(); ++k) {
    if (!extents[k]) {
      raise({.code = ErrorCode::SymbolicExtent,
             .what = "operations cannot be counted over a symbolic extent",
             .stage = op.name,
             .axis = op.root_axes()[k].name(),
             .legal = "constant shapes"});
    }
    n *= static_cast<double>(*extents[k]);
  }
  return n;
}

double count_operation(const Operation& op) {
  double once = 0;
  for (const Expr& e : op->evaluated()) {
    const Reduce* reduce = as<Reduce>(e);
    if (reduce == nullptr) {
      once += Counter().count(e);
      continue;
    }
    VarSet data;
    for (const Var& v : reduce->combiner.lhs) data.insert(v);
    for (const Var& v : reduce->combiner.rhs) data.insert(v);
    for (const Expr& result : reduce->combiner.result) once += Counter(data).count(result);
    for (const Expr& source : reduce->source) once += Counter().count(source);
    if (reduce->condition.defined()) once += Counter().count(reduce->condition);
  }
  return once * points(*op);
}

}  // namespace

double count_operations(const Program& program) {
  double n = 0;
  for (const Operation& op : operations(program.outputs)) {
    if (!op->is_placeholder()) n += count_operation(op);
  }
  return n;
}

}  // namespace tw::te
