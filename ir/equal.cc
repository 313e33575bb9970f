// SPDX-License-Identifier: Apache-2.0
// Comparison and hash are written once over the fields of nodes (ir/fields.h).
#include "ir/equal.h"

#include <bit>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "ir/fields.h"
#include "ir/visit.h"
#include "ir/visit_count.h"
#include "runtime/error.h"

namespace tw {
namespace {

template <class T>
int order(const T& a, const T& b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}
int order(DType a, DType b) {
  if (int d = order(a.code, b.code)) return d;
  if (int d = order(a.bits, b.bits)) return d;
  return order(a.lanes, b.lanes);
}
// By bits: zeros of different sign are different, all NaNs are one.
uint64_t bits_of(double value) {
  return std::isnan(value) ? ~uint64_t{0} : std::bit_cast<uint64_t>(value);
}

enum class Free { Identity, Renamed, ByName };  // how free variables and producers match

// Three-way comparison; only Free::ByName needs more than zero or not.
class Comparison {
 public:
  explicit Comparison(Free free) : free_(free) {}
  Comparison(const Comparison&) = delete;
  ~Comparison() { count_visits(visits_); }

  template <class H>
  int operator()(const H& a, const H& b) {
    const int difference = compare(a, b);
    return difference != 0 ? difference : tie_;
  }

 private:
  template <class H>
    requires std::is_same_v<H, Expr> || std::is_same_v<H, Stmt>
  int compare(const H& a, const H& b) {
    // A tree equals itself unless its variables stand for different ones on the two sides.
    if (a.get() == b.get() && (free_ != Free::Renamed || !a.defined()) && renamed_bindings_ == 0) {
      return 0;
    }
    if (!a.defined() || !b.defined()) return order(a.defined(), b.defined());
    ++visits_;
    if (int d = order(a->kind, b->kind)) return d;
    if constexpr (std::is_same_v<H, Expr>) {
      if (int d = order(a.dtype(), b.dtype())) return d;
      if (!is_leaf(*a) && !a->refs.unique() && !b->refs.unique()) return compare_shared(*a, *b);
    }
    return compare_nodes(*a, *b);
  }
  // What stands in several places of both sides, and was equal in one, is equal in the others if
  // the variables that are free in it stand for one another there as well.
  int compare_shared(const ExprBase& a, const ExprBase& b) {
    if (++compared_ <= kVisitsBeforeMemory) return compare_nodes(a, b);
    const auto known = equal_.find(&a);
    if (known != equal_.end() && known->second.other == &b) {
      for (const auto& [x, y] : known->second.free) {
        if (int d = use(x, y)) return d;
      }
      return 0;
    }
    Part outside = std::exchange(part_, Part{.inside = true, .depth = undo_.size()});
    const int difference = compare_nodes(a, b);
    const Part part = std::exchange(part_, std::move(outside));
    for (const auto& [x, y] : part.free) note(x, y);
    if (difference == 0) equal_[&a] = {.other = &b, .free = part.free};
    return difference;
  }

  int compare_nodes(const ExprBase& a, const ExprBase& b) {
    switch (a.kind) {
#define EXPR_NODE(Name) \
  case NodeKind::Name:  \
    return compare_fields(static_cast<const Name&>(a), static_cast<const Name&>(b));
#define STMT_NODE(Name)
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE
      default:
        TW_CHECK(false, "a statement where an expression belongs");
    }
    return 0;
  }
  int compare_nodes(const StmtBase& a, const StmtBase& b) {
    switch (a.kind) {
#define EXPR_NODE(Name)
#define STMT_NODE(Name) \
  case NodeKind::Name:  \
    return compare_fields(static_cast<const Name&>(a), static_cast<const Name&>(b));
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE
      default:
        TW_CHECK(false, "an expression where a statement belongs");
    }
    return 0;
  }

  int compare_fields(const Variable& a, const Variable& b) { return use(&a, &b); }
  int compare_fields(const AttrStmt& a, const AttrStmt& b) {
    const Variable *bound_a = bound_by(a), *bound_b = bound_by(b);
    if (bound_a == nullptr || bound_b == nullptr) return compare_fields<AttrStmt>(a, b);
    if (int d = order(a.key, b.key)) return d;
    if (int d = compare(a.value, b.value)) return d;
    int difference = bind(Var(bound_a), Var(bound_b));
    if (difference == 0) difference = compare(a.body, b.body);
    unbind();
    return difference;
  }
  template <class T>
  int compare_fields(const T& a, const T& b) {
    const size_t depth = undo_.size();
    int difference = 0;
    for_each_field(a, b, [&](const auto& x, const auto& y) {
      if (difference == 0) difference = field<T>(x, y);
    });
    while (undo_.size() > depth) unbind();
    return difference;
  }

