// SPDX-License-Identifier: Apache-2.0
#include "schedule/te/operation.h"

#include <fmt/format.h>

#include <unordered_set>

#include "ir/visit.h"
#include "runtime/error.h"
#include "schedule/te/check_body.h"

namespace tw::te {
namespace {

constexpr std::string_view kReductionPlace =
    "a reduction as the whole body; compute the rest of the expression in a second compute";

void check_scalar_type(DType type, std::string_view what, const std::string& name) {
  if (type.is_vector() || type.is_handle()) {
    raise({.code = ErrorCode::TypeMismatch,
           .what = fmt::format("{} of type {}", what, to_string(type)),
           .stage = name,
           .legal = "scalar int, uint, float, bfloat or bool elements"});
  }
}

bool reads_tensor(const Expr& e) {
  bool found = false;
  for_each_expr(e, [&](const Expr& sub) { found |= is<ProducerLoad>(sub) || is<Reduce>(sub); });
  return found;
}

void check_extent(const Expr& extent, std::string_view what, const std::string& name) {
  const auto bad = [&](const std::string& why) {
    raise({.code = ErrorCode::BadShape,
           .what = fmt::format("{} {}", what, why),
           .stage = name,
           .legal = "positive integers and integer expressions of variables"});
  };
  if (!extent.defined()) bad("is undefined");
  if (!extent.dtype().is_integer() || extent.dtype().is_vector()) {
    bad(fmt::format("has type {}", to_string(extent.dtype())));
  }
  if (auto value = as_const_int(extent); value && *value <= 0) {
    bad(fmt::format("is {}", *value));
  }
  if (reads_tensor(extent)) bad("reads a tensor");
}

void check_shape(const std::vector<Expr>& shape, const std::string& name) {
  for (size_t d = 0; d < shape.size(); ++d) {
    check_extent(shape[d], fmt::format("extent {} of the shape", d), name);
  }
}

// The Reduce of a body, or null; BadReduction when one hides deeper in the expression.
const Reduce* root_reduction(const Expr& body, const std::string& name) {
  const Reduce* root = as<Reduce>(body);
  for_each_expr(body, [&](const Expr& sub) {
    if (is<Reduce>(sub) && sub.get() != body.get()) {
      raise({.code = ErrorCode::BadReduction,
             .what =
                 root ? "a reduction inside another reduction" : "a reduction inside an expression",
             .stage = name,
             .legal = root ? "one reduction over all the axes, or two computes"
                           : std::string(kReductionPlace)});
    }
  });
  return root;
}

bool same_axes(const std::vector<IterVar>& a, const std::vector<IterVar>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].var().same_as(b[i].var())) return false;
  }
  return true;
}

// The reduce axes that all bodies share; empty when none reduces.
std::vector<IterVar> check_bodies(const std::vector<IterVar>& axis, const std::vector<Expr>& body,
                                  const std::string& name) {
  const auto bad = [&](std::string what, std::string legal) {
    raise({.code = ErrorCode::BadReduction,
           .what = std::move(what),
           .stage = name,
           .legal = std::move(legal)});
  };
  const Reduce* first = nullptr;
  for (size_t k = 0; k < body.size(); ++k) {
    const Reduce* reduce = root_reduction(body[k], name);
    if (k == 0) first = reduce;
    if ((reduce != nullptr) != (first != nullptr)) {
      bad("some outputs are reductions and some are not", "a compute for each kind");
    }
    if (!reduce) continue;
    if (reduce->source.size() != body.size()) {
      bad(fmt::format("{} outputs from a reduction over tuples of {}", body.size(),
                      reduce->source.size()),
          "compute_many with one output for each component of the reducer");
    }
    if (reduce->value_index != static_cast<int>(k)) {
      bad(fmt::format("output {} is component {} of its reduction", k, reduce->value_index),
          "the components of one reduction, in order");
    }
    if (!same_axes(reduce->axis, first->axis)) {
      bad("outputs reduce over different axes", "one set of reduce axes for all outputs");
    }
  }
  if (!first) return {};
  for (const IterVar& r : first->axis) {
    for (const IterVar& d : axis) {
      if (d.var().same_as(r.var())) {
        bad(fmt::format("axis '{}' is both a data axis and a reduce axis", r.name()),
            "axes made by reduce_axis");
      }
    }
  }
  return first->axis;
}

