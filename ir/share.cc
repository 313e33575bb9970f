// SPDX-License-Identifier: Apache-2.0
#include "ir/share.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/visit.h"

namespace tw {
namespace {

using Node = const ExprBase*;

class Parts : public Visitor {
 public:
  explicit Parts(int most) : left_(most) {}
  bool exceeded = false;

 protected:
  using Visitor::on;
#define EXPR_NODE(Name)                  \
  void on(const Name& op) override {     \
    exceeded = exceeded || left_-- == 0; \
    if (!exceeded) Visitor::on(op);      \
  }
#define STMT_NODE(Name)
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE

 private:
  int left_;
};

// A Reduce is a whole: what stands in it is of its own axes.
std::vector<Expr> operands_of(const Expr& e) {
  std::vector<Expr> result;
  if (is<Reduce>(e)) return result;
  for_each_operand(e, [&](const Expr& operand) { result.push_back(operand); });
  return result;
}

// The node with other operands, in the order of for_each_operand.
class WithOperands : public Mutator {
 public:
  WithOperands(Node node, const std::vector<Expr>& operands) : node_(node), operands_(operands) {}

 protected:
  using Mutator::on;
#define EXPR_NODE(Name)                                                    \
  Expr on(const Name& op, const Expr& self) override {                     \
    return &op == node_ && !entered() ? Mutator::on(op, self) : operand(); \
  }
#define STMT_NODE(Name)
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE

 private:
  bool entered() { return std::exchange(entered_, true); }
  Expr operand() { return operands_[at_++]; }
  Node node_;
  const std::vector<Expr>& operands_;
  size_t at_ = 0;
  bool entered_ = false;
};

Expr with_operands(const Expr& e, const std::vector<Expr>& operands) {
  return operands.empty() ? e : WithOperands(e.get(), operands).mutate(e);
}

// Equal parts become one node, and variables of Lets what they stand for.
class Merge {
 public:
  Expr operator()(const Expr& e) {
    if (const Variable* v = as<Variable>(e)) {
      const auto bound = bindings_.find(v);
      return bound == bindings_.end() ? e : bound->second;
    }
    if (is<Reduce>(e)) return e;
    std::vector<Node> under;  // what the variables in it stand for
    for (const Variable* v : free_in(e)) {
      const auto bound = bindings_.find(v);
      under.push_back(bound == bindings_.end() ? v : bound->second.get());
    }
    for (const Known& known : known_[e.get()]) {
      if (known.under == under) return known.result;
    }
    const Expr result = merged(e);
    known_[e.get()].push_back({std::move(under), result});
    return result;
  }

 private:
  struct Known {
    std::vector<Node> under;
    Expr result;
  };

  Expr merged(const Expr& e) {
    if (const Let* let = as<Let>(e)) {
      const Expr value = (*this)(let->value);
      const Variable* var = let->var.operator->();
      const auto outer = bindings_.find(var);
      const Expr hidden = outer == bindings_.end() ? Expr() : outer->second;
      bindings_[var] = value;
      const Expr body = (*this)(let->body);
      bindings_.erase(var);
      if (hidden.defined()) bindings_[var] = hidden;
      return body;
    }
    std::vector<Expr> operands = operands_of(e);
    size_t hash = static_cast<size_t>(e->kind) * 31 + e->dtype.bits;
    if (const IntImm* n = as<IntImm>(e)) hash = hash * 31 + static_cast<size_t>(n->value);
    if (const FloatImm* n = as<FloatImm>(e)) hash = hash * 31 + std::hash<double>()(n->value);
    for (Expr& operand : operands) {
      operand = (*this)(operand);
      hash = (hash ^ std::hash<Node>()(operand.get())) * 0x9e3779b97f4a7c15;
    }
    const Expr result = with_operands(e, operands);
    for (const Expr& other : nodes_[hash]) {
      if (same_operands(other, operands) && equal(other, result)) return other;
    }
    nodes_[hash].push_back(result);
    return result;
  }
  static bool same_operands(const Expr& e, const std::vector<Expr>& operands) {
    return std::ranges::equal(operands_of(e), operands,
                              [](const Expr& a, const Expr& b) { return a.same_as(b); });
  }

