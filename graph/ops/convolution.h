// SPDX-License-Identifier: Apache-2.0
// What convolutions share, whatever the layout that they compute in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/alter_layout.h"
#include "graph/op.h"

namespace tw::graph {

// Convolutions over so many spatial dimensions: the names of their operators, and defaults of
// attributes.
struct ConvolutionFamily {
  size_t spatial;
  std::string_view conv, transpose;
  // Both gradients of a convolution, as NNVM has them in one node, which SimplifyInference takes
  // apart.
  std::string_view both_gradients;
  // What gradients are made of: a convolution that has as many channels as its weight says, and the
  // gradients of a convolution's data and weight. Each is linear in two inputs, and its gradients
  // are the others.
  std::string_view of_weight, data_gradient, weight_gradient;
  std::string_view layout, kernel_layout;
  std::string_view ones, zeros;  // texts of tuples, one number for each dimension
};
const ConvolutionFamily& convolutions(size_t spatial);  // 1, 2 or 3

std::vector<AttributeSpec> convolution_attributes(const ConvolutionFamily& family);
// The layout of what there is one of for each channel of such images: C, or C16c.
Layout channels_in(const Layout& images);
// Shapes of data, weight, bias and output in layouts of images and of kernels, whatever their
// blocks; `channels` may be unknown. The inference's errors where blocks, groups or windows do not
// fit.
void infer_windows(ShapeInference& s, const Layout& layout, const Layout& kernel_layout,
                   const Layout& out_layout, int64_t channels);
// The attributes `layout` and `kernel_layout` are permutations of the family's.
void require_layouts(const ShapeInference& s, const ConvolutionFamily& family);
void infer_convolution_type(TypeInference& t);
// Data, weight and bias, as the attributes `layout` and `kernel_layout` have them.
void convolution_layout(LayoutChoice& c);
// Op::alter_layout of conv2d.
NodeRef blocked_convolution(const AlterCandidate& candidate);

// Attributes of a convolution that the nodes of its gradient have: those of its windows. How many
// channels there are their inputs tell.
Attributes windows_of(const Node& node);
// The gradients of data, weight and bias.
using Entries = std::vector<Entry>;
Entries convolution_gradient(const ConvolutionFamily& family, const NodeRef& node,
                             const Entries& of_output);
// The same of what has no bias and no `channels`.
Entries of_weight_gradient(const ConvolutionFamily& family, const NodeRef& node,
                           const Entries& of_output);
Entries transposed_gradient(const ConvolutionFamily& family, const NodeRef& node,
                            const Entries& of_output);
// "(2,)": the dimension of channels, over all others of which the gradient of a bias is summed.
std::string channel_axis(const Node& node);

}  // namespace tw::graph