  template <class T, class F>
  int field(const F& a, const F& b) {
    if constexpr (std::is_same_v<F, Var>) {
      if constexpr (binds_var<T>) {
        return bind(a, b);
      } else {
        return use(a.operator->(), b.operator->());
      }
    } else {
      return value(a, b);
    }
  }

  int value(const Expr& a, const Expr& b) { return compare(a, b); }
  int value(const Stmt& a, const Stmt& b) { return compare(a, b); }
  int value(double a, double b) { return a < b ? -1 : (a > b ? 1 : order(bits_of(a), bits_of(b))); }
  int value(const Range& a, const Range& b) {
    if (int d = compare(a.min, b.min)) return d;
    return compare(a.extent, b.extent);
  }
  int value(const IterVar& a, const IterVar& b) {
    if (int d = value(a->domain, b->domain)) return d;
    if (int d = order(a->kind, b->kind)) return d;
    return bind(a.var(), b.var());
  }
  int value(const CommReducer& a, const CommReducer& b) {
    if (int d = value(a.identity, b.identity)) return d;
    if (int d = bind_list(a.lhs, b.lhs)) return d;
    if (int d = bind_list(a.rhs, b.rhs)) return d;
    return value(a.result, b.result);
  }
  int bind_list(const std::vector<Var>& a, const std::vector<Var>& b) {
    if (int d = order(a.size(), b.size())) return d;
    for (size_t i = 0; i < a.size(); ++i) {
      if (int d = bind(a[i], b[i])) return d;
    }
    return 0;
  }
  int value(const ProducerRef& a, const ProducerRef& b) { return use(a.get(), b.get()); }
  template <class T>
  int value(const std::vector<T>& a, const std::vector<T>& b) {
    if (int d = order(a.size(), b.size())) return d;
    for (size_t i = 0; i < a.size(); ++i) {
      if (int d = value(a[i], b[i])) return d;
    }
    return 0;
  }
  template <class T>
  int value(const T& a, const T& b) {
    return order(a, b);
  }

  static int signature(const Variable& a, const Variable& b) {
    if (int d = order(a.type, b.type)) return d;
    return a.type.is_handle() ? order(a.element, b.element) : 0;
  }
  static int signature(const Producer& a, const Producer& b) {
    if (int d = order(a.num_outputs(), b.num_outputs())) return d;
    for (int k = 0; k < a.num_outputs(); ++k) {
      if (int d = order(a.output_dtype(k), b.output_dtype(k))) return d;
    }
    return 0;
  }

  int use(const Variable* a, const Variable* b) {
    if (a == nullptr || b == nullptr) return order(a != nullptr, b != nullptr);
    const int level_a = level(level_a_, a), level_b = level(level_b_, b);
    note(a, b);
    if (level_a != 0 || level_b != 0) return order(level_a, level_b);
    return use_free(a, b, variables_);
  }
  int use(const Producer* a, const Producer* b) {
    if (a == nullptr || b == nullptr) return order(a != nullptr, b != nullptr);
    return use_free(a, b, producers_);
  }

  template <class T>
  struct Renaming {
    std::unordered_map<const T*, const T*> forward, back;
  };
  template <class T>
  int use_free(const T* a, const T* b, Renaming<T>& renaming) {
    if (free_ == Free::Renamed) {
      const auto [to, new_a] = renaming.forward.emplace(a, b);
      const auto [from, new_b] = renaming.back.emplace(b, a);
      if (to->second != b || from->second != a) return 1;
      return new_a ? signature(*a, *b) : 0;
    }
    if (a == b) return 0;
    if (int d = signature(*a, *b)) return d;
    if (free_ == Free::Identity) return 1;
    if (tie_ == 0) tie_ = order(a->name, b->name);
    if (tie_ == 0) tie_ = order(a->serial, b->serial);
    return 0;
  }

  using Levels = std::unordered_map<const Variable*, int>;
  static int level(const Levels& levels, const Variable* v) {
    if (levels.empty()) return 0;
    auto it = levels.find(v);
    return it == levels.end() ? 0 : it->second;
  }

