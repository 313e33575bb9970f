// SPDX-License-Identifier: Apache-2.0
#include "schedule/te/check_body.h"

#include <fmt/format.h>

#include <vector>

#include "ir/expr.h"
#include "ir/print.h"
#include "ir/share.h"
#include "ir/visit.h"
#include "runtime/error.h"
#include "schedule/te/ragged.h"

namespace tw::te {
namespace {

// What the recursion of every later walk is sure to stand.
constexpr int kMostLevels = 2000;
// Beyond that compiling takes minutes.
constexpr int kMostParts = 65536;
// Up to here a body stays as it was written, and is computed as often as it says.
constexpr int kPlainParts = 4096;

[[noreturn]] void too_large(int most, const char* unit, const std::string& stage,
                            const char* legal) {
  raise({.code = ErrorCode::BadArgument,
         .what = fmt::format("a body of more than {} {}", most, unit),
         .stage = stage,
         .legal = legal});
}
void check_levels(const Expr& e, const std::string& stage) {
  if (!deeper_than(e, kMostLevels)) return;
  too_large(kMostLevels, "levels", stage,
            "a reduction, or a compute for each part of the expression");
}
[[noreturn]] void too_many_parts(const std::string& stage) {
  too_large(kMostParts, "parts", stage,
            "stages that are computed and not inlined, where much is repeated");
}
void check_size(const Expr& e, const std::string& stage) {
  check_levels(e, stage);
  if (has_more_parts_than(e, kMostParts)) too_many_parts(stage);
}

// Parts that stand in several places count in each, as every later walk meets them there: a chain
// of stages that each read the last one twice doubles with every compute_inline. So they are bound.
Expr bounded(const Expr& e, const std::string& stage) {
  if (!e.defined()) return e;
  check_levels(e, stage);
  if (!has_more_parts_than(e, kPlainParts)) return e;
  const Expr bound = bind_shared_parts(e, kMostParts);
  if (!bound.defined()) too_many_parts(stage);
  check_levels(bound, stage);
  return bound;
}
Expr bounded_body(const Expr& body, const std::string& stage) {
  const Reduce* reduce = as<Reduce>(body);
  if (reduce == nullptr) return bounded(body, stage);
  bool same = true;
  const auto bind = [&](Expr& e) {
    const Expr bound = bounded(e, stage);
    same = same && bound.same_as(e);
    e = bound;
  };
  const Expr changed = with(body, [&](Reduce& r) {
    for (Expr& e : r.source) bind(e);
    for (Expr& e : r.combiner.result) bind(e);
    for (Expr& e : r.combiner.identity) bind(e);
    bind(r.condition);
  });
  return same ? body : changed;
}

// An integer that is no negative constant.
void check_count(const Expr& extent, std::string_view what, const std::string& name) {
  const auto bad = [&](const std::string& why) {
    raise({.code = ErrorCode::BadShape,
           .what = fmt::format("{} {}", what, why),
           .stage = name,
           .legal = "integers of at least 0 and integer expressions of variables"});
  };
  if (!extent.defined()) bad("is undefined");
  check_size(extent, name);
  if (!extent.dtype().is_integer() || extent.dtype().is_vector()) {
    bad(fmt::format("has type {}", to_string(extent.dtype())));
  }
  if (auto value = as_const_int(extent); value && *value < 0) {
    bad(fmt::format("is {}", *value));
  }
}

bool reduces(const Expr& e) {
  bool found = false;
  for_each_part(e, [&](const Expr& sub) { found |= is<Reduce>(sub); });
  return found;
}

// Each expression of statements as a whole.
class BoundStatements : public Mutator {
 public:
  explicit BoundStatements(const std::string& stage) : stage_(stage) {}

 protected:
  using Mutator::on;
#define EXPR_NODE(Name) \
  Expr on(const Name&, const Expr& self) override { return bounded(self, stage_); }
#define STMT_NODE(Name)
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE

 private:
  const std::string& stage_;
};

class Types : public Visitor {
 public:
  explicit Types(const std::string& stage) : stage_(stage) {}

 protected:
  using Visitor::on;