  using Vars = std::vector<const Variable*>;
  const Vars& free_in(const Expr& e) {
    if (const auto known = free_.find(e.get()); known != free_.end()) return known->second;
    Vars vars;
    const auto add = [&](const Expr& part, const Variable* bound) {
      if (const Variable* v = as<Variable>(part)) {
        if (v != bound) vars.push_back(v);
        return;
      }
      const Vars& of_part = free_in(part);
      std::ranges::copy_if(of_part, std::back_inserter(vars),
                           [&](const Variable* v) { return v != bound; });
    };
    if (const Let* let = as<Let>(e)) {
      add(let->value, nullptr);
      add(let->body, let->var.operator->());
    } else {
      for (const Expr& operand : operands_of(e)) add(operand, nullptr);
    }
    std::ranges::sort(vars);
    vars.erase(std::ranges::unique(vars).begin(), vars.end());
    return free_[e.get()] = std::move(vars);
  }

  std::unordered_map<const Variable*, Expr> bindings_;
  std::unordered_map<Node, std::vector<Known>> known_;
  std::unordered_map<Node, Vars> free_;
  std::unordered_map<size_t, std::vector<Expr>> nodes_;
};

// The operands that are evaluated only where another one says so begin there.
size_t first_guarded(const Expr& e) {
  switch (e->kind) {
    case NodeKind::Select:
    case NodeKind::And:
    case NodeKind::Or:
      return 1;
    case NodeKind::Call:
      return as<Call>(e)->name == "if_then_else" ? 1 : as<Call>(e)->args.size();
    default:
      return SIZE_MAX;
  }
}

// Writes a graph of merged parts as nested Lets.
class Write {
 public:
  explicit Write(int most) : left_(most) {}
  bool exceeded() const { return left_ < 0; }

  // A place of its own: what is bound here is known inside only.
  Expr place(const Expr& root) {
    Region region;
    collect(root, region);
    find_certain(root, region);
    std::vector<std::pair<Var, Expr>> lets;
    for (const Expr& part : region.order) {
      if (part.same_as(root) || exceeded() || !is_bound(part, region)) continue;
      const Expr value = build(part);
      lets.emplace_back(Var("part", value.dtype()), value);
      vars_[part.get()] = lets.back().first;
    }
    Expr result = build(root);
    std::ranges::for_each(region.order, [&](const Expr& part) { vars_.erase(part.get()); });
    for (size_t k = lets.size(); k-- > 0;) {
      result = make(Let{.var = lets[k].first, .value = lets[k].second, .body = result});
    }
    return result;
  }

 private:
  // What is known of a part wherever it stands.
  struct Facts {
    double size = 1;  // as a tree
    bool pure = true, reads = false;
  };
  struct Region {
    std::vector<Expr> order;  // operands first; without what is bound further out
    std::unordered_map<Node, int> uses;
    std::unordered_set<Node> certain;  // evaluated wherever the root is
  };
  static constexpr double kLargeInteger = 128, kLarge = 4;
  static constexpr size_t kMostBits = size_t{1} << 26;  // some tenths of a second

  const Facts& facts(const Expr& e) {
    const auto [it, first] = facts_.try_emplace(e.get());
    if (!first) return it->second;
    Facts result;
    const Call* call = as<Call>(e);
    result.pure =
        !is<Reduce>(e) && (call == nullptr || call->call_kind == CallKind::PureIntrinsic ||
                           call->call_kind == CallKind::PureExtern);
    result.reads = is<Load>(e) || is<ProducerLoad>(e);
    for (const Expr& operand : operands_of(e)) {
      const Facts& part = facts(operand);
      result.size += part.size;
      result.pure = result.pure && part.pure;
      result.reads = result.reads || part.reads;
    }
    return facts_[e.get()] = result;
  }

