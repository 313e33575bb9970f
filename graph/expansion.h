// SPDX-License-Identifier: Apache-2.0
// Operators whose meaning is an expression of simpler ones (Op::expand). What they compute and
// what their gradients are follows from that expression.
#pragma once

#include <span>
#include <vector>

#include "graph/inference.h"
#include "graph/node.h"
#include "graph/shape.h"
#include "schedule/te/operation.h"

namespace tw::graph {

// The outputs of a node as simpler nodes on its inputs, of these shapes, and types as far as they
// are known. BadGraph where the operator needs to know more of the shapes.
std::vector<Entry> expanded(const NodeRef& node, std::span<const Shape> shapes,
                            std::span<const KnownType> types = {});

// What the expression computes of these tensors.
std::vector<te::Tensor> compute_expanded(const Node& node, const std::vector<te::Tensor>& inputs);

// The gradients of the inputs of a node whose operator has `expand` and no gradient of its own: the
// outputs of a node of `_gradient_of`, which is the gradient of the expression once shapes are
// known, and which may be differentiated as any other.
std::vector<Entry> gradient_of_expression(const NodeRef& node,
                                          const std::vector<Entry>& of_outputs);

// Expressions with entries in the place of variables.
std::vector<Entry> substitute(const std::vector<Entry>& outputs,
                              const std::vector<Entry>& variables,
                              const std::vector<Entry>& values);

}  // namespace tw::graph