  struct Binding {
    const Variable *a, *b;
    int outer_a, outer_b;
  };
  int bind(const Var& a, const Var& b) {
    const Variable *va = a.operator->(), *vb = b.operator->();
    int& level_a = level_a_[va];
    int& level_b = level_b_[vb];
    undo_.push_back({va, vb, level_a, level_b});
    level_a = level_b = static_cast<int>(undo_.size());
    renamed_bindings_ += va != vb;
    return signature(*va, *vb);
  }
  void unbind() {
    const Binding& last = undo_.back();
    level_a_[last.a] = last.outer_a;
    level_b_[last.b] = last.outer_b;
    renamed_bindings_ -= last.a != last.b;
    undo_.pop_back();
  }

  // The part that stands in several places and is being compared: what is free in it.
  using Pairs = std::unordered_map<const Variable*, const Variable*>;
  struct Part {
    bool inside = false;
    size_t depth = 0;  // of the bindings around it
    Pairs free;
  };
  void note(const Variable* a, const Variable* b) {
    if (part_.inside && static_cast<size_t>(level(level_a_, a)) <= part_.depth)
      part_.free.emplace(a, b);
  }

  Free free_;
  int tie_ = 0;               // the first difference of names, where the structure is the same
  Levels level_a_, level_b_;  // 1 for the outermost binding, 0 for free variables
  std::vector<Binding> undo_;
  int renamed_bindings_ = 0;  // bindings in force whose two sides are different variables
  Renaming<Variable> variables_;
  Renaming<Producer> producers_;
  uint64_t visits_ = 0;
  int compared_ = 0;
  Part part_;
  struct Counterpart {
    const ExprBase* other;
    Pairs free;
  };
  std::unordered_map<const ExprBase*, Counterpart> equal_;
};

// An expression with more parts than that, each counted in every place where it stands, is hashed
// part by part; the others in one go, which gives the values that logs hold.
constexpr int kMostPartsInOneGo = 1 << 16;

// Bound variables count from the outermost binding, free ones in the order they are met, so that
// the hash does not see names.
class Hash {
 public:
  Hash() = default;
  Hash(const Hash&) = delete;
  ~Hash() { count_visits(visits_); }
  uint64_t operator()(const Expr& e) {
    add(e);
    return state_;
  }
  uint64_t operator()(const Stmt& s) {
    add(s);
    return state_;
  }

 private:
  void mix(uint64_t v) {
    uint64_t x = (state_ ^ v) + 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    state_ = x ^ (x >> 31);
  }

  void add(const Expr& e) {
    if (!e.defined()) return mix(0);
    if (by_parts_) return add_part(e);
    if (std::exchange(inside_, true)) {
      if (++met_ <= kMostPartsInOneGo) add_node(e);
      return;
    }
    const uint64_t outside = state_;
    met_ = 0;
    add_node(e);
    if (met_ > kMostPartsInOneGo) {
      state_ = outside;
      by_parts_ = true;
      add_part(e);
      by_parts_ = false;
    }
    inside_ = false;
  }
  // The part by itself, the same wherever it stands, then what its variables are here.
  void add_part(const Expr& e) {
    if (const Variable* v = as<Variable>(e)) return use(*v);
    if (e->refs.unique()) return add_part(part_of(e));
    auto known = parts_.find(e.get());
    if (known == parts_.end()) known = parts_.emplace(e.get(), part_of(e)).first;
    add_part(known->second);
  }
  struct Part {
    uint64_t hash;
    std::vector<const Variable*> free;
  };
  void add_part(const Part& part) {
    mix(part.hash);
    for (const Variable* v : part.free) use(*v);
  }
  Part part_of(const Expr& e) {
    const uint64_t outside = std::exchange(state_, kStart);
    Variables around = std::exchange(variables_, {});
    add_node(e);
    const Variables own = std::exchange(variables_, std::move(around));
    Part part{.hash = std::exchange(state_, outside), .free = {}};
    part.free.resize(own.free.size());
    for (const auto& [v, number] : own.free) part.free[number] = v;
    return part;
  }
  void add_node(const Expr& e) {
    ++visits_;
    mix(static_cast<uint64_t>(e->kind) + 1);
    add(e.dtype());
    switch (e->kind) {
#define EXPR_NODE(Name) \
  case NodeKind::Name:  \
    return fields(static_cast<const Name&>(*e));
#define STMT_NODE(Name)
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE
      default:
        TW_CHECK(false, "a statement where an expression belongs");
    }
  }
  void add(const Stmt& s) {
    if (!s.defined()) return mix(0);
    mix(static_cast<uint64_t>(s->kind) + 1);
    switch (s->kind) {
#define EXPR_NODE(Name)
#define STMT_NODE(Name) \
  case NodeKind::Name:  \
    return fields(static_cast<const Name&>(*s));
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE
      default:
        TW_CHECK(false, "an expression where a statement belongs");
    }
  }

