// SPDX-License-Identifier: Apache-2.0
// What convolutions share, whatever the layout that they compute in.
#pragma once

#include <vector>

#include "graph/alter_layout.h"
#include "graph/op.h"

namespace tw::graph {

std::vector<AttributeSpec> conv2d_attributes();
// The layout of what there is one of for each channel of such images: C, or C16c.
Layout channels_in(const Layout& images);
// Shapes of data, weight, bias and output in layouts of images and of kernels, whatever their
// blocks. The inference's errors where blocks, groups or windows do not fit.
void infer_windows(ShapeInference& s, const Layout& layout, const Layout& kernel_layout,
                   const Layout& out_layout);
void infer_convolution_type(TypeInference& t);
// Op::alter_layout of conv2d.
NodeRef blocked_convolution(const AlterCandidate& candidate);

}  // namespace tw::graph
