// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/transform.h"

#include <fmt/format.h>

#include "ir/expr.h"
#include "runtime/error.h"
#include "schedule/topi/operator.h"

namespace tw::topi {
namespace {

// Position of row-major element `flat`. The first index needs no remainder.
std::vector<Expr> unravel(Expr flat, const std::vector<Expr>& shape) {
  std::vector<Expr> indices(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    // Of an extent of 0 nothing is read.
    if (is_one(shape[d]) || is_zero(shape[d])) {
      indices[d] = make_zero(flat.dtype());
      continue;
    }
    bool outermost = true;
    for (size_t o = 0; o < d; ++o) outermost &= is_one(shape[o]);
    indices[d] = outermost ? flat : floor_mod(flat, shape[d]);
    flat = floor_div(flat, shape[d]);
  }
  return indices;
}

Expr ravel(const std::vector<Var>& position, const std::vector<Expr>& shape) {
  Expr flat = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!is_one(shape[d])) flat = flat * shape[d] + position[d];
  }
  return flat;
}

// Replaces an extent of -1 by what is left of `total`.
std::vector<Expr> complete_shape(std::vector<Expr> shape, const Expr& total) {
  const Place place{"reshape", "shape"};
  Expr* open = nullptr;
  std::vector<Expr> given;
  for (Expr& extent : shape) {
    if (!is_const_int(extent, -1)) {
      given.push_back(extent);
      continue;
    }
    if (open) bad_shape(place, "more than one extent is -1", "at most one -1");
    open = &extent;
  }
  const Expr known = product(given);
  const auto all = as_const_int(total), some = as_const_int(known);
  const auto wrong_count = [&] {
    bad_shape(place, fmt::format("{} elements under shape {}", *all, shape_text(shape)),
              "a shape of as many elements as the tensor has");
  };
  if (open) {
    if (all && some && (*some <= 0 || *all % *some != 0)) wrong_count();
    *open = floor_div(total, known);
  } else if (all && some && *all != *some) {
    wrong_count();
  }
  return shape;
}

// Positions of `from` for an unchanged row-major order.
Tensor reorder_elements(const Tensor& a, const std::vector<Expr>& shape, const std::string& name,
                        const std::string& tag) {
  const std::vector<Expr> from = a.shape();
  return te::compute(
      shape, [&](const std::vector<Var>& i) { return a(unravel(ravel(i, shape), from)); }, name,
      tag);
}

}  // namespace

Tensor transpose(const Tensor& a, const std::vector<int>& axes, const std::string& name,
                 const std::string& tag) {
  const Place place{"transpose", "axes"};
  const int rank = a.rank();
  std::vector<int> order;
  for (int d = 0; axes.empty() && d < rank; ++d) order.push_back(rank - 1 - d);
  for (int axis : axes) order.push_back(normalize_axis(place, axis, rank));
  normalize_axes(place, order, rank);  // refuses repeats
  if (static_cast<int>(order.size()) != rank) {
    bad_argument(place, fmt::format("{} axes for rank {}", order.size(), rank),
                 "each axis of the tensor once");
  }
  const std::vector<Expr> from = a.shape();
  std::vector<Expr> shape;
  for (int d : order) shape.push_back(from[static_cast<size_t>(d)]);
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> indices(i.size());
        for (size_t d = 0; d < order.size(); ++d) indices[static_cast<size_t>(order[d])] = i[d];
        return a(indices);
      },
      name, tag);
}

Tensor reshape(const Tensor& a, const std::vector<Expr>& shape, const std::string& name,
               const std::string& tag) {
  return reorder_elements(a, complete_shape(shape, product(a.shape())), name, tag);
}

Tensor concatenate(const std::vector<Tensor>& tensors, int axis, const std::string& name,
                   const std::string& tag) {
  const Place place{"concatenate", "tensors"};
  if (tensors.empty()) bad_argument(place, "no tensors", "at least one");
  const int rank = tensors[0].rank();
  const auto along = static_cast<size_t>(normalize_axis({"concatenate", "axis"}, axis, rank));
  std::vector<Expr> shape = tensors[0].shape();
  std::vector<Expr> ends = {shape[along]};
  for (size_t k = 1; k < tensors.size(); ++k) {
    require_rank(place, tensors[k], rank);
    if (tensors[k].dtype() != tensors[0].dtype()) {
      raise({.code = ErrorCode::TypeMismatch,
             .what = fmt::format("concatenate: elements of types {} and {}",
                                 to_string(tensors[0].dtype()), to_string(tensors[k].dtype())),
             .legal = "tensors of one type; cast the others"});
    }
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d != along) require_extent(place, tensors[k], static_cast<int>(d), shape[d]);
    }
    ends.push_back(ends.back() + tensors[k].shape()[along]);
  }
  shape[along] = ends.back();
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> indices = to_exprs(i);
        Expr value = tensors[0](indices);
        for (size_t k = 1; k < tensors.size(); ++k) {
          indices[along] = i[along] - ends[k - 1];
          value = if_then_else(ends[k - 1] <= i[along], tensors[k](indices), value);
        }
        return value;
      },
      name, tag);
}