  void fields(const Variable& v) { use(v); }
  void fields(const AttrStmt& op) {
    const Variable* bound = bound_by(op);
    if (bound == nullptr) return fields<AttrStmt>(op);
    add(op.key);
    add(op.value);
    bind(Var(bound));
    add(op.body);
    unbind();
  }
  template <class T>
  void fields(const T& node) {
    const size_t depth = variables_.undo.size();
    for_each_field(node, [&](const auto& f) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(f)>, Var>) {
        binds_var<T> ? bind(f) : use(*f.operator->());
      } else {
        add(f);
      }
    });
    while (variables_.undo.size() > depth) unbind();
  }

  void add(DType t) { mix(uint64_t(t.code) << 32 | uint64_t(t.bits) << 16 | t.lanes); }
  void add(double v) { mix(bits_of(v)); }
  void add(const std::string& text) {
    mix(text.size());
    uint64_t h = 0xcbf29ce484222325;  // FNV-1a
    for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    mix(h);
  }
  void add(const Range& r) {
    add(r.min);
    add(r.extent);
  }
  void add(const IterVar& iv) {
    add(iv->domain);
    mix(static_cast<uint64_t>(iv->kind));
    bind(iv.var());
  }
  void add(const CommReducer& c) {
    add(c.identity);
    for (const Var& v : c.lhs) bind(v);
    for (const Var& v : c.rhs) bind(v);
    add(c.result);
  }
  void add(const ProducerRef& p) {
    const auto [it, first] = producers_.emplace(p.get(), producers_.size());
    mix(it->second);
    if (!first && !by_parts_) return;
    for (int k = 0; k < p->num_outputs(); ++k) add(p->output_dtype(k));
  }
  template <class T>
  void add(const std::vector<T>& list) {
    mix(list.size());
    for (const T& x : list) add(x);
  }
  template <class T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  void add(T value) {
    mix(static_cast<uint64_t>(value));
  }

  void signature(const Variable& v) {
    add(v.type);
    if (v.type.is_handle()) add(v.element);
  }
  void bind(const Var& v) {
    int& level = variables_.levels[v.operator->()];
    variables_.undo.emplace_back(v.operator->(), level);
    level = static_cast<int>(variables_.undo.size());
    signature(*v.operator->());
  }
  void unbind() {
    auto& [levels, undo, free] = variables_;
    levels[undo.back().first] = undo.back().second;
    undo.pop_back();
  }
  void use(const Variable& v) {
    auto& [levels, undo, free] = variables_;
    auto it = levels.find(&v);
    if (it != levels.end() && it->second != 0) return mix(static_cast<uint64_t>(it->second));
    const auto [number, first] = free.emplace(&v, free.size());
    mix(number->second | uint64_t{1} << 32);
    if (first) signature(v);
  }

  static constexpr uint64_t kStart = 0x74696c6577726967;
  uint64_t state_ = kStart;
  uint64_t visits_ = 0;
  bool inside_ = false;    // of an expression
  int met_ = 0;            // parts of it
  bool by_parts_ = false;  // as there are many
  std::unordered_map<const ExprBase*, Part> parts_;
  // Of the whole, or of one part.
  struct Variables {
    std::unordered_map<const Variable*, int> levels;  // of those that are bound
    std::vector<std::pair<const Variable*, int>> undo;
    std::unordered_map<const Variable*, size_t> free;
  };
  Variables variables_;
  std::unordered_map<const Producer*, size_t> producers_;
};

Free matching(const EqualOptions& options) {
  return options.map_free_vars ? Free::Renamed : Free::Identity;
}

}  // namespace

bool equal(const Expr& a, const Expr& b, const EqualOptions& options) {
  return Comparison(matching(options))(a, b) == 0;
}
bool equal(const Stmt& a, const Stmt& b, const EqualOptions& options) {
  return Comparison(matching(options))(a, b) == 0;
}
uint64_t structural_hash(const Expr& e) { return Hash()(e); }
uint64_t structural_hash(const Stmt& s) { return Hash()(s); }
int compare(const Expr& a, const Expr& b) { return Comparison(Free::ByName)(a, b); }

}  // namespace tw