  void collect(const Expr& e, Region& region) {
    if (vars_.contains(e.get()) || region.uses[e.get()]++ > 0) return;
    for (const Expr& operand : operands_of(e)) collect(operand, region);
    region.order.push_back(e);
  }

  bool worth(const Expr& e, const Region& region) {
    if (region.uses.at(e.get()) < 2) return false;
    const Facts& f = facts(e);
    return f.pure && f.size >= (e.dtype().is_float() ? kLarge : kLargeInteger);
  }
  bool is_bound(const Expr& e, const Region& region) {
    return worth(e, region) && (!facts(e).reads || region.certain.contains(e.get()));
  }

  // What stands outside of the sides of choices is certain. Of the rest, a part is certain in a
  // node if it is the node, or is certain in an operand that is, or in both sides of a choice: one
  // bit for each part in question.
  void find_certain(const Expr& root, Region& region) {
    find_plain(root, region);
    std::unordered_map<Node, size_t> number;
    for (const Expr& e : region.order) {
      const bool asked = facts(e).reads && worth(e, region) && !region.certain.contains(e.get());
      if (asked) number.emplace(e.get(), number.size());
    }
    if (number.empty() || number.size() * region.order.size() > kMostBits) return;
    std::unordered_map<Node, std::vector<bool>> inside;
    for (const Expr& e : region.order) {
      std::vector<bool> bits(number.size());
      const std::vector<Expr> operands = operands_of(e);
      const size_t guarded = std::min(first_guarded(e), operands.size());
      const auto of = [&](size_t k) {
        const auto found = inside.find(operands[k].get());
        return found == inside.end() ? std::vector<bool>(number.size()) : found->second;
      };
      for (size_t k = 0; k < guarded; ++k) unite(bits, of(k));
      if (operands.size() == guarded + 2) {
        std::vector<bool> both = of(guarded);
        const std::vector<bool> other = of(guarded + 1);
        for (size_t b = 0; b < both.size(); ++b) both[b] = both[b] && other[b];
        unite(bits, both);
      }
      if (const auto own = number.find(e.get()); own != number.end()) bits[own->second] = true;
      inside[e.get()] = std::move(bits);
    }
    for (const auto& [node, bit] : number) {
      if (inside.at(root.get())[bit]) region.certain.insert(node);
    }
  }
  void find_plain(const Expr& e, Region& region) {
    if (vars_.contains(e.get()) || !region.certain.insert(e.get()).second) return;
    const std::vector<Expr> operands = operands_of(e);
    const size_t plain = std::min(first_guarded(e), operands.size());
    for (size_t k = 0; k < plain; ++k) find_plain(operands[k], region);
  }
  static void unite(std::vector<bool>& bits, const std::vector<bool>& more) {
    for (size_t b = 0; b < bits.size(); ++b) bits[b] = bits[b] || more[b];
  }

  Expr use(const Expr& e, bool guarded) {
    if (const auto bound = vars_.find(e.get()); bound != vars_.end()) {
      --left_;
      return bound->second;
    }
    return guarded ? place(e) : build(e);
  }
  Expr build(const Expr& e) {
    if (--left_ < 0) return e;
    std::vector<Expr> operands = operands_of(e);
    const size_t guarded = first_guarded(e);
    for (size_t k = 0; k < operands.size(); ++k) operands[k] = use(operands[k], k >= guarded);
    return with_operands(e, operands);
  }

  int left_;
  std::unordered_map<Node, Facts> facts_;
  std::unordered_map<Node, Var> vars_;
};

}  // namespace

bool has_more_parts_than(const Expr& e, int most) {
  Parts parts(most);
  parts.visit(e);
  return parts.exceeded;
}

Expr bind_shared_parts(const Expr& e, int most) {
  Merge merge;
  const Expr merged = merge(e);
  Write write(most);
  const Expr result = write.place(merged);
  return write.exceeded() ? Expr() : result;
}

}  // namespace tw
