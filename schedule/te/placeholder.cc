// SPDX-License-Identifier: Apache-2.0
#include "schedule/te/placeholder.h"

#include "ir/expr.h"
#include "runtime/error.h"
#include "schedule/te/check_body.h"
#include "schedule/te/evaluation.h"
#include "schedule/te/writer.h"

namespace tw::te {
namespace {

const std::vector<IterVar>& no_axes() {
  static const std::vector<IterVar> none;
  return none;
}

}  // namespace

const std::vector<IterVar>& PlaceholderNode::data_axes() const { return no_axes(); }
const std::vector<IterVar>& PlaceholderNode::root_axes() const { return no_axes(); }
std::vector<Expr> PlaceholderNode::evaluated() const { return {}; }

std::vector<Range> PlaceholderNode::realized(int, const DomainMap&) const {
  std::vector<Range> bounds;
  for (const Expr& extent : shape) bounds.push_back({make_zero(extent.dtype()), extent});
  return bounds;
}

Stmt PlaceholderNode::update(const VarMap&, std::vector<Expr>&) const { return {}; }
Operation PlaceholderNode::with_reads(const ReadRewrite&) const { return Operation(this); }
Operation PlaceholderNode::with_axes(const std::string&, const AxisReplacement&) const {
  return Operation(this);
}

void PlaceholderNode::write(Writer& out) const {
  Names scope = out.names();
  out.put("placeholder(", to_string(dtype), ", ");
  out.list(shape, scope);
  if (constant) out.put(", constant");
}

std::unique_ptr<PointEvaluator> PlaceholderNode::evaluator(Evaluation&) const { return nullptr; }

Tensor placeholder(const std::vector<Expr>& shape, DType dtype, const std::string& name,
                   bool constant) {
  check_shape(shape, name);
  check_element_type(dtype, "a placeholder", name);
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

}  // namespace tw::te