Expr one_reduction(CommReducer combiner, const Expr& source, const std::vector<IterVar>& axes,
                   const Expr& condition) {
  return reduce(combiner, {source}, axes, condition)[0];
}

// A reducer of single values: `result` combines two variables of the source's type.
template <class F>
CommReducer scalar_reducer(const Expr& identity, F result) {
  const Var x("x", identity.dtype()), y("y", identity.dtype());
  return {.lhs = {x}, .rhs = {y}, .result = {result(x, y)}, .identity = {identity}};
}

void check_reducible(std::string_view what, const Expr& source) {
  TW_CHECK(source.defined(), "operand missing");
  const DType type = source.dtype();
  if (type.is_vector() || !(type.is_integer() || type.is_float())) {
    raise({.code = ErrorCode::TypeMismatch,
           .what = fmt::format("{} of {}", what, to_string(type)),
           .legal = "scalar int, uint, float or bfloat values; cast the source"});
  }
}

void visit_operation(const Operation& op, std::unordered_set<const OperationNode*>& seen,
                     std::vector<Operation>& order) {
  if (!seen.insert(op.get()).second) return;
  for (const Tensor& input : op->input_tensors()) visit_operation(input.op(), seen, order);
  order.push_back(op);
}

}  // namespace

// ---------------------------------------------------------------------------------------------
// Nodes

Tensor Operation::output(int value_index) const {
  TW_CHECK(0 <= value_index && value_index < get()->num_outputs(), "no such output");
  return Tensor(*this, value_index);
}

const std::vector<IterVar>& PlaceholderNode::root_axes() const {
  static const std::vector<IterVar> none;
  return none;
}

std::vector<Tensor> PlaceholderNode::input_tensors() const { return {}; }

std::vector<Expr> ComputeNode::output_shape(int) const {
  std::vector<Expr> shape;
  for (const IterVar& a : axis) shape.push_back(a->domain.extent);
  return shape;
}

std::vector<Tensor> ComputeNode::input_tensors() const {
  std::vector<Tensor> inputs;
  for (const Expr& e : body) {
    for_each_expr(e, [&](const Expr& sub) {
      const ProducerLoad* load = as<ProducerLoad>(sub);
      if (!load) return;
      const auto* node = as_op<OperationNode>(load->producer);
      TW_CHECK(node != nullptr, "a compute reads something that is no operation");
      const Tensor t(Operation(node), load->value_index);
      for (const Tensor& known : inputs) {
        if (known == t) return;
      }
      inputs.push_back(t);
    });
  }
  return inputs;
}

Expr Tensor::operator()(const std::vector<Expr>& indices) const {
  TW_CHECK(defined(), "an undefined tensor is read");
  if (indices.size() != shape().size()) {
    raise(
        {.code = ErrorCode::IndexCount,
         .what = fmt::format("{} indices for a tensor of rank {}", indices.size(), shape().size()),
         .stage = name(),
         .legal = "one index for each dimension"});
  }
  for (const Expr& i : indices) check_index(i, name());
  return make(ProducerLoad{.producer = op_, .value_index = value_index_, .indices = indices});
}

// ---------------------------------------------------------------------------------------------
// Building

Var var(const std::string& name, DType type) { return Var(name, type); }

Tensor placeholder(const std::vector<Expr>& shape, DType dtype, const std::string& name,
                   bool constant) {
  check_shape(shape, name);
  check_scalar_type(dtype, "a placeholder", name);
  for (const Expr& extent : shape) {
    if (!constant || as_const_int(extent)) continue;
    raise({.code = ErrorCode::BadShape,
           .what = "a constant whose shape is not",
           .stage = name,
           .legal = "extents that are numbers"});
  }
  auto* node = new PlaceholderNode;
  const Operation op(node);
  node->name = name;
  node->shape = shape;
  node->dtype = dtype;
  node->constant = constant;
  return op.output(0);
}

