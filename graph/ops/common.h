// SPDX-License-Identifier: Apache-2.0
// What families of operators share.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/op.h"

namespace tw::graph {

// Rule of types: the output has that of the first input; others may have any.
void first_type(TypeInference& t);
// Rules of shapes: the output has that of the first, or the second, input; others may have any.
void first_shape(ShapeInference& s);
void second_shape(ShapeInference& s);
// `axis` of a tensor of that rank, counted from its end where negative. The inference's error where
// there is no such axis.
size_t axis_of(const ShapeInference& s, int64_t axis, size_t rank);
// The inference's error unless that attribute, a word, is one of those.
void require_word(const ShapeInference& s, std::string_view attribute,
                  std::initializer_list<std::string_view> legal);
// The shape that two broadcast to by NumPy's rule, as far as it is known: they are aligned at their
// last dimension, and an extent of 1, or a missing one, is repeated. The inference's error where
// they do not; without an inference, nothing.
Shape broadcast_of(const ShapeInference& s, const Shape& a, const Shape& b);
std::optional<Shape> broadcast_of(const Shape& a, const Shape& b);
// All have one shape, which has the dimension `axis`.
void same_shape_along_axis(ShapeInference& s);
// What has an element for each channel of input 0, that is, along `axis`: (c,), or (c / b, b) where
// blocks of b channels are the last dimension of that input. Its shape, as far as input 0 tells;
// `vector` tells which of the two it is, and is (c,) where its rank is unknown.
Shape channels_of(const ShapeInference& s, const Shape& vector);
// What such a shape tells of input 0.
void narrow_by_channels(ShapeInference& s, const Shape& vector);
// An attribute of one value for all spatial dimensions, or one each: `count` of them, `least` or
// more.
std::vector<int64_t> steps_of(const ShapeInference& s, std::string_view attribute, size_t count,
                              int64_t least = 1);
// Amounts around images, before and behind each spatial dimension: one, one for each, or all of
// those before and then all of those behind.
struct Border {
  std::vector<int64_t> before, after;
};
Border border_of(const ShapeInference& s, std::string_view attribute, size_t count);

// What gradients are written with.
using Entries = std::vector<Entry>;
// Nodes of a gradient: `grad("exp", {x})` is named after the node whose gradient it is part of.
class GradientOf {
 public:
  explicit GradientOf(const NodeRef& node, std::string_view between = "_grad_")
      : node_(node), between_(between) {}
  Entry operator()(std::string_view op, Entries inputs, Attributes attributes = {}) const {
    return make_call(op, fmt::format("{}{}{}", node_->name, between_, op), std::move(inputs),
                     std::move(attributes));
  }
  const Entry& input(size_t k) const { return node_->inputs[k]; }
  size_t num_inputs() const { return node_->inputs.size(); }
  Entry output(uint32_t k = 0) const { return {.node = node_, .index = k}; }
  AttributeValues attributes() const {
    return {node_->op->attributes, node_->attributes, node_->name};
  }
  // What several gradients need; comparisons give 1 or 0.
  Entry zeros(size_t k) const { return (*this)("zeros_like", {input(k)}); }
  Entry product(const Entry& a, const Entry& b) const { return (*this)("elemwise_mul", {a, b}); }
  Entry shaped_as_input(const Entry& g, size_t k = 0) const {
    return (*this)("reshape_like", {g, input(k)});
  }

 protected:
  const NodeRef& node_;
  std::string_view between_;
};

// Op::gradient of what does not change where its inputs change a little, as steps and comparisons.
Entries flat_gradient(const NodeRef& node, const Entries& of_outputs);
Entries flat(const GradientOf& n, const Entry& of_output);
// Of what has no gradient to give: positions, kernels without one of their own.
Entries no_gradient(const NodeRef& node, const Entries& of_outputs);
// That of input 0, where the others lend no more than their shapes or types.
Entries first_gradient(const GradientOf& n, Entry of_first);
// Of input 0, that of the output under its shape.
Entries reshaped_gradient(const NodeRef& node, const Entries& of_outputs);

// 1 where it holds, else 0: what comparisons of operands of a type give.
te::Tensor mask(const te::Tensor& holds, DType type);
// Whether elements are not 0.
te::Tensor as_bool(const te::Tensor& x);

// Extent k; unknown where the rank is.
int64_t extent(const Shape& shape, size_t k);
// The product of extents; unknown where one is.
int64_t times(int64_t a, int64_t b);
// What times the factor is the extent, if that follows; the inference's error where nothing is.
int64_t divided(const ShapeInference& s, int64_t extent, int64_t factor);
// The attribute `axis`, where it names one.
std::optional<int> axis_or_none(const AttributeValues& a);
// What is known of a tensor's shape.
Shape shape_of(const te::Tensor& tensor);
// The dimensions, in order, that the attributes `axis` and `exclude` mean: those named, all where
// none is; with `exclude` all others.
std::vector<int> named_axes(const AttributeValues& a, size_t rank);

// A number of an attribute in an element type: integers take it towards zero, with their limits for
// what lies beyond them.
Expr constant_of(DType type, double value);

// "(1,)", "(1, 2)": the text of an attribute that is a tuple.
std::string tuple_text(const std::vector<int64_t>& values);
std::string reals_text(const std::vector<double>& values);

std::vector<int> to_ints(const std::vector<int64_t>& values);

}  // namespace tw::graph
