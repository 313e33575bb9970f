// SPDX-License-Identifier: Apache-2.0
// Operators that read elements at positions which tensors of integers give. No position is outside
// of a tensor, whatever the integers are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi {

// What an integer says of a place in an extent.
enum class IndexMode : uint8_t {
  Clip,     // the nearest one where it is outside: -1 is 0
  Wrap,     // its remainder: -1 is the last one, and so is -1 - extent
  FromEnd,  // from the end where negative; then the nearest one where it is outside
  Skip,     // none where it is outside: 0 is read there, and nothing written
};
// "clip", "wrap", and "fast", which is FromEnd: TVM leaves that unchecked. BadArgument for others.
IndexMode index_mode(const Place& place, std::string_view text);
// The same, or "skip".
IndexMode index_mode_or_skip(const Place& place, std::string_view text);
// Whether there is a place; undefined where there always is.
Expr has_place(const Expr& index, const Expr& extent, IndexMode mode);
// That place, of the type of the extent.
Expr place_of(const Expr& index, const Expr& extent, IndexMode mode);
// TypeMismatch unless elements are integers.
void require_integers(const Place& place, const Tensor& t);

// Elements of `a` along `axis` at `indices`, whose first `batch_dims` dimensions are those of `a`:
// a.shape[:axis] + indices.shape[batch_dims:] + a.shape[axis + 1:]. Without an axis: of the
// elements in row-major order. BadShape where there are indices and nothing to take. ONNX Gather.
Tensor take(const Tensor& a, const Tensor& indices, std::optional<int> axis = std::nullopt,
            int batch_dims = 0, std::string_view mode = "clip", const std::string& name = "T_take",
            const std::string& tag = kInjective);
// The element along `axis` that each index names, at its own position in all other dimensions: of
// the shape of `indices`, which has the rank of data and is nowhere larger. ONNX GatherElements.
Tensor gather(const Tensor& data, int axis, const Tensor& indices,
              IndexMode mode = IndexMode::FromEnd, const std::string& name = "T_gather",
              const std::string& tag = kInjective);
// What the columns of `indices` name, which is [m, y…], of the dimensions of data behind the first
// `batch_dims`: y… + data.shape[batch_dims + m:]. y… begins with those batch_dims dimensions. ONNX
// GatherND, whose columns are its last dimension.
Tensor gather_nd(const Tensor& data, const Tensor& indices, int batch_dims = 0,
                 const std::string& name = "T_gather_nd", const std::string& tag = kInjective);
// on_value where the index, from the end if negative, is the position along the new dimension
// `axis` of extent `depth`; off_value elsewhere. ONNX OneHot.
Tensor one_hot(const Tensor& indices, const Expr& on_value, const Expr& off_value, int64_t depth,
               int axis, DType dtype, const std::string& name = "T_one_hot",
               const std::string& tag = kInjective);
// x where the condition is not 0, else y; the three shapes are brought together as NumPy's. ONNX
// Where.
Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y,
             const std::string& name = "T_where", const std::string& tag = kBroadcast);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> gather_rows();

}  // namespace tw::topi