Tensor squeeze(const Tensor& a, const std::vector<int>& axis, const std::string& name,
               const std::string& tag) {
  const Place place{"squeeze", "axis"};
  const std::vector<Expr> from = a.shape();
  std::vector<bool> removed(from.size());
  for (size_t d = 0; axis.empty() && d < from.size(); ++d) removed[d] = is_one(from[d]);
  if (!axis.empty()) {
    for (int d : normalize_axes(place, axis, a.rank())) {
      require_extent(place, a, d, 1);
      removed[static_cast<size_t>(d)] = true;
    }
  }
  std::vector<Expr> shape;
  for (size_t d = 0; d < from.size(); ++d) {
    if (!removed[d]) shape.push_back(from[d]);
  }
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> indices;
        size_t next = 0;
        for (size_t d = 0; d < from.size(); ++d) {
          indices.push_back(removed[d] ? make_zero(from[d].dtype()) : Expr(i[next++]));
        }
        return a(indices);
      },
      name, tag);
}

Tensor expand_dims(const Tensor& a, int axis, int count, const std::string& name,
                   const std::string& tag) {
  if (count < 0) bad_argument({"expand_dims", "count"}, fmt::format("{}", count), "at least 0");
  const int at = normalize_axis({"expand_dims", "axis"}, axis, a.rank() + 1);
  std::vector<Expr> shape = a.shape();
  shape.insert(shape.begin() + at, static_cast<size_t>(count), Expr(1));
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> indices = to_exprs(i);
        indices.erase(indices.begin() + at, indices.begin() + at + count);
        return a(indices);
      },
      name, tag);
}

namespace nn {

Tensor flatten(const Tensor& a, const std::string& name, const std::string& tag) {
  if (a.rank() == 0) {
    bad_shape({"flatten", "a"}, "a tensor of rank 0", "a tensor of rank 1 or more");
  }
  const std::vector<Expr> from = a.shape();
  return reorder_elements(a, {from[0], product({from.begin() + 1, from.end()})}, name, tag);
}

}  // namespace nn
std::vector<Operator> transform_rows() {
  using Axes = std::vector<int>;
  using Shape = std::vector<Expr>;
  return {
      make_operator(
          "topi", "transpose", [](const Tensor& a, const Axes& axes) { return transpose(a, axes); },
          {{"a"},
           {"axes", "a permutation of the dimensions; None: from the last to the first", Value()}},
          "Dimension d of the result is dimension axes[d] of a. ONNX Transpose."),
      make_operator(
          "topi", "reshape", [](const Tensor& a, const Shape& shape) { return reshape(a, shape); },
          {{"a"},
           {"newshape", "of as many elements; one extent may be -1, and follows from the others"}},
          "The elements in row-major order under another shape. NumPy reshape."),
      make_operator(
          "topi", "concatenate",
          [](const std::vector<Tensor>& tensors, int64_t axis) {
            return concatenate(tensors, static_cast<int>(axis));
          },
          {{"a_tuple", "of one type and, but for axis, one shape"}, {"axis", "a dimension", 0}},
          "Tensors one after the other along axis. ONNX Concat."),
      make_operator(
          "topi", "squeeze", [](const Tensor& a, const Axes& axis) { return squeeze(a, axis); },
          {{"a"}, {"axis", "dimensions of extent 1; None: all of them", Value()}},
          "a without dimensions of extent 1. NumPy squeeze."),
      make_operator(
          "topi", "expand_dims",
          [](const Tensor& a, int64_t axis, int64_t count) {
            return expand_dims(a, static_cast<int>(axis), static_cast<int>(count));
          },
          {{"a"}, {"axis", "a dimension of the result"}, {"num_newaxis", "how many", 1}},
          "a with dimensions of extent 1 before axis. NumPy expand_dims."),
      make_operator(
          "topi.nn", "flatten", [](const Tensor& data) { return nn::flatten(data); },
          {{"data", "[N, C, ...]"}}, "[N, C * ...]; of rank 1 [N, 1]. ONNX Flatten with axis 1."),
  };
}

}  // namespace tw::topi
