// SPDX-License-Identifier: Apache-2.0
// The nodes of the IR. They are immutable aggregates: build one with
//   make(For{.var = i, .min = 0, .extent = n, .body = body})
// and change one field with
//   with(loop, [&](For& f) { f.body = other; })
// so that a new field touches only the code that cares about it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/dtype.h"
#include "runtime/ref.h"

namespace tw {

enum class NodeKind : uint8_t {
#define EXPR_NODE(Name) Name,
#define STMT_NODE(Name) Name,
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE
};
std::string_view to_string(NodeKind kind);

// A set of kinds.
class KindSet {
 public:
  constexpr KindSet() = default;
  constexpr explicit KindSet(uint64_t bits) : bits_(bits) {}
  constexpr KindSet(std::initializer_list<NodeKind> kinds) {
    for (const NodeKind kind : kinds) bits_ |= uint64_t{1} << static_cast<unsigned>(kind);
  }
  static constexpr KindSet all() { return KindSet(~uint64_t{0}); }

  constexpr uint64_t bits() const { return bits_; }
  constexpr bool meets(KindSet other) const { return (bits_ & other.bits_) != 0; }

 private:
  uint64_t bits_ = 0;
};

// `inside`: the kinds of all nodes that a walk meets in this one, its own among them, as the bits
// of a KindSet. A walk that looks for some kinds passes over what has none of them. `make` computes
// it, and `dtype` where the operands decide it.
struct ExprBase {
  RefCount refs;
  NodeKind kind;
  DType dtype;
  uint32_t inside = 0;  // expressions have the first kinds
  ExprBase(NodeKind k) : kind(k) {}
};
struct StmtBase {
  RefCount refs;
  NodeKind kind;
  uint64_t inside = 0;
  StmtBase(NodeKind k) : kind(k) {}
};
void destroy(const ExprBase* node);
void destroy(const StmtBase* node);

template <NodeKind K>
struct ExprNode : ExprBase {
  static constexpr NodeKind node_kind = K;
  ExprNode() : ExprBase(K) {}
};
template <NodeKind K>
struct StmtNode : StmtBase {
  static constexpr NodeKind node_kind = K;
  StmtNode() : StmtBase(K) {}
};

class Expr : public Ref<ExprBase> {
 public:
  using Ref::Ref;
  Expr(int value);  // int32 constant
  // Other numbers do not become int32 silently: say make_const(type, value).
  template <class T>
    requires(std::is_arithmetic_v<T> && !std::is_same_v<T, int>)
  Expr(T) = delete;
  static Expr of(const ExprBase* node) { return Expr(node); }
  DType dtype() const { return get()->dtype; }
};
class Stmt : public Ref<StmtBase> {
 public:
  using Ref::Ref;
};

// The node if it is a T, otherwise null. Null handles give null.
template <class T, class H>
const T* as(const H& handle) {
  return handle.get() != nullptr && handle->kind == T::node_kind
             ? static_cast<const T*>(handle.get())
             : nullptr;
}
template <class T, class H>
bool is(const H& handle) {
  return as<T>(handle) != nullptr;
}

// Whether a node of one of these kinds stands in it. Null handles have none.
template <class H>
bool has(const H& handle, KindSet kinds) {
  return handle.get() != nullptr && KindSet(handle->inside).meets(kinds);
}

// ---------------------------------------------------------------------------------------------
// Leaves

// A variable is its identity; two variables of one name are different variables, and only the
// printer makes names unique.
struct Variable : ExprNode<NodeKind::Variable> {
  std::string name;
  DType type = int_type(32);
  DType element = {};    // of a buffer (type is handle): what it holds
  bool reduces = false;  // an axis of reductions: it has values inside of a reduction over it only
  uint64_t serial = 0;   // order of creation, given by `make`: breaks ties between equal names
};

class Var : public Expr {
 public:
  Var() = default;
  explicit Var(std::string name, DType type = int_type(32));
  explicit Var(const Variable* node) : Expr(node) {}
  const Variable* operator->() const { return static_cast<const Variable*>(get()); }
  const std::string& name() const { return operator->()->name; }
};
// A handle to elements of `element` type.
Var buffer_var(std::string name, DType element);

// `value` is sign- or zero-extended from the type's width; also holds bool (0 or 1).
struct IntImm : ExprNode<NodeKind::IntImm> {
  DType type = int_type(32);
  int64_t value = 0;
};
struct FloatImm : ExprNode<NodeKind::FloatImm> {
  DType type = float_type(32);
  double value = 0;  // rounded to the type by `make`
};
struct StringImm : ExprNode<NodeKind::StringImm> {
  std::string value;
};

// ---------------------------------------------------------------------------------------------
// Arithmetic. Operands have one type, which is the result's (comparisons: bool of the same lanes).
// Integer overflow of signed types is undefined; unsigned types wrap.

struct Cast : ExprNode<NodeKind::Cast> {
  DType type = {};
  Expr value;
};

struct Add : ExprNode<NodeKind::Add> {
  Expr a, b;
};
struct Sub : ExprNode<NodeKind::Sub> {
  Expr a, b;
};
struct Mul : ExprNode<NodeKind::Mul> {
  Expr a, b;
};
struct Div : ExprNode<NodeKind::Div> {  // integers round towards zero
  Expr a, b;
};
struct Mod : ExprNode<NodeKind::Mod> {  // sign of the dividend
  Expr a, b;
};
struct FloorDiv : ExprNode<NodeKind::FloorDiv> {  // integers round towards minus infinity
  Expr a, b;
};
struct FloorMod : ExprNode<NodeKind::FloorMod> {  // sign of the divisor
  Expr a, b;
};
struct Min : ExprNode<NodeKind::Min> {
  Expr a, b;
};
struct Max : ExprNode<NodeKind::Max> {
  Expr a, b;
};
struct Equal : ExprNode<NodeKind::Equal> {
  Expr a, b;
};
struct NotEqual : ExprNode<NodeKind::NotEqual> {
  Expr a, b;
};
struct Less : ExprNode<NodeKind::Less> {
  Expr a, b;
};
struct LessEqual : ExprNode<NodeKind::LessEqual> {
  Expr a, b;
};
struct Greater : ExprNode<NodeKind::Greater> {
  Expr a, b;
};
struct GreaterEqual : ExprNode<NodeKind::GreaterEqual> {
  Expr a, b;
};
struct And : ExprNode<NodeKind::And> {  // both sides may be evaluated
  Expr a, b;
};
struct Or : ExprNode<NodeKind::Or> {
  Expr a, b;
};
struct Not : ExprNode<NodeKind::Not> {
  Expr a;
};
// Both sides are evaluated; `Call::if_then_else` evaluates only the chosen one.
struct Select : ExprNode<NodeKind::Select> {
  Expr condition, true_value, false_value;
};

// ---------------------------------------------------------------------------------------------
// Memory and vectors

// buffer[index], in elements of the load's scalar type. `predicate` undefined means every lane;
// lanes that it turns off touch no memory and give zero.
struct Load : ExprNode<NodeKind::Load> {
  DType type = {};
  Var buffer;
  Expr index;
  Expr predicate;
};
// base, base + stride, …, base + (lanes - 1) * stride
struct Ramp : ExprNode<NodeKind::Ramp> {
  Expr base, stride;
  int lanes = 1;
};
struct Broadcast : ExprNode<NodeKind::Broadcast> {
  Expr value;
  int lanes = 1;
};
// Lanes picked from the concatenation of `vectors`.
struct Shuffle : ExprNode<NodeKind::Shuffle> {
  std::vector<Expr> vectors;
  std::vector<int> indices;
};

// What a call may do decides whether it can be moved, merged or dropped.
enum class CallKind : uint8_t {
  PureIntrinsic,  // named in ir/intrinsics.def; no effect
  Intrinsic,      // named in ir/intrinsics.def; has an effect
  PureExtern,     // a C function without effects
  Extern,
};
struct Call : ExprNode<NodeKind::Call> {
  DType type = {};
  std::string name;
  std::vector<Expr> args;
  CallKind call_kind = CallKind::PureIntrinsic;
};
struct Let : ExprNode<NodeKind::Let> {
  Var var;
  Expr value, body;
};

// ---------------------------------------------------------------------------------------------
// What tensor expressions add; gone after storage flattening

struct Range {
  Expr min, extent;
};

enum class IterKind : uint8_t {
  DataParallel,  // independent iterations
  Reduction,     // iterations combine through a reducer
  Ordered,       // must run in order
  Opaque,        // loop structure inside an operation that cannot be scheduled
};
struct IterVarNode : Object {
  Range domain;
  Var var;
  IterKind kind = IterKind::DataParallel;
};
class IterVar : public Ref<IterVarNode> {
 public:
  using Ref::Ref;
  IterVar(Range domain, Var var, IterKind kind);
  const Var& var() const { return get()->var; }
  const std::string& name() const { return get()->var.name(); }
};

// The next number in order of creation.
uint64_t next_serial();

// Anything whose values can be read by position: a te operation. The IR knows its identity only.
struct Producer : Object {
  std::string name;
  uint64_t serial = next_serial();
  virtual int num_outputs() const = 0;
  virtual DType output_dtype(int value_index) const = 0;
  virtual std::vector<Expr> output_shape(int value_index) const = 0;
};
using ProducerRef = Ref<Producer>;

// How tuples are combined: result[k](lhs…, rhs…), from the identity of each component on. What a
// schedule may take for granted of it, schedule/te/term_order.h says.
struct CommReducer {
  std::vector<Var> lhs, rhs;
  std::vector<Expr> result;
  std::vector<Expr> identity;
};
// The `value_index`-th component of reducing `source` over `axis`, where `condition` holds.
struct Reduce : ExprNode<NodeKind::Reduce> {
  CommReducer combiner;
  std::vector<Expr> source;
  std::vector<IterVar> axis;
  Expr condition;  // bool; undefined means always
  int value_index = 0;
};
struct ProducerLoad : ExprNode<NodeKind::ProducerLoad> {
  ProducerRef producer;
  int value_index = 0;
  std::vector<Expr> indices;
};

// ---------------------------------------------------------------------------------------------
// Statements

struct LetStmt : StmtNode<NodeKind::LetStmt> {
  Var var;
  Expr value;
  Stmt body;
};
// A fact about `node` (often a variable) that holds in `body`; keys are in ir/attributes.h.
struct AttrStmt : StmtNode<NodeKind::AttrStmt> {
  Expr node;
  std::string key;
  Expr value;
  Stmt body;
};
// The variable that the attribute binds in `body`, otherwise null: the task of a parallel launch.
const Variable* bound_by(const AttrStmt& op);
// Checked at run time before `body`; `error_code` is the ErrorCode that the failure raises.
struct AssertStmt : StmtNode<NodeKind::AssertStmt> {
  Expr condition;
  Expr message;
  Stmt body;
};

enum class ForKind : uint8_t { Serial, Parallel, Vectorized, Unrolled };
std::string_view to_string(ForKind kind);  // "for", "parallel", "vectorized", "unrolled"
// for var in [min, min + extent)
struct For : StmtNode<NodeKind::For> {
  Var var;
  Expr min, extent;
  ForKind for_kind = ForKind::Serial;
  Stmt body;
};
// Runs `body` as long as `condition` holds, which is evaluated again before each round and so reads
// what the body has written.
struct While : StmtNode<NodeKind::While> {
  Expr condition;
  Stmt body;
};
// `extents` multiply to the number of elements; scope "global", "local" (registers or stack), or
// attr::kTileScope.
struct Allocate : StmtNode<NodeKind::Allocate> {
  Var buffer;
  DType type = {};
  std::vector<Expr> extents;
  std::string scope = "global";
  Stmt body;
};
struct Store : StmtNode<NodeKind::Store> {
  Var buffer;
  Expr value, index;
  Expr predicate;  // undefined means every lane
};
// producer(indices…) = value, before flattening.
struct Provide : StmtNode<NodeKind::Provide> {
  ProducerRef producer;
  int value_index = 0;
  Expr value;
  std::vector<Expr> indices;
};
// The region of an output that is live in `body`.
struct Realize : StmtNode<NodeKind::Realize> {
  ProducerRef producer;
  int value_index = 0;
  std::vector<Range> bounds;
  std::string scope = "global";
  Stmt body;
};
// `body` computes what `name` stands for; printed as produce name { … }.
struct Produce : StmtNode<NodeKind::Produce> {
  ProducerRef producer;
  Stmt body;
};
struct Prefetch : StmtNode<NodeKind::Prefetch> {
  ProducerRef producer;
  int value_index = 0;
  std::vector<Range> bounds;
  bool for_write = false;
};
// At least two statements, none of them a Block; `block` below keeps it so.
struct Block : StmtNode<NodeKind::Block> {
  std::vector<Stmt> stmts;
};
struct IfThenElse : StmtNode<NodeKind::IfThenElse> {
  Expr condition;
  Stmt then_case;
  Stmt else_case;  // may be undefined
};
struct Evaluate : StmtNode<NodeKind::Evaluate> {
  Expr value;
};

// ---------------------------------------------------------------------------------------------
// Building

// `finish` checks the operands and computes `dtype` and `inside`; one overload a node, in node.cc.
#define EXPR_NODE(Name) void finish(Name& node);
#define STMT_NODE(Name) void finish(Name& node);
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE

template <class T>
  requires std::is_base_of_v<ExprBase, T>
Expr make(T node) {
  finish(node);
  return Expr(new T(std::move(node)));
}
template <class T>
  requires std::is_base_of_v<StmtBase, T>
Stmt make(T node) {
  finish(node);
  return Stmt(new T(std::move(node)));
}

// A copy of `handle` with an edit applied: with(s, [&](For& f) { f.body = b; }).
namespace detail {
template <class F, class T>
T edited_argument(void (F::*)(T&) const);
template <class F>
using EditedNode = decltype(edited_argument(&F::operator()));
}  // namespace detail
template <class H, class F>
H with(const H& handle, F edit) {
  using T = detail::EditedNode<F>;
  T copy = *as<T>(handle);
  edit(copy);
  return make(std::move(copy));
}

// Sequences `stmts`, flattening blocks and skipping undefined ones; undefined when all are.
Stmt block(const std::vector<Stmt>& stmts);

}  // namespace tw
