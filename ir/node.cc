// SPDX-License-Identifier: Apache-2.0
#include "ir/node.h"

#include <fmt/format.h>

#include <atomic>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/fields.h"
#include "runtime/element.h"
#include "runtime/error.h"

namespace tw {
namespace {

constexpr std::string_view kKindNames[] = {
#define EXPR_NODE(Name) #Name,
#define STMT_NODE(Name) #Name,
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE
};

[[noreturn]] void malformed(NodeKind kind, std::string_view what) {
  raise({.code = ErrorCode::MalformedIr, .what = fmt::format("{}: {}", to_string(kind), what)});
}

void require(bool condition, NodeKind kind, std::string_view what) {
  if (!condition) malformed(kind, what);
}

template <class T>
void infer_binary(T& n, bool comparison) {
  constexpr NodeKind K = T::node_kind;
  require(n.a.defined() && n.b.defined(), K, "operand missing");
  if (n.a.dtype() != n.b.dtype()) {
    malformed(K, fmt::format("operands of type {} and {}", to_string(n.a.dtype()),
                             to_string(n.b.dtype())));
  }
  n.dtype = comparison ? bool_type(n.a.dtype().lanes) : n.a.dtype();
}

template <class T>
void infer_logical(T& n) {
  infer_binary(n, false);
  require(n.dtype.is_bool(), T::node_kind, "operands are not bool");
}

}  // namespace

std::string_view to_string(NodeKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

std::string_view to_string(ForKind kind) {
  switch (kind) {
    case ForKind::Serial:
      return "for";
    case ForKind::Parallel:
      return "parallel";
    case ForKind::Vectorized:
      return "vectorized";
    case ForKind::Unrolled:
      return "unrolled";
  }
  return "for";
}

const Variable* bound_by(const AttrStmt& op) {
  const bool binds = attr::is_parallel_launch(op.key) || op.key == attr::kBufferBind;
  return binds ? as<Variable>(op.node) : nullptr;
}

void destroy(const ExprBase* node) {
  switch (node->kind) {
#define EXPR_NODE(Name)                    \
  case NodeKind::Name:                     \
    delete static_cast<const Name*>(node); \
    return;
#define STMT_NODE(Name)
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE
    default:
      return;
  }
}

void destroy(const StmtBase* node) {
  switch (node->kind) {
#define EXPR_NODE(Name)
#define STMT_NODE(Name)                    \
  case NodeKind::Name:                     \
    delete static_cast<const Name*>(node); \
    return;
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE
    default:
      return;
  }
}

Expr::Expr(int value) : Expr(make_const(int_type(32), value)) {}

Var::Var(std::string name, DType type)
    : Expr(make(Variable{.name = std::move(name), .type = type})) {}

// Memory holds scalars: of a vector type it is that of the lanes.
Var buffer_var(std::string name, DType element) {
  Expr e =
      make(Variable{.name = std::move(name), .type = handle_type(), .element = element.element()});
  return Var(as<Variable>(e));
}

IterVar::IterVar(Range domain, Var var, IterKind kind) {
  auto* node = new IterVarNode;
  node->domain = std::move(domain);
  node->var = std::move(var);
  node->kind = kind;
  *this = IterVar(node);
}

uint64_t next_serial() {
  static std::atomic<uint64_t> last = 0;
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

namespace {

// What is there, of which type; one overload a node.
void infer(Variable& n) {
  n.dtype = n.type;
  n.serial = next_serial();
}
void infer(IntImm& n) {
  require(n.type.is_integer() || n.type.is_bool() || n.type.is_handle(), n.node_kind,
          "not an integer type");
  require(!n.type.is_vector(), n.node_kind, "vector constants are broadcasts");
  n.value = wrap_to(n.type, n.value);
  n.dtype = n.type;
}
void infer(FloatImm& n) {
  require(n.type.is_float() && !n.type.is_vector(), n.node_kind, "not a scalar floating type");
  n.value = round_to(n.type, n.value);
  n.dtype = n.type;
}
void infer(StringImm& n) { n.dtype = handle_type(); }
void infer(Cast& n) {
  require(n.value.defined(), n.node_kind, "operand missing");
  require(n.type.lanes == n.value.dtype().lanes, n.node_kind, "lanes differ");
  n.dtype = n.type;
}
void infer(Add& n) { infer_binary(n, false); }
void infer(Sub& n) { infer_binary(n, false); }
void infer(Mul& n) { infer_binary(n, false); }
void infer(Div& n) { infer_binary(n, false); }
void infer(Mod& n) { infer_binary(n, false); }
void infer(FloorDiv& n) { infer_binary(n, false); }
void infer(FloorMod& n) { infer_binary(n, false); }
void infer(Min& n) { infer_binary(n, false); }
void infer(Max& n) { infer_binary(n, false); }
void infer(Equal& n) { infer_binary(n, true); }
void infer(NotEqual& n) { infer_binary(n, true); }
void infer(Less& n) { infer_binary(n, true); }
void infer(LessEqual& n) { infer_binary(n, true); }
void infer(Greater& n) { infer_binary(n, true); }
void infer(GreaterEqual& n) { infer_binary(n, true); }
void infer(And& n) { infer_logical(n); }
void infer(Or& n) { infer_logical(n); }
void infer(Not& n) {
  require(n.a.defined() && n.a.dtype().is_bool(), n.node_kind, "operand is not bool");
  n.dtype = n.a.dtype();
}
void infer(Select& n) {
  require(n.condition.defined() && n.true_value.defined() && n.false_value.defined(), n.node_kind,
          "operand missing");
  require(n.condition.dtype().is_bool(), n.node_kind, "condition is not bool");
  require(n.true_value.dtype() == n.false_value.dtype(), n.node_kind, "sides of different types");
  const int lanes = n.condition.dtype().lanes;
  require(lanes == 1 || lanes == n.true_value.dtype().lanes, n.node_kind, "lanes differ");
  n.dtype = n.true_value.dtype();
}
void infer(Load& n) {
  require(n.buffer.defined() && n.index.defined(), n.node_kind, "operand missing");
  n.type = n.type.with_lanes(n.index.dtype().lanes);
  require(!n.predicate.defined() || n.predicate.dtype() == bool_type(n.type.lanes), n.node_kind,
          "predicate is not bool of the index's lanes");
  n.dtype = n.type;
}
void infer(Ramp& n) {
  require(n.base.defined() && n.stride.defined(), n.node_kind, "operand missing");
  require(n.base.dtype() == n.stride.dtype() && !n.base.dtype().is_vector(), n.node_kind,
          "base and stride are not of one scalar type");
  require(n.lanes > 1, n.node_kind, "fewer than two lanes");
  n.dtype = n.base.dtype().with_lanes(n.lanes);
}
void infer(Broadcast& n) {
  require(n.value.defined() && !n.value.dtype().is_vector(), n.node_kind, "value is not a scalar");
  require(n.lanes > 1, n.node_kind, "fewer than two lanes");
  n.dtype = n.value.dtype().with_lanes(n.lanes);
}
void infer(Shuffle& n) {
  require(!n.vectors.empty() && !n.indices.empty(), n.node_kind, "operand missing");
  int total = 0;
  for (const Expr& v : n.vectors) {
    require(v.dtype().element() == n.vectors[0].dtype().element(), n.node_kind, "mixed types");
    total += v.dtype().lanes;
  }
  for (int i : n.indices) require(0 <= i && i < total, n.node_kind, "index out of range");
  n.dtype = n.vectors[0].dtype().with_lanes(static_cast<int>(n.indices.size()));
}
void infer(Call& n) {
  for (const Expr& a : n.args) require(a.defined(), n.node_kind, "argument missing");
  n.dtype = n.type;
}
void infer(Let& n) {
  require(n.var.defined() && n.value.defined() && n.body.defined(), n.node_kind, "operand missing");
  require(n.var.dtype() == n.value.dtype(), n.node_kind, "variable and value of different types");
  n.dtype = n.body.dtype();
}
void infer(Reduce& n) {
  const size_t k = n.source.size();
  require(k > 0 && n.combiner.lhs.size() == k && n.combiner.rhs.size() == k &&
              n.combiner.result.size() == k && n.combiner.identity.size() == k,
          n.node_kind, "reducer and source differ in length");
  require(0 <= n.value_index && static_cast<size_t>(n.value_index) < k, n.node_kind,
          "value index out of range");
  n.dtype = n.source[static_cast<size_t>(n.value_index)].dtype();
}
void infer(ProducerLoad& n) {
  require(n.producer.defined(), n.node_kind, "producer missing");
  n.dtype = n.producer->output_dtype(n.value_index);
}

void infer(LetStmt& n) {
  require(n.var.defined() && n.value.defined() && n.body.defined(), n.node_kind, "operand missing");
  require(n.var.dtype() == n.value.dtype(), n.node_kind, "variable and value of different types");
}
void infer(AttrStmt& n) { require(n.body.defined(), n.node_kind, "body missing"); }
void infer(AssertStmt& n) {
  require(n.condition.defined() && n.condition.dtype() == bool_type(), n.node_kind,
          "condition is not a scalar bool");
}
void infer(For& n) {
  require(n.var.defined() && n.min.defined() && n.extent.defined() && n.body.defined(), n.node_kind,
          "operand missing");
  require(n.min.dtype() == n.var.dtype() && n.extent.dtype() == n.var.dtype(), n.node_kind,
          "loop variable, minimum and extent of different types");
}
void infer(Allocate& n) {
  require(n.buffer.defined() && n.buffer.dtype().is_handle() && n.body.defined(), n.node_kind,
          "buffer or body missing");
}
void infer(Store& n) {
  require(n.buffer.defined() && n.value.defined() && n.index.defined(), n.node_kind,
          "operand missing");
  require(n.value.dtype().lanes == n.index.dtype().lanes, n.node_kind,
          "value and index differ in lanes");
  require(!n.predicate.defined() || n.predicate.dtype() == bool_type(n.index.dtype().lanes),
          n.node_kind, "predicate is not bool of the index's lanes");
}
void infer(Provide& n) {
  require(n.producer.defined() && n.value.defined(), n.node_kind, "operand missing");
}
void infer(Realize& n) {
  require(n.producer.defined() && n.body.defined(), n.node_kind, "operand missing");
}
void infer(Produce& n) {
  require(n.producer.defined() && n.body.defined(), n.node_kind, "operand missing");
}
void infer(Prefetch& n) { require(n.producer.defined(), n.node_kind, "producer missing"); }
void infer(Block& n) {
  require(n.stmts.size() >= 2, n.node_kind, "fewer than two statements");
  for (const Stmt& s : n.stmts) {
    require(s.defined() && !is<Block>(s), n.node_kind, "undefined or nested; use block()");
  }
}
void infer(While& n) {
  require(n.condition.defined() && n.condition.dtype() == bool_type() && n.body.defined(),
          n.node_kind, "condition is not a scalar bool, or the body is missing");
}
void infer(IfThenElse& n) {
  require(n.condition.defined() && n.condition.dtype() == bool_type() && n.then_case.defined(),
          n.node_kind, "condition is not a scalar bool, or the first case is missing");
}
void infer(Evaluate& n) { require(n.value.defined(), n.node_kind, "operand missing"); }

// What is inside of a node's fields.
struct Inside {
  uint64_t kinds = 0;
  template <class H>
  void visit(const H& node) {
    if (node.defined()) kinds |= node->inside;
  }
};

template <class T>
uint64_t kinds_inside(const T& node) {
  Inside inside{KindSet{T::node_kind}.bits()};
  FieldWalk<Inside> walk{inside};
  for_each_field(node, walk);
  return inside.kinds;
}

}  // namespace

#define EXPR_NODE(Name)                                                                     \
  static_assert(KindSet{NodeKind::Name}.bits() >> 32 == 0, "ExprBase::inside has no room"); \
  void finish(Name& n) {                                                                    \
    infer(n);                                                                               \
    n.inside = static_cast<uint32_t>(kinds_inside(n));                                      \
  }
#define STMT_NODE(Name)         \
  void finish(Name& n) {        \
    infer(n);                   \
    n.inside = kinds_inside(n); \
  }
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE

Stmt block(const std::vector<Stmt>& stmts) {
  std::vector<Stmt> flat;
  for (const Stmt& s : stmts) {
    if (!s.defined()) continue;
    if (const Block* b = as<Block>(s)) {
      flat.insert(flat.end(), b->stmts.begin(), b->stmts.end());
    } else {
      flat.push_back(s);
    }
  }
  if (flat.empty()) return {};
  return flat.size() == 1 ? flat[0] : make(Block{.stmts = std::move(flat)});
}

}  // namespace tw
