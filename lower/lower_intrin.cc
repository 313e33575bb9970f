// SPDX-License-Identifier: Apache-2.0
// lower_intrin: what code generation does not know is spelled with what it does.
//
// before:                                   after:
//   A[x] = B[floordiv(x, 8)]                  A[x] = B[shift_right(x, 3)]
//   A[x] = sigmoid(B[x])                      A[x] = (let e = exp(0 - fabs(B[x])) in
//                                                     select(B[x] >= 0, 1, e)/(1 + e))
//   if (likely((x < n))) { … }                if ((x < n)) { … }
//
// Gone afterwards: floor division and modulo (shifts and masks by powers of two, truncation where
// the dividend is known not to be negative, a corrected truncation otherwise), sigmoid, rsqrt,
// isnan, fabs and pow of integers, likely. Left to code generation: the other mathematics, bit
// operations, if_then_else, and the calling convention.
#include <bit>
#include <functional>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/substitute.h"
#include "lower/passes.h"
#include "lower/scoped_mutator.h"

namespace tw::pass {
namespace {

class LowerIntrin : public ScopedMutator {
 public:
  LowerIntrin() : ScopedMutator(KindSet{NodeKind::FloorDiv, NodeKind::FloorMod, NodeKind::Call}) {}

 protected:
  using ScopedMutator::on;

  Stmt on(const For& op, const Stmt& self) override {
    if (not_negative(op.min)) not_negative_.insert(op.var);
    return ScopedMutator::on(op, self);
  }
  Stmt on(const LetStmt& op, const Stmt& self) override {
    if (op.value.dtype().is_integer() && not_negative(op.value)) not_negative_.insert(op.var);
    return ScopedMutator::on(op, self);
  }
  Stmt on(const AttrStmt& op, const Stmt& self) override {
    if (attr::is_parallel_launch(op.key)) not_negative_.insert(Var(as<Variable>(op.node)));
    return ScopedMutator::on(op, self);
  }

  Expr on(const FloorDiv& op, const Expr&) override { return lower_floor(op, true); }
  Expr on(const FloorMod& op, const Expr&) override { return lower_floor(op, false); }

  Expr on(const Call& op, const Expr& self) override {
    if (op.call_kind == CallKind::PureIntrinsic) {
      if (op.name == "likely") return mutate(op.args[0]);
      if (op.name == "sigmoid") {
        // Of -|x|, so that nothing overflows and the small results keep all their digits.
        return once(mutate(op.args[0]), [](const Expr& x) {
          const Expr one = make_const(x.dtype(), 1), zero = make_zero(x.dtype());
          return once(call("exp", {zero - call("fabs", {x})}),
                      [&](const Expr& e) { return div(select(x >= zero, one, e), one + e); });
        });
      }
      if (op.name == "rsqrt") {
        return div(make_const(op.dtype, 1), call("sqrt", {mutate(op.args[0])}));
      }
      if (op.name == "isnan") {
        return once(mutate(op.args[0]), [](const Expr& x) {
          return x.dtype().is_float() ? make(NotEqual{.a = x, .b = x})
                                      : make_zero(bool_type(x.dtype().lanes));
        });
      }
      if (op.name == "pow" && op.dtype.is_integer()) {
        return once(mutate(op.args[0]), [&](const Expr& x) {
          return once(mutate(op.args[1]), [&](const Expr& y) { return integer_power(x, y); });
        });
      }
      if (op.name == "fabs" && !op.dtype.is_float()) {
        const Expr x = mutate(op.args[0]);
        if (!op.dtype.is_int()) return x;
        return once(x, [](const Expr& v) {
          const Expr zero = make_zero(v.dtype());
          return select(v < zero, zero - v, v);
        });
      }
    }
    return ScopedMutator::on(op, self);
  }

 private:
  // Builds an expression that uses `value` several times without computing it several times.
  template <class F>
  static Expr once(const Expr& value, F build) {
    if (is<Variable>(value) || is_const(value)) return build(value);
    const Var var("t", value.dtype());
    return make(Let{.var = var, .value = value, .body = build(var)});
  }

