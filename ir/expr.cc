// SPDX-License-Identifier: Apache-2.0
#include "ir/expr.h"

#include <fmt/format.h>

#include "ir/intrinsics.h"
#include "ir/scalar.h"
#include "runtime/error.h"

namespace tw {
namespace {

[[noreturn]] void mismatch(std::string_view operation, const Expr& a, const Expr& b) {
  raise({.code = ErrorCode::TypeMismatch,
         .what =
             fmt::format("{} of {} and {}", operation, to_string(a.dtype()), to_string(b.dtype())),
         .legal = "operands of one type; cast one of them"});
}

// The type both operands take, or nothing.
std::optional<DType> common_element(DType a, DType b) {
  if (a == b) return a;
  if (a.is_handle() || b.is_handle()) return std::nullopt;
  if (a.is_bool()) return b;
  if (b.is_bool()) return a;
  if (a.is_float() && b.is_integer()) return a;
  if (b.is_float() && a.is_integer()) return b;
  if (a.is_float() && b.is_float()) {
    if (a.bits != b.bits) return a.bits > b.bits ? a : b;
    return std::nullopt;  // float16 with bfloat16
  }
  if (a.code == b.code) return a.bits > b.bits ? a : b;
  return std::nullopt;  // signed with unsigned
}

// Whether every value of the integers or bools `from` is one of `type`.
bool holds(DType type, DType from) {
  if (from.is_float() || type.is_float()) return false;
  if (from.is_bool()) return true;
  return from.is_int() == type.is_int() ? from.bits <= type.bits
                                        : from.is_uint() && from.bits < type.bits;
}

void unify(std::string_view operation, Expr& a, Expr& b) {
  TW_CHECK(a.defined() && b.defined(), "operand missing");
  DType ta = a.dtype(), tb = b.dtype();
  if (ta == tb) return;
  if (ta.lanes != tb.lanes) {
    if (ta.lanes == 1) {
      a = broadcast(a, tb.lanes);
    } else if (tb.lanes == 1) {
      b = broadcast(b, ta.lanes);
    } else {
      mismatch(operation, a, b);
    }
  }
  const DType ea = ta.element(), eb = tb.element();
  if (ea == eb) return;
  // A constant takes the other operand's type when it is a plain number for it.
  const int lanes = a.dtype().lanes;
  if (is_const(b) && !(eb.is_float() && !ea.is_float()) && !ea.is_bool()) {
    b = cast(ea.with_lanes(lanes), b);
  } else if (is_const(a) && !(ea.is_float() && !eb.is_float()) && !eb.is_bool()) {
    a = cast(eb.with_lanes(lanes), a);
  } else if (auto common = common_element(ea, eb)) {
    a = cast(common->with_lanes(lanes), a);
    b = cast(common->with_lanes(lanes), b);
  } else {
    mismatch(operation, a, b);
  }
}

// Of operands of one type.
template <class T>
Expr node_of(Expr a, Expr b) {
  if (Expr folded = fold(T::node_kind, a, b); folded.defined()) return folded;
  T node;
  node.a = std::move(a);
  node.b = std::move(b);
  return make(std::move(node));
}

template <class T>
Expr binary(std::string_view operation, Expr a, Expr b) {
  unify(operation, a, b);
  return node_of<T>(std::move(a), std::move(b));
}

void require_integers(std::string_view operation, const Expr& a, const Expr& b) {
  for (const Expr* e : {&a, &b}) {
    if (!e->dtype().is_integer() && !e->dtype().is_bool()) {
      raise({.code = ErrorCode::TypeMismatch,
             .what = fmt::format("{} of {}", operation, to_string(e->dtype())),
             .legal = "integer operands"});
    }
  }
}

void refuse_zero(std::string_view operation, const Expr& b) {
  if (b.dtype().is_integer() && is_zero(b)) {
    raise({.code = ErrorCode::DivisionByZero, .what = fmt::format("{} by zero", operation)});
  }
}

}  // namespace

Expr cast(DType type, const Expr& value) {
  TW_CHECK(value.defined(), "operand missing");
  DType from = value.dtype();
  if (type.lanes == 1 && from.lanes > 1) type = type.with_lanes(from.lanes);
  if (from == type) return value;
  if (from.lanes == 1 && type.lanes > 1) return broadcast(cast(type.element(), value), type.lanes);
  if (const Broadcast* b = as<Broadcast>(value)) {
    return broadcast(cast(type.element(), b->value), b->lanes);
  }
  if (const IntImm* i = as<IntImm>(value); i && !type.is_handle()) {
    if (type.is_float()) {
      return make_const_float(type, scalar::convert(i->type, type, scalar::of_int(i->value)).f);
    }
    return make_const(type, type.is_bool() ? i->value != 0 : i->value);
  }
  if (const FloatImm* f = as<FloatImm>(value)) {
    if (type.is_float()) return make_const_float(type, f->value);
    // Only where C++ defines the conversion.
    if (type.is_integer() && std::fabs(f->value) < 2147483648.0 && type.bits >= 32 &&
        (type.is_int() || f->value >= 0)) {
      return make_const(type, static_cast<int64_t>(f->value));
    }
  }
  return make(Cast{.type = type, .value = value});
}

Expr saturating_cast(DType type, const Expr& value) {
  TW_CHECK(value.defined(), "operand missing");
  const DType from = value.dtype();
  if (type.lanes == 1 && from.lanes > 1) type = type.with_lanes(from.lanes);
  const auto is_number = [](DType t) { return t.is_integer() || t.is_float(); };
  if (!is_number(type) || !(is_number(from) || from.is_bool())) {
    raise({.code = ErrorCode::TypeMismatch,
           .what = fmt::format("a saturating cast of {} to {}", to_string(from), to_string(type)),
           .legal = "from numbers or bool to numbers"});
  }
  if (type.is_float() || holds(type, from)) return cast(type, value);
  if (from.lanes == 1 && type.lanes > 1) {
    return broadcast(saturating_cast(type.element(), value), type.lanes);
  }
  if (const Broadcast* b = as<Broadcast>(value)) {
    return broadcast(saturating_cast(type.element(), b->value), b->lanes);
  }
  const FloatImm* f = as<FloatImm>(value);
  const IntImm* i = as<IntImm>(value);
  if (f != nullptr || i != nullptr) {
    const auto constant = f != nullptr ? scalar::of_float(f->value) : scalar::of_int(i->value);
    return make_const(type, scalar::saturate(from, type, constant).i);
  }
  return call(type, "saturating_cast", {value}, CallKind::PureIntrinsic);
}

Expr operator+(const Expr& left, const Expr& right) {
  Expr a = left, b = right;
  unify("addition", a, b);
  // x + 0.0 is not x when x is -0.0.
  if (!a.dtype().is_float()) {
    if (is_zero(b)) return a;
    if (is_zero(a)) return b;
  }
  return node_of<Add>(std::move(a), std::move(b));
}

Expr operator-(const Expr& left, const Expr& right) {
  Expr a = left, b = right;
  unify("subtraction", a, b);
  if (!a.dtype().is_float() && is_zero(b)) return a;
  return node_of<Sub>(std::move(a), std::move(b));
}

Expr operator-(const Expr& a) {
  if (a.dtype().is_float()) {
    // -1 * x keeps the sign of zero, 0 - x does not.
    if (auto v = as_const_float(a)) return make_const_float(a.dtype(), -*v);
    return a * make_const(a.dtype(), -1);
  }
  return make_zero(a.dtype()) - a;
}

Expr operator*(const Expr& left, const Expr& right) {
  Expr a = left, b = right;
  unify("multiplication", a, b);
  if (is_value(b, 1)) return a;
  if (is_value(a, 1)) return b;
  if (!a.dtype().is_float()) {
    if (is_zero(a)) return a;
    if (is_zero(b)) return b;
  }
  return node_of<Mul>(std::move(a), std::move(b));
}

Expr div(const Expr& a, const Expr& b) {
  refuse_zero("division", b);
  Expr e = binary<Div>("division", a, b);
  const Div* d = as<Div>(e);
  return d && is_value(d->b, 1) ? d->a : e;
}

Expr trunc_div(const Expr& a, const Expr& b) {
  require_integers("truncated division", a, b);
  return div(a, b);
}

Expr trunc_mod(const Expr& a, const Expr& b) {
  require_integers("truncated modulo", a, b);
  refuse_zero("modulo", b);
  Expr e = binary<Mod>("modulo", a, b);
  const Mod* m = as<Mod>(e);
  return m && is_one(m->b) ? make_zero(m->dtype) : e;
}

Expr fmod(const Expr& a, const Expr& b) {
  Expr x = a, y = b;
  unify("fmod", x, y);
  return x.dtype().is_float() ? call("fmod", {x, y}) : trunc_mod(x, y);
}

Expr floor_div(const Expr& a, const Expr& b) {
  refuse_zero("division", b);
  if (a.dtype().is_float() || b.dtype().is_float()) return call("floor", {div(a, b)});
  Expr e = binary<FloorDiv>("floor division", a, b);
  const FloorDiv* d = as<FloorDiv>(e);
  if (!d) return e;
  return is_one(d->b) ? d->a : (is_zero(d->a) ? d->a : e);
}

Expr floor_mod(const Expr& a, const Expr& b) {
  refuse_zero("modulo", b);
  if (a.dtype().is_float() || b.dtype().is_float()) return a - floor_div(a, b) * b;
  Expr e = binary<FloorMod>("floor modulo", a, b);
  const FloorMod* m = as<FloorMod>(e);
  if (!m) return e;
  return is_one(m->b) || is_zero(m->a) ? make_zero(m->dtype) : e;
}

Expr min(const Expr& a, const Expr& b) { return a.same_as(b) ? a : binary<Min>("minimum", a, b); }
Expr max(const Expr& a, const Expr& b) { return a.same_as(b) ? a : binary<Max>("maximum", a, b); }
Expr operator==(const Expr& a, const Expr& b) { return binary<Equal>("comparison", a, b); }
Expr operator!=(const Expr& a, const Expr& b) { return binary<NotEqual>("comparison", a, b); }
Expr operator<(const Expr& a, const Expr& b) { return binary<Less>("comparison", a, b); }
Expr operator<=(const Expr& a, const Expr& b) { return binary<LessEqual>("comparison", a, b); }
Expr operator>(const Expr& a, const Expr& b) { return binary<Greater>("comparison", a, b); }
Expr operator>=(const Expr& a, const Expr& b) { return binary<GreaterEqual>("comparison", a, b); }

Expr operator&&(const Expr& a, const Expr& b) {
  Expr e = binary<And>("and", cast(bool_type(), a), cast(bool_type(), b));
  const And* n = as<And>(e);
  if (!n) return e;
  if (is_const(n->a)) return is_zero(n->a) ? n->a : n->b;
  if (is_const(n->b)) return is_zero(n->b) ? n->b : n->a;
  return e;
}

Expr operator||(const Expr& a, const Expr& b) {
  Expr e = binary<Or>("or", cast(bool_type(), a), cast(bool_type(), b));
  const Or* n = as<Or>(e);
  if (!n) return e;
  if (is_const(n->a)) return is_zero(n->a) ? n->b : n->a;
  if (is_const(n->b)) return is_zero(n->b) ? n->a : n->b;
  return e;
}

Expr operator!(const Expr& a) {
  const Expr b = cast(bool_type(), a);
  if (auto v = as_const_int(b)) return make_const(b.dtype(), !*v);
  if (const Not* n = as<Not>(b)) return n->a;
  return make(Not{.a = b});
}

Expr select(const Expr& condition, const Expr& true_value, const Expr& false_value) {
  Expr t = true_value, f = false_value;
  unify("select", t, f);
  if (auto v = as_const_int(condition)) return *v ? t : f;
  return make(Select{.condition = condition, .true_value = t, .false_value = f});
}

Expr if_then_else(const Expr& condition, const Expr& true_value, const Expr& false_value) {
  Expr t = true_value, f = false_value;
  unify("if_then_else", t, f);
  if (auto v = as_const_int(condition)) return *v ? t : f;
  return call(t.dtype(), "if_then_else", {condition, t, f}, CallKind::PureIntrinsic);
}

Expr likely(const Expr& condition) {
  if (is_const(condition)) return condition;
  return call(condition.dtype(), "likely", {condition}, CallKind::PureIntrinsic);
}

Expr broadcast(const Expr& value, int lanes) {
  if (lanes == 1 || value.dtype().lanes == lanes) return value;
  return make(Broadcast{.value = value, .lanes = lanes});
}

Expr call(const std::string& name, std::vector<Expr> args) {
  const Intrinsic* intrinsic = find_intrinsic(name);
  if (intrinsic == nullptr) {
    raise({.code = ErrorCode::UnknownIntrinsic,
           .what = fmt::format("unknown intrinsic '{}'", name),
           .legal = "the names in ir/intrinsics.def"});
  }
  TW_CHECK(!args.empty() && (intrinsic->arity < 0 || intrinsic->arity == int(args.size())), name);
  const DType type = args[0].dtype();
  return call(name == "isnan" || name == "isinf" ? bool_type(type.lanes) : type, name,
              std::move(args), intrinsic->kind);
}

Expr call(DType type, const std::string& name, std::vector<Expr> args, CallKind kind) {
  return make(Call{.type = type, .name = name, .args = std::move(args), .call_kind = kind});
}

Expr all_of(const std::vector<Expr>& conditions) {
  Expr result = make_bool(true);
  for (const Expr& c : conditions) result = result && c;
  return result;
}

Expr product(const std::vector<Expr>& factors) {
  if (factors.empty()) return 1;
  Expr result = factors[0];
  for (size_t i = 1; i < factors.size(); ++i) result = result * factors[i];
  return result;
}

Expr make_binary(NodeKind kind, const Expr& a, const Expr& b) {
  const bool divides = kind == NodeKind::Div || kind == NodeKind::Mod ||
                       kind == NodeKind::FloorDiv || kind == NodeKind::FloorMod;
  if (divides && a.dtype().is_integer() && a.dtype() == b.dtype() && is_zero(b)) {
    return make_zero(a.dtype());
  }
  switch (kind) {
    case NodeKind::Add:
      return a + b;
    case NodeKind::Sub:
      return a - b;
    case NodeKind::Mul:
      return a * b;
    case NodeKind::Div:
      return div(a, b);
    case NodeKind::Mod:
      return trunc_mod(a, b);
    case NodeKind::FloorDiv:
      return floor_div(a, b);
    case NodeKind::FloorMod:
      return floor_mod(a, b);
    case NodeKind::Min:
      return min(a, b);
    case NodeKind::Max:
      return max(a, b);
    case NodeKind::Equal:
      return a == b;
    case NodeKind::NotEqual:
      return a != b;
    case NodeKind::Less:
      return a < b;
    case NodeKind::LessEqual:
      return a <= b;
    case NodeKind::Greater:
      return a > b;
    case NodeKind::GreaterEqual:
      return a >= b;
    case NodeKind::And:
      return a && b;
    case NodeKind::Or:
      return a || b;
    default:
      raise({.code = ErrorCode::Internal, .what = "not a binary operation"});
  }
}

Expr raw_binary(NodeKind kind, const Expr& a, const Expr& b) {
  switch (kind) {
#define BINARY_NODE(Name) \
  case NodeKind::Name:    \
    return make(Name{.a = a, .b = b});
#include "ir/binary_nodes.def"
#undef BINARY_NODE
    default:
      raise({.code = ErrorCode::Internal, .what = "not a binary operation"});
  }
}

}  // namespace tw