bool is_constant(const Tensor& t) {
  const auto* node = as_op<PlaceholderNode>(t.op());
  return node != nullptr && node->constant;
}

Operation compute_op(std::string name, std::vector<IterVar> axis, std::vector<Expr> body,
                     std::string tag, Attributes attributes) {
  if (body.empty()) {
    raise({.code = ErrorCode::BadArgument,
           .what = "a compute without outputs",
           .stage = name,
           .legal = "at least one output expression"});
  }
  for (const IterVar& a : axis) {
    check_extent(a->domain.extent, fmt::format("extent of axis '{}'", a.name()), name);
  }
  for (const Expr& e : body) {
    if (!e.defined()) {
      raise({.code = ErrorCode::BadArgument,
             .what = "a body is undefined",
             .stage = name,
             .legal = "an expression for each output"});
    }
    check_body(e, name);
    check_scalar_type(e.dtype(), "a compute", name);
  }
  auto* node = new ComputeNode;
  const Operation op(node);
  node->reduce_axis = check_bodies(axis, body, name);
  node->name = std::move(name);
  node->axis = std::move(axis);
  node->all_axes = node->axis;
  node->all_axes.insert(node->all_axes.end(), node->reduce_axis.begin(), node->reduce_axis.end());
  node->body = std::move(body);
  node->tag = std::move(tag);
  node->attributes = std::move(attributes);
  return op;
}

std::vector<Tensor> compute_many(const std::vector<Expr>& shape, const MultiComputeFunction& f,
                                 const std::string& name, const std::string& tag,
                                 const Attributes& attributes,
                                 const std::vector<std::string>& axis_names) {
  check_shape(shape, name);
  if (!axis_names.empty() && axis_names.size() != shape.size()) {
    raise({.code = ErrorCode::BadArgument,
           .what =
               fmt::format("{} axis names for a shape of rank {}", axis_names.size(), shape.size()),
           .stage = name,
           .legal = "one name for each dimension, or none"});
  }
  std::vector<IterVar> axis;
  std::vector<Var> vars;
  for (size_t d = 0; d < shape.size(); ++d) {
    const DType type = shape[d].dtype();
    const Var v(axis_names.empty() ? fmt::format("i{}", d) : axis_names[d], type);
    axis.emplace_back(Range{make_zero(type), shape[d]}, v, IterKind::DataParallel);
    vars.push_back(v);
  }
  const Operation op = compute_op(name, std::move(axis), f(vars), tag, attributes);
  std::vector<Tensor> outputs;
  for (int k = 0; k < op->num_outputs(); ++k) outputs.push_back(op.output(k));
  return outputs;
}

Tensor compute(const std::vector<Expr>& shape, const ComputeFunction& f, const std::string& name,
               const std::string& tag, const Attributes& attributes,
               const std::vector<std::string>& axis_names) {
  const auto body = [&](const std::vector<Var>& axes) { return std::vector<Expr>{f(axes)}; };
  return compute_many(shape, body, name, tag, attributes, axis_names)[0];
}

IterVar reduce_axis(const Range& domain, const std::string& name) {
  check_extent(domain.extent, fmt::format("extent of reduce axis '{}'", name), "");
  const DType type = domain.extent.dtype();
  const Expr min = domain.min.defined() ? domain.min : Expr(0);
  if (!min.dtype().is_integer() || min.dtype().is_vector() || reads_tensor(min)) {
    raise({.code = ErrorCode::BadShape,
           .what = fmt::format("the start of reduce axis '{}' is no integer of its own", name),
           .legal = "an integer or an integer expression of variables"});
  }
  return IterVar(Range{cast(type, min), domain.extent}, Var(name, type), IterKind::Reduction);
}

