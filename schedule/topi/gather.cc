// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/gather.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/expr.h"
#include "runtime/error.h"
#include "schedule/topi/broadcast.h"
#include "schedule/topi/operator.h"
#include "schedule/topi/transform.h"

namespace tw::topi {
namespace {

// Wide enough for extents: an index of int8 may be compared with 300.
Expr wide(const Expr& index, const Expr& extent) {
  const DType type = index.dtype();
  const bool narrow = type.bits < 32 || (type.bits == 32 && type.is_int());
  return cast(int_type(narrow && extent.dtype().bits <= 32 ? 32 : 64), index);
}

Expr from_end(const Expr& index, const Expr& extent) {
  return select(index < make_zero(index.dtype()), index + cast(index.dtype(), extent), index);
}

// Of no element nothing is taken.
void require_elements(const Place& place, const Tensor& data, size_t dimension,
                      const std::vector<Expr>& taken) {
  const bool none =
      std::any_of(taken.begin(), taken.end(), [](const Expr& e) { return is_zero(e); });
  if (!none && is_zero(data.shape()[dimension])) {
    bad_shape(
        place,
        fmt::format("elements of shape {} along dimension {}", shape_text(data.shape()), dimension),
        "an extent of 1 or more");
  }
}

int normalize_batch(std::string_view op, int batch_dims, int most) {
  if (batch_dims < 0 || batch_dims > most) {
    bad_argument({op, "batch_dims"}, fmt::format("{}", batch_dims), fmt::format("0 to {}", most));
  }
  return batch_dims;
}

// Dimensions that both begin with.
void require_batch(std::string_view op, const Tensor& data, const Tensor& indices, int skip,
                   int batch) {
  for (int d = 0; d < batch; ++d) {
    require_extent({op, "indices"}, indices, d + skip, data.shape()[static_cast<size_t>(d)]);
  }
}

}  // namespace

IndexMode index_mode(const Place& place, std::string_view text) {
  if (text == "clip") return IndexMode::Clip;
  if (text == "wrap") return IndexMode::Wrap;
  if (text == "fast") return IndexMode::FromEnd;
  bad_argument(place, fmt::format("'{}'", text), "clip, wrap, fast");
}

IndexMode index_mode_or_skip(const Place& place, std::string_view text) {
  return text == "skip" ? IndexMode::Skip : index_mode(place, text);
}

Expr has_place(const Expr& index, const Expr& extent, IndexMode mode) {
  if (mode != IndexMode::Skip) return {};
  const Expr i = wide(index, extent);
  return make_zero(i.dtype()) <= i && i < cast(i.dtype(), extent);
}

Expr place_of(const Expr& index, const Expr& extent, IndexMode mode) {
  const Expr i = wide(index, extent);
  const Expr count = cast(i.dtype(), extent), zero = make_zero(i.dtype());
  // Of nothing the first is named, which nobody reads.
  if (is_zero(extent)) return make_zero(extent.dtype());
  if (mode == IndexMode::Skip) return cast(extent.dtype(), i);
  if (mode == IndexMode::Wrap) return cast(extent.dtype(), floor_mod(i, count));
  const Expr from = mode == IndexMode::FromEnd ? from_end(i, extent) : i;
  return cast(extent.dtype(), max(min(from, count - make_const(i.dtype(), 1)), zero));
}

void require_integers(const Place& place, const Tensor& t) {
  if (t.dtype().is_integer()) return;
  raise({.code = ErrorCode::TypeMismatch,
         .what = fmt::format("{}: {} are {}", place.op, place.argument, to_string(t.dtype())),
         .legal = "integers; cast the tensor"});
}

Tensor take(const Tensor& a, const Tensor& indices, std::optional<int> axis, int batch_dims,
            std::string_view mode, const std::string& name, const std::string& tag) {
  require_integers({"take", "indices"}, indices);
  const IndexMode beyond = index_mode({"take", "mode"}, mode);
  if (!axis) {
    normalize_batch("take", batch_dims, 0);
    return take(a.rank() == 1 ? a : reshape(a, {product(a.shape())}), indices, 0, 0, mode, name,
                tag);
  }
  const int along = normalize_axis({"take", "axis"}, *axis, a.rank());
  const auto batch = static_cast<std::ptrdiff_t>(
      normalize_batch("take", batch_dims, std::min(along, indices.rank())));
  require_batch("take", a, indices, 0, batch_dims);
  require_elements({"take", "a"}, a, static_cast<size_t>(along), indices.shape());
  const std::vector<Expr> whole = a.shape(), taken = indices.shape();
  std::vector<Expr> shape(whole.begin(), whole.begin() + along);
  shape.insert(shape.end(), taken.begin() + batch, taken.end());
  shape.insert(shape.end(), whole.begin() + along + 1, whole.end());
  const std::ptrdiff_t behind = along + static_cast<std::ptrdiff_t>(taken.size()) - batch;
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at(i.begin(), i.begin() + batch);
        at.insert(at.end(), i.begin() + along, i.begin() + behind);
        std::vector<Expr> position(i.begin(), i.begin() + along);
        position.push_back(place_of(indices(at), whole[static_cast<size_t>(along)], beyond));
        position.insert(position.end(), i.begin() + behind, i.end());
        return a(position);
      },
      name, tag);
}

