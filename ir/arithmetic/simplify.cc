// SPDX-License-Identifier: Apache-2.0
// Rewriting of expressions, bottom-up: operands first, then the rows of rules.def at the node, then
// what needs more than two operands (sum.cc), then the bounds.
#include "ir/arithmetic/context.h"
#include "ir/equal.h"
#include "ir/visit_count.h"

namespace tw::arithmetic {
namespace {

constexpr int kMaxDepth = 128;

DType result_type(NodeKind kind, DType operand) {
  return is_comparison(kind) ? bool_type(operand.lanes) : operand;
}

// Whether a node of kind(a, b) is exactly the one that `hint` stands for.
Expr node_or_hint(NodeKind kind, const Expr& a, const Expr& b, const Expr* hint) {
  return hint ? *hint : raw_binary(kind, a, b);
}

// Sums, products and conditions are chains, which may be written in any order: a + (b + c).
bool same_chain(NodeKind a, NodeKind b) {
  const auto is_sum = [](NodeKind k) { return k == NodeKind::Add || k == NodeKind::Sub; };
  const bool chains = a == NodeKind::Mul || a == NodeKind::And || a == NodeKind::Or;
  return is_sum(a) ? is_sum(b) : chains && a == b;
}

// Whether the chain that `e` is has more links than `most`; one of equal halves has 2^levels.
bool longer_chain(const ExprBase* e, NodeKind kind, int most) {
  const auto count = [&](const auto& self, const ExprBase* part) -> void {
    if (!same_chain(kind, part->kind)) {
      --most;
      return;
    }
    const Operands o = operands(part);
    self(self, o.b.get());
    if (most >= 0) self(self, o.a.get());
  };
  count(count, e);
  return most < 0;
}

// Longer ones are simplified half by half.
constexpr int kMostLinks = 4096;

struct DepthGuard {
  int& depth;
  explicit DepthGuard(int& d) : depth(d) { ++depth; }
  ~DepthGuard() { --depth; }
};

}  // namespace

Expr Context::replacement(const Rule& rule, int16_t index, const Bindings& bindings, DType wanted) {
  const RuleNode& n = rule.nodes[static_cast<size_t>(index)];
  if (n.constant) {
    auto v = fold(rule, index, bindings, [](int) { return ConstBound{}; });
    if (!v) return {};
    if (!wanted.is_bool() && !fits(wanted, *v)) return {};
    return constant(wanted, *v);
  }
  switch (n.op) {
    case RuleNode::Op::Var:
      return Expr::of(bindings.vars[n.index]);
    case RuleNode::Op::Not: {
      const Expr a = replacement(rule, n.a, bindings, wanted);
      return a.defined() ? combine_not(a) : Expr();
    }
    case RuleNode::Op::Select: {
      const Expr p = replacement(rule, n.a, bindings, bool_type());
      const Expr t = replacement(rule, n.b, bindings, wanted);
      const Expr f = replacement(rule, n.c, bindings, wanted);
      return p.defined() && t.defined() && f.defined() ? combine_select(p, t, f) : Expr();
    }
    case RuleNode::Op::Binary: {
      const bool compares = is_comparison(n.kind);
      const DType operand = compares ? bindings.type : wanted;
      const Expr a = replacement(rule, n.a, bindings, operand);
      if (!a.defined()) return {};
      const Expr b = replacement(rule, n.b, bindings, operand);
      if (!b.defined() || a.dtype() != b.dtype()) return {};
      return combine(n.kind, a, b);
    }
    default:
      return {};
  }
}

Expr Context::apply_rules(NodeKind kind, const Expr& a, const Expr& b, const Expr& c) {
  if (depth_ > kMaxDepth) return {};
  DepthGuard guard(depth_);
  Expr result;
  struct Bounds {
    Context& context;
    const Bindings& bindings;
    Expr bound_to(int letter) const { return Expr::of(bindings.vars[static_cast<size_t>(letter)]); }
    ConstBound operator()(int letter) const { return context.const_bound(bound_to(letter)); }
    bool nonzero(int letter) const { return context.is_nonzero(bound_to(letter)); }
  };
  RuleTable::get().for_each_match(
      kind, a.get(), b.get(), c.get(), [&](const Rule& rule, const Bindings& bindings) {
        if (rule.guard >= 0) {
          auto holds = fold(rule, rule.guard, bindings, Bounds{*this, bindings});
          if (!holds || *holds == 0) return false;
        }
        const DType wanted = kind == NodeKind::Select ? b.dtype() : result_type(kind, a.dtype());
        result = replacement(rule, rule.replacement, bindings, wanted);
        return result.defined();
      });
  return result;
}

// Facts and bounds that settle a node that no rule rewrites further.
Expr Context::decide(const Expr& e) {
  if (e.dtype().is_bool()) {
    for (const Fact& f : facts_) {
      if (f.expr->kind == e->kind && f.expr.dtype().is_bool() && same(f.expr, e)) {
        return constant(e.dtype(), f.bound.least);
      }
    }
    return e;
  }
  if (!e.dtype().is_int()) return e;
  const ConstBound b = const_bound(e);
  if (b.least == b.greatest && fits(e.dtype(), b.least)) {
    // A vector between equal bounds has equal lanes.
    return constant(e.dtype(), b.least);
  }
  return e;
}

Expr Context::combine_vectors(NodeKind kind, const Expr& a, const Expr& b) {
  const int lanes = a.dtype().lanes;
  const Broadcast *ba = as<Broadcast>(a), *bb = as<Broadcast>(b);
  if (ba && bb) return broadcast(combine(kind, ba->value, bb->value), lanes);
  const Ramp *ra = as<Ramp>(a), *rb = as<Ramp>(b);
  const auto ramp = [&](const Expr& base, const Expr& stride) -> Expr {
    if (is_zero(stride)) return broadcast(base, lanes);
    return make(Ramp{.base = base, .stride = stride, .lanes = lanes});
  };
  if (kind == NodeKind::Add || kind == NodeKind::Sub) {
    if (ra && rb)
      return ramp(combine(kind, ra->base, rb->base), combine(kind, ra->stride, rb->stride));
    if (ra && bb) return ramp(combine(kind, ra->base, bb->value), ra->stride);
    if (ba && rb) {
      const Expr base = combine(kind, ba->value, rb->base);
      return ramp(base, kind == NodeKind::Add
                            ? rb->stride
                            : combine(NodeKind::Mul, rb->stride, constant(rb->stride.dtype(), -1)));
    }
  }
  if (kind == NodeKind::Mul) {
    if (ra && bb)
      return ramp(combine(kind, ra->base, bb->value), combine(kind, ra->stride, bb->value));
    if (ba && rb)
      return ramp(combine(kind, rb->base, ba->value), combine(kind, rb->stride, ba->value));
  }
  const auto divisor = bb ? as_const_int(bb->value) : std::nullopt;
  const auto stride = ra ? as_const_int(ra->stride) : std::nullopt;
  if (stride && !fits(int_type(32), *stride)) return {};
  if ((kind == NodeKind::FloorDiv || kind == NodeKind::FloorMod) && divisor && stride &&
      *divisor > 0) {
    const Expr c = bb->value;
    if (*stride % *divisor == 0) {
      if (kind == NodeKind::FloorMod) return broadcast(combine(kind, ra->base, c), lanes);
      return ramp(combine(kind, ra->base, c), constant(ra->stride.dtype(), *stride / *divisor));
    }
    // All lanes within one multiple of the divisor.
    const Expr remainder = combine(NodeKind::FloorMod, ra->base, c);
    const ConstBound r =
        add(const_bound(remainder), unite({0, 0}, {*stride * (lanes - 1), *stride * (lanes - 1)}));
    const ConstBound span =
        *stride >= 0 ? r : add(const_bound(remainder), {*stride * (lanes - 1), 0});
    const ModularFact fact = modular(ra->base);
    const int64_t extent = *stride * (lanes - 1);
    const bool aligned =
        fact.modulus != 0 && fact.modulus % *divisor == 0 &&
        floor_remainder(fact.residue, *divisor) + std::min<int64_t>(extent, 0) >= 0 &&
        floor_remainder(fact.residue, *divisor) + std::max<int64_t>(extent, 0) < *divisor;
    if ((span.least >= 0 && span.greatest < *divisor) || aligned) {
      if (kind == NodeKind::FloorDiv) return broadcast(combine(kind, ra->base, c), lanes);
      return ramp(remainder, ra->stride);
    }
  }
  return {};
}

Expr Context::extend_conjunction(NodeKind kind, const Expr& a, const Expr& b) {
  // A rule of && (or ||) between `b` and a term further left in the chain.
  if (a->kind != kind) return {};
  const Operands o = operands(a.get());
  Expr last = apply_rules(kind, o.b, b, Expr());
  if (last.defined()) return combine(kind, o.a, last);
  Expr first =
      o.a->kind == kind ? extend_conjunction(kind, o.a, b) : apply_rules(kind, o.a, b, Expr());
  if (first.defined()) return combine(kind, first, o.b);
  return {};
}

Expr Context::combine(NodeKind kind, const Expr& a, const Expr& b, const Expr* hint) {
  const DType type = a.dtype();
  const bool logical = kind == NodeKind::And || kind == NodeKind::Or;
  if (type.is_handle()) return node_or_hint(kind, a, b, hint);
  if (type.is_float()) {
    // Only what folds exactly as the operators define it.
    if (!is_const(a) && !is_const(b)) return node_or_hint(kind, a, b, hint);
    Expr e = make_binary(kind, a, b);
    return hint && e->kind == kind ? *hint : e;
  }
  const auto ca = as_const_int(a), cb = as_const_int(b);
  if (ca && cb) {
    if (auto v = fold_integers(kind, type.element(), *ca, *cb)) {
      return constant(result_type(kind, type), *v);
    }
    return node_or_hint(kind, a, b, hint);
  }
  if (cb && *cb == 0 && kind >= NodeKind::Div && kind <= NodeKind::FloorMod) {
    return constant(type, 0);
  }
  if (type.lanes > 1 && !logical) {
    if (Expr e = combine_vectors(kind, a, b); e.defined()) return e;
  }
  if (!type.is_int() && !logical) {
    if (type.is_bool()) return decide(node_or_hint(kind, a, b, hint));
    // Unsigned numbers wrap: identities and bounds only.
    if (is_comparison(kind)) {
      const ConstBound x = const_bound(a), y = const_bound(b);
      const auto truth = [&](bool v) { return constant(bool_type(type.lanes), v); };
      switch (kind) {
        case NodeKind::Less:
          if (x.greatest < y.least) return truth(true);
          if (y.greatest <= x.least) return truth(false);
          break;
        case NodeKind::LessEqual:
          if (x.greatest <= y.least) return truth(true);
          if (y.greatest < x.least) return truth(false);
          break;
        case NodeKind::Greater:
          return combine(NodeKind::Less, b, a);
        case NodeKind::GreaterEqual:
          return combine(NodeKind::LessEqual, b, a);
        default:
          if (same(a, b)) return truth(kind == NodeKind::Equal);
          break;
      }
      return decide(node_or_hint(kind, a, b, hint));
    }
    Expr e = make_binary(kind, a, b);
    return hint && e->kind == kind ? *hint : e;
  }

  if (depth_ == 0) combinations_left_ = kMostCombinations;
  // Rules carry b's links over to a's chain; where there are too many, chains of chains stay.
  if (--combinations_left_ < 0 ||
      (same_chain(kind, b->kind) && longer_chain(b.get(), kind, kMaxLeaves))) {
    return decide(node_or_hint(kind, a, b, hint));
  }
  if (Expr e = apply_rules(kind, a, b, Expr()); e.defined()) return e;
  if (depth_ > kMaxDepth) return node_or_hint(kind, a, b, hint);
  DepthGuard guard(depth_);
  switch (kind) {
    case NodeKind::Add:
    case NodeKind::Sub:
      if (!cb) {
        if (Expr e = merge_terms(kind, a, b); e.defined()) return e;
      }
      break;
    case NodeKind::FloorDiv:
    case NodeKind::FloorMod:
      if (cb && *cb > 0) {
        if (Expr e = divide_sum(kind, a, *cb); e.defined()) return e;
      } else if (!cb) {
        if (Expr e = divide_products(kind, a, b); e.defined()) return e;
        if (symbolic_vars_ == 0 && facts_.empty()) break;
        if (holds(raw_binary(NodeKind::LessEqual, make_zero(type), a)) &&
            holds(raw_binary(NodeKind::Less, a, b))) {
          return kind == NodeKind::FloorDiv ? make_zero(type) : a;
        }
      }
      break;
    case NodeKind::Min:
    case NodeKind::Max: {
      if (ca || cb) {
        if (symbolic_vars_ == 0) break;
      }
      const Expr difference = combine(NodeKind::Sub, a, b);
      ConstBound bound = const_bound(difference);
      if (bound.greatest > 0 && bound.least < 0 && symbolic_vars_ > 0 && !in_symbolic_) {
        bound = intersect(bound, symbolic_bound(difference));
      }
      if (bound.greatest <= 0) return kind == NodeKind::Min ? a : b;
      if (bound.least >= 0) return kind == NodeKind::Min ? b : a;
      break;
    }
    case NodeKind::Equal:
    case NodeKind::NotEqual:
      if (cb) {
        const ModularFact f = modular(a);
        const bool differs =
            f.modulus == 0 ? f.residue != *cb : floor_remainder(*cb, f.modulus) != f.residue;
        if (differs) return constant(bool_type(type.lanes), kind == NodeKind::NotEqual);
      }
      [[fallthrough]];
    case NodeKind::Less:
    case NodeKind::LessEqual:
      if ((!ca && !cb) || symbolic_vars_ > 0) {
        if (Expr e = compare_sums(kind, a, b); e.defined()) return e;
      }
      break;
    case NodeKind::And:
    case NodeKind::Or:
      if (Expr e = extend_conjunction(kind, a, b); e.defined()) return e;
      break;
    default:
      break;
  }
  return decide(node_or_hint(kind, a, b, hint));
}

Expr Context::combine_not(const Expr& a, const Expr* hint) {
  if (auto v = as_const_int(a)) return constant(a.dtype(), !*v);
  if (Expr e = apply_rules(NodeKind::Not, a, Expr(), Expr()); e.defined()) return e;
  return decide(hint ? *hint : make(Not{.a = a}));
}

Expr Context::combine_select(const Expr& condition, const Expr& t, const Expr& f,
                             const Expr* hint) {
  if (auto v = as_const_int(condition)) return *v ? t : f;
  const auto ct = as_const_int(t), cf = as_const_int(f);
  if (t.dtype().is_bool() && t.dtype() == condition.dtype() && ct && cf) {
    if (*ct != *cf) return *ct ? condition : combine_not(condition);
  }
  if (Expr e = apply_rules(NodeKind::Select, condition, t, f); e.defined()) return e;
  return decide(hint ? *hint
                     : make(Select{.condition = condition, .true_value = t, .false_value = f}));
}

Expr Context::simplify(const Expr& e) {
  if (!e.defined()) return e;
  switch (e->kind) {
    case NodeKind::IntImm:
    case NodeKind::FloatImm:
    case NodeKind::StringImm:
      return e;
    case NodeKind::Variable: {
      auto it = vars_.find(Var(static_cast<const Variable*>(e.get())));
      if (it != vars_.end() && it->second.value.defined()) return it->second.value;
      return decide(e);
    }
    default:
      break;
  }
  if (e->refs.unique()) return simplify_node(e);
  if (const Expr* known = memory_.simplified.find(e.get())) return *known;
  Expr result = simplify_node(e);
  memory_.simplified.insert(e, result);
  if (!result.same_as(e)) memory_.simplified.insert(result, result);
  return result;
}

Expr Context::simplify_call(const Call& op, const Expr& self) {
  if (op.name == "if_then_else") {
    const Expr condition = simplify(op.args[0]);
    if (auto v = as_const_int(condition)) return simplify(op.args[*v ? 1 : 2]);
    Expr t, f;
    if (!under_each(
            condition, [&] { t = simplify(op.args[1]); }, [&] { f = simplify(op.args[2]); })) {
      t = simplify(op.args[1]);
      f = simplify(op.args[2]);
    }
    if (same(t, f)) return t;
    if (condition.same_as(op.args[0]) && t.same_as(op.args[1]) && f.same_as(op.args[2]))
      return self;
    return with(self, [&](Call& c) { c.args = {condition, t, f}; });
  }
  if (op.name == "likely") {
    const Expr condition = simplify(op.args[0]);
    if (is_const(condition)) return condition;
    if (const Call* inner = as<Call>(condition); inner && inner->name == "likely") return condition;
    if (condition.same_as(op.args[0])) return self;
    return with(self, [&](Call& c) { c.args = {condition}; });
  }
  std::vector<Expr> args;
  bool changed = false;
  for (size_t i = 0; i < op.args.size(); ++i) {
    Expr a = simplify(op.args[i]);
    if (changed || !a.same_as(op.args[i])) {
      if (!changed) args.assign(op.args.begin(), op.args.begin() + static_cast<ptrdiff_t>(i));
      changed = true;
      args.push_back(std::move(a));
    }
  }
  if (op.name == "saturating_cast") {
    const Expr& value = changed ? args[0] : op.args[0];
    const Expr result = saturating_cast(op.type, value);
    if (!is<Call>(result)) return simplify(result);
    const ConstBound b = const_bound(value), limits = value_bound(op.type);
    if (!value.dtype().is_float() && b.least != ConstBound::kMin &&
        b.greatest != ConstBound::kMax && limits.least <= b.least &&
        b.greatest <= limits.greatest) {
      return simplify(cast(op.type, value));
    }
  }
  const Expr result = changed ? with(self, [&](Call& c) { c.args = std::move(args); }) : self;
  return result.dtype().is_bool() && !facts_.empty() ? decide(result) : result;
}

Expr Context::simplify_node(const Expr& e) {
  count_visits(1);
  if (is_binary(e->kind)) {
    const Operands o = operands(e.get());
    const bool chains = e->kind == NodeKind::And || e->kind == NodeKind::Or ||
                        (e->kind == NodeKind::Add && e.dtype().is_int());
    if (chains && o.b->kind == e->kind && !longer_chain(e.get(), e->kind, kMostLinks)) {
      // A chain to the right becomes one to the left in one go, not level by level.
      Expr result;
      const auto fold = [&](const auto& self, const Expr& part) -> void {
        if (part->kind == e->kind) {
          self(self, operands(part.get()).a);
          return self(self, operands(part.get()).b);
        }
        const Expr next = simplify(part);
        result = result.defined() ? combine(e->kind, result, next) : next;
      };
      fold(fold, e);
      return result;
    }
    const Expr a = simplify(o.a), b = simplify(o.b);
    return combine(e->kind, a, b, a.same_as(o.a) && b.same_as(o.b) ? &e : nullptr);
  }
  switch (e->kind) {
    case NodeKind::Not: {
      const Not& op = static_cast<const Not&>(*e);
      const Expr a = simplify(op.a);
      return combine_not(a, a.same_as(op.a) ? &e : nullptr);
    }
    case NodeKind::Select: {
      const Select& op = static_cast<const Select&>(*e);
      const Expr c = simplify(op.condition);
      if (auto v = as_const_int(c)) return simplify(*v ? op.true_value : op.false_value);
      const Expr t = simplify(op.true_value), f = simplify(op.false_value);
      const bool unchanged =
          c.same_as(op.condition) && t.same_as(op.true_value) && f.same_as(op.false_value);
      return combine_select(c, t, f, unchanged ? &e : nullptr);
    }
    case NodeKind::Cast: {
      const Cast& op = static_cast<const Cast&>(*e);
      const Expr v = simplify(op.value);
      if (is_const(v)) return cast(op.type, v);
      if (v.dtype() == op.type) return v;
      // A cast of a widening cast is one cast.
      if (const Cast* inner = as<Cast>(v)) {
        const DType from = inner->value.dtype(), via = inner->type, to = op.type;
        if (from.is_int() && via.is_int() && to.is_int() && from.bits <= via.bits) {
          return simplify(cast(to, inner->value));
        }
      }
      if (const Broadcast* b = as<Broadcast>(v)) {
        return broadcast(simplify(cast(op.type.element(), b->value)), b->lanes);
      }
      if (v.same_as(op.value)) return decide(e);
      return decide(make(Cast{.type = op.type, .value = v}));
    }
    case NodeKind::Call:
      return simplify_call(static_cast<const Call&>(*e), e);
    case NodeKind::Load: {
      const Load& op = static_cast<const Load&>(*e);
      const Expr index = simplify(op.index);
      Expr predicate = simplify(op.predicate);
      if (predicate.defined() && is_one(predicate)) predicate = Expr();
      if (index.same_as(op.index) && predicate.same_as(op.predicate)) return e;
      return with(e, [&](Load& l) {
        l.index = index;
        l.predicate = predicate;
      });
    }
    case NodeKind::ProducerLoad: {
      const ProducerLoad& op = static_cast<const ProducerLoad&>(*e);
      std::vector<Expr> indices;
      bool changed = false;
      for (const Expr& i : op.indices) {
        indices.push_back(simplify(i));
        changed |= !indices.back().same_as(i);
      }
      return changed ? with(e, [&](ProducerLoad& l) { l.indices = std::move(indices); }) : e;
    }
    case NodeKind::Ramp: {
      const Ramp& op = static_cast<const Ramp&>(*e);
      const Expr base = simplify(op.base), stride = simplify(op.stride);
      if (is_zero(stride)) return broadcast(base, op.lanes);
      if (base.same_as(op.base) && stride.same_as(op.stride)) return e;
      return make(Ramp{.base = base, .stride = stride, .lanes = op.lanes});
    }
    case NodeKind::Broadcast: {
      const Broadcast& op = static_cast<const Broadcast&>(*e);
      const Expr v = simplify(op.value);
      return v.same_as(op.value) ? e : broadcast(v, op.lanes);
    }
    case NodeKind::Shuffle: {
      const Shuffle& op = static_cast<const Shuffle&>(*e);
      std::vector<Expr> vectors;
      bool changed = false;
      for (const Expr& v : op.vectors) {
        vectors.push_back(simplify(v));
        changed |= !vectors.back().same_as(v);
      }
      return changed ? with(e, [&](Shuffle& s) { s.vectors = std::move(vectors); }) : e;
    }
    case NodeKind::Let: {
      const Let& op = static_cast<const Let&>(*e);
      const Expr value = simplify(op.value);
      if (is_const(value) || is<Variable>(value)) {
        bind(op.var, value);
        return simplify(op.body);
      }
      bind_let(op.var, value);
      const Expr body = simplify(op.body);
      if (!uses(body, op.var) && is_pure(value)) return body;
      if (value.same_as(op.value) && body.same_as(op.body)) return e;
      return make(Let{.var = op.var, .value = value, .body = body});
    }
    case NodeKind::Reduce: {
      const Reduce& op = static_cast<const Reduce&>(*e);
      Reduce copy = op;
      for (IterVar& iv : copy.axis) {
        const Range domain{simplify(iv->domain.min), simplify(iv->domain.extent)};
        if (!domain.min.same_as(iv->domain.min) || !domain.extent.same_as(iv->domain.extent)) {
          iv = IterVar(domain, iv->var, iv->kind);
        }
        // A reduction keeps its axes, even those of extent one.
        if (!is_one(domain.extent)) {
          bind(iv->var, domain);
        } else {
          bind_bounds(iv->var, domain.min);
        }
      }
      for (Expr& r : copy.combiner.result) r = simplify(r);
      for (Expr& i : copy.combiner.identity) i = simplify(i);
      copy.condition = simplify(op.condition);
      if (copy.condition.defined() && is_one(copy.condition)) copy.condition = Expr();
      for (Expr& s : copy.source) s = simplify(s);
      Expr result = make(std::move(copy));
      return equal(result, e) ? e : result;
    }
    default:
      return e;
  }
}

}  // namespace tw::arithmetic
