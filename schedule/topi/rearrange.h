// SPDX-License-Identifier: Apache-2.0
// Operators that repeat elements, or put them in other places. Element types stay.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi {

// a as often along each dimension as `reps` says, which are aligned with the last dimensions. NumPy
// tile.
Tensor tile(const Tensor& a, const std::vector<int64_t>& reps, const std::string& name = "T_tile",
            const std::string& tag = kBroadcast);
// Each element along `axis` as often, one beside the other. NumPy repeat.
Tensor repeat(const Tensor& a, int64_t repeats, int axis = 0, const std::string& name = "T_repeat",
              const std::string& tag = kBroadcast);
// Tensors of one shape and type along a new dimension `axis` of the result. NumPy stack.
Tensor stack(const std::vector<Tensor>& tensors, int axis = 0, const std::string& name = "T_stack",
             const std::string& tag = kInjective);
// Elements moved by so many places along each axis, from its end to its beginning. NumPy roll.
Tensor roll(const Tensor& a, const std::vector<int64_t>& shift, const std::vector<int>& axis,
            const std::string& name = "T_roll", const std::string& tag = kInjective);
// Along `seq_axis` the first seq_lengths[b] elements in reverse, where b is the position along
// `batch_axis`; lengths outside of the extent are the nearest that is not. ONNX ReverseSequence.
Tensor reverse_sequence(const Tensor& a, const Tensor& seq_lengths, int seq_axis = 1,
                        int batch_axis = 0, const std::string& name = "T_reverse_sequence",
                        const std::string& tag = kInjective);
// The elements along `axis` where the condition holds, which may be shorter; of all elements in
// row-major order without an axis. BadArgument for more than 1024 runs. NumPy compress.
Tensor compress(const Tensor& a, const std::vector<int64_t>& condition,
                std::optional<int> axis = std::nullopt, const std::string& name = "T_compress",
                const std::string& tag = kInjective);
// The gradient of that: a tensor of the shape with grad's elements where they were, else zeros.
Tensor compress_grad(const Tensor& grad, const std::vector<Expr>& shape,
                     const std::vector<int64_t>& condition, std::optional<int> axis = std::nullopt,
                     const std::string& name = "T_compress_grad",
                     const std::string& tag = kInjective);
// How many elements a condition takes.
int64_t compressed_extent(const std::vector<int64_t>& condition);
// Sums over the copies that tile, or repeat, has made of the elements of a shape.
Tensor tile_grad(const Tensor& grad, const std::vector<Expr>& shape,
                 const std::string& name = "T_tile_grad");
Tensor repeat_grad(const Tensor& grad, const std::vector<Expr>& shape, int64_t repeats, int axis,
                   const std::string& name = "T_repeat_grad");

namespace nn {

// Images of which block_size² channels are rows and columns of a block; mode "DCR": the block comes
// before the channel, "CRD": behind. layout "NCHW" or "NHWC". ONNX DepthToSpace.
Tensor depth_to_space(const Tensor& data, int64_t block_size, std::string_view layout = "NCHW",
                      std::string_view mode = "DCR", const std::string& name = "T_depth_to_space",
                      const std::string& tag = kInjective);
// The reverse. ONNX SpaceToDepth, with mode "DCR".
Tensor space_to_depth(const Tensor& data, int64_t block_size, std::string_view layout = "NCHW",
                      std::string_view mode = "DCR", const std::string& name = "T_space_to_depth",
                      const std::string& tag = kInjective);

}  // namespace nn
// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> rearrange_rows();

}  // namespace tw::topi