Tensor gather(const Tensor& data, int axis, const Tensor& indices, IndexMode mode,
              const std::string& name, const std::string& tag) {
  require_integers({"gather", "indices"}, indices);
  const auto along = static_cast<size_t>(normalize_axis({"gather", "axis"}, axis, data.rank()));
  require_rank({"gather", "indices"}, indices, data.rank());
  const std::vector<Expr> shape = indices.shape(), whole = data.shape();
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto some = as_const_int(shape[d]), all = as_const_int(whole[d]);
    if (d != along && some && all && *some > *all) {
      bad_shape({"gather", "indices"},
                fmt::format("shape {} where data has {}", shape_text(shape), shape_text(whole)),
                "extents no larger than those of data, but for axis");
    }
  }
  require_elements({"gather", "data"}, data, along, shape);
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> position = to_exprs(i);
        const Expr index = indices(position);
        position[along] = place_of(index, whole[along], mode);
        const Expr inside = has_place(index, whole[along], mode), element = data(position);
        return inside.defined() ? if_then_else(inside, element, make_zero(data.dtype())) : element;
      },
      name, tag);
}

Tensor gather_nd(const Tensor& data, const Tensor& indices, int batch_dims, const std::string& name,
                 const std::string& tag) {
  require_integers({"gather_nd", "indices"}, indices);
  const Place place{"gather_nd", "indices"};
  const auto columns =
      indices.rank() == 0 ? std::optional<int64_t>() : as_const_int(indices.shape()[0]);
  if (!columns) {
    bad_shape(place, fmt::format("shape {}", shape_text(indices.shape())),
              "[m, …] with a constant m, an index for each of the first m dimensions");
  }
  const int batch =
      normalize_batch("gather_nd", batch_dims, std::min(data.rank(), indices.rank() - 1));
  if (*columns > data.rank() - batch) {
    bad_shape(place, fmt::format("{} indices for rank {}", *columns, data.rank() - batch),
              "at most one for each dimension of data");
  }
  require_batch("gather_nd", data, indices, 1, batch);
  const std::vector<Expr> whole = data.shape(), names = indices.shape();
  const std::ptrdiff_t named = batch + static_cast<std::ptrdiff_t>(*columns);
  for (std::ptrdiff_t d = batch; d < named; ++d) {
    require_elements({"gather_nd", "data"}, data, static_cast<size_t>(d), names);
  }
  std::vector<Expr> shape(names.begin() + 1, names.end());
  shape.insert(shape.end(), whole.begin() + named, whole.end());
  const auto given = static_cast<std::ptrdiff_t>(names.size()) - 1;
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = {make_zero(names[0].dtype())};
        at.insert(at.end(), i.begin(), i.begin() + given);
        std::vector<Expr> position(i.begin(), i.begin() + batch);
        for (int64_t m = 0; m < *columns; ++m) {
          at[0] = make_const(names[0].dtype(), m);
          const Expr& extent = whole[static_cast<size_t>(batch + m)];
          position.push_back(place_of(indices(at), extent, IndexMode::FromEnd));
        }
        position.insert(position.end(), i.begin() + given, i.end());
        return data(position);
      },
      name, tag);
}