  void on(const ProducerLoad& op) override {
    const size_t rank = op.producer->output_shape(op.value_index).size();
    if (op.indices.size() != rank) {
      raise({.code = ErrorCode::IndexCount,
             .what = fmt::format("{} indices for '{}' of rank {}", op.indices.size(),
                                 op.producer->name, rank),
             .stage = stage_,
             .legal = "one index for each dimension"});
    }
    for (const Expr& i : op.indices) check_index(i, op.producer->name);
    Visitor::on(op);
  }
  void on(const Select& op) override {
    condition("Select", op.condition);
    Visitor::on(op);
  }
  void on(const And& op) override { connective("and", op); }
  void on(const Or& op) override { connective("or", op); }
  void on(const Not& op) override {
    condition("not", op.a);
    Visitor::on(op);
  }
  void on(const Add& op) override {
    number("+", op.a);
    Visitor::on(op);
  }
  void on(const Sub& op) override {
    number("-", op.a);
    Visitor::on(op);
  }
  void on(const Call& op) override {
    if (op.name == "if_then_else") condition("if_then_else", op.args.at(0));
    const bool shift = op.name.starts_with("shift_") || op.name == "popcount";
    if (shift || op.name.starts_with("bitwise_")) {
      const DType type = op.args.at(0).dtype();
      if (!(type.is_integer() || (type.is_bool() && !shift))) {
        wrong(op.name, "operands", type, "integers; cast them, or reinterpret their bits");
      }
    }
    if (op.name == "reinterpret" && op.args.at(0).dtype().bits != op.type.bits) {
      wrong(fmt::format("reinterpret as {}", to_string(op.type)), "an operand", op.args[0].dtype(),
            "a type of as many bits");
    }
    Visitor::on(op);
  }

 private:
  [[noreturn]] void wrong(const std::string& operation, const char* part, DType type,
                          const char* legal) const {
    raise({.code = ErrorCode::TypeMismatch,
           .what = fmt::format("{} with {} of type {}", operation, part, to_string(type)),
           .stage = stage_,
           .legal = legal});
  }
  template <class N>
  void connective(const char* operation, const N& op) {
    condition(operation, op.a);
    condition(operation, op.b);
    Visitor::on(op);
  }
  void condition(const char* operation, const Expr& e) const {
    if (e.dtype().is_bool()) return;
    wrong(operation, "a condition", e.dtype(), "bool, such as a comparison");
  }
  void number(const char* operation, const Expr& e) const {
    if (!e.dtype().is_bool()) return;
    wrong(operation, "operands", e.dtype(), "te.any and te.all, or numbers: astype(\"int32\")");
  }

  const std::string& stage_;
};

}  // namespace

Stmt checked_statements(const Stmt& body, const std::string& stage) {
  return BoundStatements(stage).mutate(body);
}

void check_index(const Expr& index, const std::string& tensor) {
  TW_CHECK(index.defined(), "an index is undefined");
  if (index.dtype().is_integer() && !index.dtype().is_vector()) return;
  raise({.code = ErrorCode::TypeMismatch,
         .what = fmt::format("an index of type {}", to_string(index.dtype())),
         .stage = tensor,
         .legal = "scalar integer indices; cast the index"});
}

void check_element_type(DType type, std::string_view what, const std::string& name) {
  if (type.is_handle()) {
    raise({.code = ErrorCode::TypeMismatch,
           .what = fmt::format("{} of type {}", what, to_string(type)),
           .stage = name,
           .legal = "int, uint, float, bfloat or bool elements, or vectors of them"});
  }
}

void check_extent(const Expr& extent, std::string_view what, const std::string& name) {
  check_count(extent, what, name);
  if (!reads_tensor(extent)) return;
  raise({.code = ErrorCode::BadShape,
         .what = fmt::format("{} reads a tensor", what),
         .stage = name,
         .legal = "integers of at least 0 and integer expressions of variables"});
}

void check_shape(const std::vector<Expr>& shape, const std::string& name) {
  for (size_t d = 0; d < shape.size(); ++d) {
    check_extent(shape[d], fmt::format("extent {} of the shape", d), name);
  }
}

void check_reduced_domain(const Range& domain, const std::string& axis) {
  check_count(domain.extent, fmt::format("extent of reduce axis '{}'", axis), "");
  check_levels(domain.min, axis);
  const bool whole = domain.min.dtype().is_integer() && !domain.min.dtype().is_vector();
  if (whole && !reduces(domain.min) && !reduces(domain.extent)) return;
  raise({.code = ErrorCode::BadShape,
         .what = whole ? fmt::format("an end of reduce axis '{}' is a reduction itself", axis)
                       : fmt::format("the start of reduce axis '{}' is no integer", axis),
         .axis = axis,
         .legal = "integer expressions of variables, of axes of the compute and of elements of "
                  "tensors"});
}

Expr checked_body(const Expr& body, const std::string& stage) {
  const Expr result = bounded_body(body, stage);
  Types(stage).visit(result);
  return result;
}

}  // namespace tw::te
