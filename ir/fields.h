// SPDX-License-Identifier: Apache-2.0
// What each node consists of, as tuples of member pointers. The generic walks (visit, mutate,
// equal, hash) are written once over these; include this only where such a walk is defined.
#pragma once

#include <tuple>
#include <type_traits>
#include <vector>

#include "ir/node.h"

namespace tw {

template <class T>
struct NodeFields;

#define TW_FIELDS(Name, ...)                                    \
  template <>                                                   \
  struct NodeFields<Name> {                                     \
    using N = Name;                                             \
    static constexpr auto value = std::make_tuple(__VA_ARGS__); \
  };
TW_FIELDS(Variable, &N::type)
TW_FIELDS(IntImm, &N::type, &N::value)
TW_FIELDS(FloatImm, &N::type, &N::value)
TW_FIELDS(StringImm, &N::value)
TW_FIELDS(Cast, &N::type, &N::value)
#define BINARY_NODE(Name) TW_FIELDS(Name, &N::a, &N::b)
#include "ir/binary_nodes.def"
#undef BINARY_NODE
TW_FIELDS(Not, &N::a)
TW_FIELDS(Select, &N::condition, &N::true_value, &N::false_value)
TW_FIELDS(Load, &N::type, &N::buffer, &N::index, &N::predicate)
TW_FIELDS(Ramp, &N::base, &N::stride, &N::lanes)
TW_FIELDS(Broadcast, &N::value, &N::lanes)
TW_FIELDS(Shuffle, &N::vectors, &N::indices)
TW_FIELDS(Call, &N::type, &N::name, &N::args, &N::call_kind)
TW_FIELDS(Let, &N::value, &N::var, &N::body)
TW_FIELDS(Reduce, &N::axis, &N::combiner, &N::source, &N::condition, &N::value_index)
TW_FIELDS(ProducerLoad, &N::producer, &N::value_index, &N::indices)
TW_FIELDS(LetStmt, &N::value, &N::var, &N::body)
TW_FIELDS(AttrStmt, &N::node, &N::key, &N::value, &N::body)
TW_FIELDS(AssertStmt, &N::condition, &N::message, &N::body)
TW_FIELDS(For, &N::min, &N::extent, &N::var, &N::for_kind, &N::body)
TW_FIELDS(While, &N::condition, &N::body)
TW_FIELDS(Allocate, &N::buffer, &N::type, &N::extents, &N::scope, &N::body)
TW_FIELDS(Store, &N::buffer, &N::value, &N::index, &N::predicate)
TW_FIELDS(Provide, &N::producer, &N::value_index, &N::value, &N::indices)
TW_FIELDS(Realize, &N::producer, &N::value_index, &N::bounds, &N::scope, &N::body)
TW_FIELDS(Produce, &N::producer, &N::body)
TW_FIELDS(Prefetch, &N::producer, &N::value_index, &N::bounds, &N::for_write)
TW_FIELDS(Block, &N::stmts)
TW_FIELDS(IfThenElse, &N::condition, &N::then_case, &N::else_case)
TW_FIELDS(Evaluate, &N::value)
#undef TW_FIELDS

// Whether no expression stands in it.
inline bool is_leaf(const ExprBase& e) {
  return e.kind == NodeKind::Variable || e.kind == NodeKind::IntImm ||
         e.kind == NodeKind::FloatImm || e.kind == NodeKind::StringImm;
}

// A Var field of these binds the variable for the fields after it, up to the end of the node; of
// others (Load, Store) it is a use. A Reduce binds its axes and the operands of its combiner.
template <class T>
inline constexpr bool binds_var = std::is_same_v<T, Let> || std::is_same_v<T, LetStmt> ||
                                  std::is_same_v<T, For> || std::is_same_v<T, Allocate>;

// f(field) for each field of `node`, in the order of the table.
template <class T, class F>
void for_each_field(T& node, F&& f) {
  std::apply([&](auto... member) { (f(node.*member), ...); },
             NodeFields<std::remove_const_t<T>>::value);
}
// f(field of a, field of b) for each field.
template <class T, class F>
void for_each_field(T& a, T& b, F&& f) {
  std::apply([&](auto... member) { (f(a.*member, b.*member), ...); },
             NodeFields<std::remove_const_t<T>>::value);
}

// How a generic walk meets a field: expressions, statements and what contains them; anything else
// is data and is passed over.
template <class F>
struct FieldWalk {
  F& f;
  void operator()(const Expr& e) { f.visit(e); }
  void operator()(const Stmt& s) { f.visit(s); }
  void operator()(const std::vector<Expr>& list) {
    for (const Expr& e : list) f.visit(e);
  }
  void operator()(const std::vector<Stmt>& list) {
    for (const Stmt& s : list) f.visit(s);
  }
  void operator()(const std::vector<Range>& list) {
    for (const Range& r : list) {
      f.visit(r.min);
      f.visit(r.extent);
    }
  }
  void operator()(const std::vector<IterVar>& list) {
    for (const IterVar& iv : list) {
      f.visit(iv->domain.min);
      f.visit(iv->domain.extent);
    }
  }
  void operator()(const Var&) {}  // binding and buffer positions are not uses of a value
  template <class T>
  void operator()(const T&) {}
};

}  // namespace tw