Tensor one_hot(const Tensor& indices, const Expr& on_value, const Expr& off_value, int64_t depth,
               int axis, DType dtype, const std::string& name, const std::string& tag) {
  require_integers({"one_hot", "indices"}, indices);
  if (depth < 0) bad_argument({"one_hot", "depth"}, fmt::format("{}", depth), "0 or more");
  const int along = normalize_axis({"one_hot", "axis"}, axis, indices.rank() + 1);
  std::vector<Expr> shape = indices.shape();
  const Expr extent = make_const(int_type(32), depth);
  shape.insert(shape.begin() + along, extent);
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = to_exprs(i);
        at.erase(at.begin() + along);
        const Expr index = from_end(wide(indices(at), extent), extent);
        const Expr here = cast(index.dtype(), i[static_cast<size_t>(along)]);
        return select(index == here, cast(dtype, on_value), cast(dtype, off_value));
      },
      name, tag);
}

Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y, const std::string& name,
             const std::string& tag) {
  if (x.dtype() != y.dtype()) {
    raise({.code = ErrorCode::TypeMismatch,
           .what = fmt::format("where: x is {} and y is {}", to_string(x.dtype()),
                               to_string(y.dtype())),
           .legal = "tensors of one type; cast the other"});
  }
  const std::vector<Expr> shape =
      broadcast_shape(condition.shape(), broadcast_shape(x.shape(), y.shape(), "where"), "where");
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        const Expr holds = cast(bool_type(), read_broadcast(condition, i));
        return select(holds, read_broadcast(x, i), read_broadcast(y, i));
      },
      name, tag);
}

std::vector<Operator> gather_rows() {
  const ParameterText indices{"indices",
                              "integers, from the end where negative; the nearest one "
                              "where outside"};
  return {
      make_operator(
          "topi", "take",
          [](const Tensor& a, const Tensor& indices, std::optional<int64_t> axis, int64_t batch,
             const std::string& mode) {
            const auto along = axis ? std::optional(static_cast<int>(*axis)) : std::nullopt;
            return take(a, indices, along, static_cast<int>(batch), mode);
          },
          {{"a"},
           {"indices", "integers"},
           {"axis", "a dimension of a; None: of all elements in row-major order", Value()},
           {"batch_dims", "so many first dimensions of both are the same, at most axis", 0},
           {"mode",
            "clip: the nearest where outside, -1 is 0; wrap: the remainder; fast: from the end "
            "where negative, then the nearest where outside",
            "clip"}},
          "Elements along axis: a.shape[:axis] + indices.shape[batch_dims:] + a.shape[axis + 1:]. "
          "ONNX Gather."),
      make_operator(
          "topi", "gather",
          [](const Tensor& data, int64_t axis, const Tensor& indices) {
            return gather(data, static_cast<int>(axis), indices);
          },
          {{"data"}, {"axis", "a dimension"}, indices},
          "The element along axis that each index names, at its own position in all other "
          "dimensions. ONNX GatherElements."),
      make_operator(
          "topi", "gather_nd",
          [](const Tensor& data, const Tensor& indices, int64_t batch) {
            return gather_nd(data, indices, static_cast<int>(batch));
          },
          {{"a"},
           {"indices",
            "[m, …], integers, from the end where negative; the nearest one where "
            "outside"},
           {"batch_dims", "so many first dimensions of a are the first behind m", 0}},
          "What the m indices of a column name, of the dimensions behind batch_dims. ONNX "
          "GatherND."),
      make_operator(
          "topi", "one_hot",
          [](const Tensor& indices, const Expr& on, const Expr& off, int64_t depth, int64_t axis,
             DType dtype) {
            return one_hot(indices, on, off, depth, static_cast<int>(axis), dtype);
          },
          {{"indices", "integers, from the end where negative"},
           {"on_value", "at the index"},
           {"off_value", "elsewhere"},
           {"depth", "the extent of the new dimension"},
           {"axis", "the new dimension"},
           {"dtype", "of the result"}},
          "on_value at the position that each index names along a new dimension, else off_value. "
          "ONNX OneHot."),
      make_operator(
          "topi", "where",
          [](const Tensor& condition, const Tensor& x, const Tensor& y) {
            return where(condition, x, y);
          },
          {{"condition", "of any type; what is not 0 holds"},
           {"x", "of a shape that broadcasts with the others"},
           {"y", "of the type of x"}},
          "x where the condition holds, else y. ONNX Where."),
  };
}

}  // namespace tw::topi