  // By squares, a bit of y after the other; unsigned, where products may wrap.
  static Expr integer_power(const Expr& x, const Expr& y) {
    const DType type = x.dtype(), wraps = uint_type(type.bits, type.lanes);
    const Expr one = make_const(wraps, 1);
    const auto exponent = as_const_int(y);
    const auto known = exponent && *exponent >= 0 ? exponent : std::nullopt;
    // `power` times the bits from `k` on, of which `square` is the first's factor.
    const std::function<Expr(int, const Expr&, const Expr&)> rest =
        [&](int k, const Expr& power, const Expr& square) -> Expr {
      const bool is_last = known ? (static_cast<uint64_t>(*known) >> k) <= 1 : k == type.bits - 1;
      const Expr bit =
          call("bitwise_and", {call("shift_right", {cast(wraps, y), make_const(wraps, k)}), one});
      const Expr next = known ? ((static_cast<uint64_t>(*known) >> k) & 1 ? power * square : power)
                              : select(bit == one, power * square, power);
      if (is_last) return next;
      return once(next, [&](const Expr& p) {
        return once(square * square, [&](const Expr& s) { return rest(k + 1, p, s); });
      });
    };
    const Expr power = cast(type, rest(0, one, cast(wraps, x)));
    if (!type.is_int() || known) return power;
    const Expr unit = make_const(type, 1), minus = make_const(type, -1);
    return select(y < make_zero(type) && x != unit && x != minus, make_zero(type), power);
  }

  template <class T>
  Expr lower_floor(const T& op, bool quotient) {
    const Expr a = mutate(op.a), b = mutate(op.b);
    const DType type = a.dtype();
    const auto truncated = [&](const Expr& x, const Expr& y) {
      return quotient ? trunc_div(x, y) : trunc_mod(x, y);
    };
    if (type.is_uint() || type.is_bool()) return truncated(a, b);
    const auto divisor = as_const_int(b);
    if (divisor && *divisor == 0) return make_zero(type);
    if (divisor && *divisor > 0 && std::has_single_bit(static_cast<uint64_t>(*divisor))) {
      if (quotient) {
        const int shift = std::countr_zero(static_cast<uint64_t>(*divisor));
        return call("shift_right", {a, make_const(type, shift)});
      }
      return call("bitwise_and", {a, make_const(type, *divisor - 1)});
    }
    if (not_negative(op.a) && (divisor ? *divisor > 0 : not_negative(op.b))) return truncated(a, b);
    const Expr zero = make_zero(type), one = make_const(type, 1);
    return once(a, [&](const Expr& x) {
      return once(b, [&](const Expr& y) {
        // Truncation is one too high where the division leaves a remainder of the other sign.
        const Expr r = trunc_mod(x, y);
        const Expr inexact = divisor && *divisor > 0   ? r < zero
                             : divisor && *divisor < 0 ? r > zero
                                                       : r != zero && (r < zero) != (y < zero);
        return quotient ? select(inexact, trunc_div(x, y) - one, trunc_div(x, y))
                        : select(inexact, r + y, r);
      });
    });
  }

  // What shows at a glance. Bodies are unrolled by now: asking the analyzer about each of thousands
  // of divisions took longer than all other passes.
  bool plainly_not_negative(const Expr& e) const {
    const auto both = [&](const Expr& a, const Expr& b) {
      return plainly_not_negative(a) && plainly_not_negative(b);
    };
    if (const auto c = as_const_int(e)) return *c >= 0;
    switch (e->kind) {
      case NodeKind::Variable:
        return not_negative_.contains(Var(as<Variable>(e)));
      case NodeKind::Add:
        return both(as<Add>(e)->a, as<Add>(e)->b);
      case NodeKind::Mul:
        return both(as<Mul>(e)->a, as<Mul>(e)->b);
      case NodeKind::Min:
        return both(as<Min>(e)->a, as<Min>(e)->b);
      case NodeKind::Div:
        return both(as<Div>(e)->a, as<Div>(e)->b);
      case NodeKind::Mod:
        return plainly_not_negative(as<Mod>(e)->a);
      case NodeKind::FloorDiv:
        return both(as<FloorDiv>(e)->a, as<FloorDiv>(e)->b);
      case NodeKind::FloorMod:
        return plainly_not_negative(as<FloorMod>(e)->b);
      case NodeKind::Call:
        return as<Call>(e)->name == "num_threads";
      default:
        return false;
    }
  }

  bool not_negative(const Expr& e) {
    if (plainly_not_negative(e)) return true;
    if (const Broadcast* b = as<Broadcast>(e)) return not_negative(b->value);
    if (const Ramp* r = as<Ramp>(e)) {
      return analyzer_.can_prove_at_least(r->base, 0) &&
             analyzer_.can_prove_at_least(r->base + r->stride * (r->lanes - 1), 0);
    }
    if (e.dtype().is_vector()) return false;
    return analyzer_.can_prove_at_least(e, 0);
  }

  VarSet not_negative_;  // loop variables and let values, while they are in scope
};

}  // namespace

Kernel lower_intrin(Kernel kernel, const PassContext&) {
  kernel.body = LowerIntrin().mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