std::vector<Expr> reduce(const CommReducer& combiner, const std::vector<Expr>& sources,
                         const std::vector<IterVar>& axes, const Expr& condition) {
  const auto bad = [](std::string what, std::string legal) {
    raise({.code = ErrorCode::BadReduction, .what = std::move(what), .legal = std::move(legal)});
  };
  const size_t n = sources.size();
  if (n == 0 || combiner.lhs.size() != n || combiner.rhs.size() != n ||
      combiner.result.size() != n || combiner.identity.size() != n) {
    bad(fmt::format("a reducer of {} components over tuples of {}", combiner.result.size(), n),
        "a source, two variables, a result and an identity for each component");
  }
  for (size_t k = 0; k < n; ++k) {
    const DType type = sources[k].dtype();
    if (combiner.lhs[k].dtype() != type || combiner.rhs[k].dtype() != type ||
        combiner.result[k].dtype() != type || combiner.identity[k].dtype() != type) {
      bad(fmt::format("component {} of the reducer does not have its source's type {}", k,
                      to_string(type)),
          "variables, result and identity of the source's type");
    }
  }
  if (axes.empty()) bad("a reduction over no axes", "at least one axis made by reduce_axis");
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i]->kind != IterKind::Reduction) {
      bad(fmt::format("axis '{}' is not a reduce axis", axes[i].name()),
          "axes made by reduce_axis");
    }
    for (size_t j = 0; j < i; ++j) {
      if (axes[i].var().same_as(axes[j].var())) {
        bad(fmt::format("axis '{}' stands twice", axes[i].name()), "each axis once");
      }
    }
  }
  if (condition.defined() && condition.dtype() != bool_type()) {
    raise({.code = ErrorCode::TypeMismatch,
           .what = fmt::format("a reduction condition of type {}", to_string(condition.dtype())),
           .legal = "a scalar bool condition"});
  }
  std::vector<Expr> result;
  for (size_t k = 0; k < n; ++k) {
    result.push_back(make(Reduce{.combiner = combiner,
                                 .source = sources,
                                 .axis = axes,
                                 .condition = condition,
                                 .value_index = static_cast<int>(k)}));
  }
  return result;
}

Expr sum(const Expr& source, const std::vector<IterVar>& axes, const Expr& condition) {
  check_reducible("sum", source);
  const auto add = [](const Expr& x, const Expr& y) { return x + y; };
  return one_reduction(scalar_reducer(make_zero(source.dtype()), add), source, axes, condition);
}

Expr prod(const Expr& source, const std::vector<IterVar>& axes, const Expr& condition) {
  check_reducible("product", source);
  const auto multiply = [](const Expr& x, const Expr& y) { return x * y; };
  return one_reduction(scalar_reducer(make_const(source.dtype(), 1), multiply), source, axes,
                       condition);
}

Expr max(const Expr& source, const std::vector<IterVar>& axes, const Expr& condition) {
  check_reducible("maximum", source);
  const auto larger = [](const Expr& x, const Expr& y) { return tw::max(x, y); };
  return one_reduction(scalar_reducer(max_identity(source.dtype()), larger), source, axes,
                       condition);
}

Expr min(const Expr& source, const std::vector<IterVar>& axes, const Expr& condition) {
  check_reducible("minimum", source);
  const auto smaller = [](const Expr& x, const Expr& y) { return tw::min(x, y); };
  return one_reduction(scalar_reducer(min_identity(source.dtype()), smaller), source, axes,
                       condition);
}

std::vector<Operation> operations(const std::vector<Tensor>& outputs) {
  std::vector<Operation> order;
  std::unordered_set<const OperationNode*> seen;
  for (const Tensor& t : outputs) {
    TW_CHECK(t.defined(), "an output is undefined");
    visit_operation(t.op(), seen, order);
  }
  return order;
}

std::vector<Tensor> placeholders(const std::vector<Tensor>& outputs) {
  std::vector<Tensor> result;
  for (const Operation& op : operations(outputs)) {
    if (op->op_kind == OperationKind::Placeholder) result.push_back(op.output(0));
  }
  return result;
}

}  // namespace tw::te
