// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/expr.h"
#include "runtime/error.h"
#include "schedule/topi/gather.h"
#include "schedule/topi/operator.h"
#include "schedule/topi/statements.h"

namespace tw::topi {
namespace {

void require_matrix(const Place& place, const Tensor& t) {
  if (t.rank() >= 2) return;
  bad_shape(place, fmt::format("shape {}", shape_text(t.shape())), "rank 2 or more");
}

// How far an element stands to the right of the main diagonal.
Expr right_of_diagonal(const std::vector<Var>& i) { return i[i.size() - 1] - i[i.size() - 2]; }

// Where on diagonal k the element at the end of a position is, if it is on it.
Expr place_on_diagonal(const std::vector<Var>& i, int k) {
  return k >= 0 ? Expr(i[i.size() - 2]) : Expr(i[i.size() - 1]);
}

Expr diagonal_extent_of(const Tensor& t, const Place& place, int k) {
  const std::vector<int64_t> extents = constant_shape(place, t);
  return make_const(int_type(32), diagonal_extent(extents[extents.size() - 2], extents.back(), k));
}

}  // namespace

int64_t arange_count(double start, double stop, double step) {
  if (step == 0 || !std::isfinite((stop - start) / step)) {
    bad_argument({"arange", "step"}, fmt::format("{} from {} to {}", step, start, stop),
                 "a step that is not 0, between numbers");
  }
  const double count = std::ceil((stop - start) / step);
  if (count > 2147483647.0) {
    bad_argument({"arange", "step"}, fmt::format("{} elements", count), "at most 2147483647");
  }
  return std::max<int64_t>(static_cast<int64_t>(count), 0);
}

Tensor arange(double start, double stop, double step, DType dtype, const std::string& name,
              const std::string& tag) {
  const Expr count = make_const(int_type(32), arange_count(start, stop, step));
  const auto number = [&](double v) {
    return saturating_cast(dtype, make_const_float(float_type(64), v));
  };
  return te::compute(
      {count},
      [&](const std::vector<Var>& i) { return number(start) + cast(dtype, i[0]) * number(step); },
      name, tag);
}

Tensor eye(int64_t rows, int64_t columns, int k, DType dtype, const std::string& name,
           const std::string& tag) {
  if (rows < 0 || columns < 0) {
    bad_argument({"eye", "shape"}, fmt::format("{} rows and {} columns", rows, columns),
                 "0 or more of each");
  }
  return te::compute(
      {make_const(int_type(32), rows), make_const(int_type(32), columns)},
      [&](const std::vector<Var>& i) {
        return select(right_of_diagonal(i) == Expr(k), make_const(dtype, 1), make_zero(dtype));
      },
      name, tag);
}

int64_t diagonal_extent(int64_t rows, int64_t columns, int64_t k) {
  return std::max<int64_t>(
      0, std::min(rows + std::min<int64_t>(k, 0), columns - std::max<int64_t>(k, 0)));
}

Tensor diag(const Tensor& a, int k, const std::string& name, const std::string& tag) {
  if (a.rank() == 0) bad_shape({"diag", "a"}, "a tensor of rank 0", "rank 1 or more");
  if (a.rank() == 1) {
    const Expr extent = a.shape()[0] + Expr(std::abs(k));
    return te::compute(
        {extent, extent},
        [&](const std::vector<Var>& i) {
          return if_then_else(right_of_diagonal(i) == Expr(k), a(place_on_diagonal(i, k)),
                              make_zero(a.dtype()));
        },
        name, tag);
  }
  std::vector<Expr> shape = a.shape();
  const Expr extent = diagonal_extent_of(a, {"diag", "a"}, k);
  shape.pop_back();
  shape.back() = extent;
  // The least integer has no opposite; so far down nothing is left of the diagonal.
  const int rows = k < 0 ? -std::max(k, -INT32_MAX) : 0;
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = to_exprs(i);
        at.back() = i.back() + Expr(rows);
        at.push_back(i.back() + Expr(std::max(k, 0)));
        return a(at);
      },
      name, tag);
}

Tensor matrix_set_diag(const Tensor& data, const Tensor& diagonal, int k, const std::string& name,
                       const std::string& tag) {
  const Place place{"matrix_set_diag", "diagonal"};
  require_matrix({"matrix_set_diag", "data"}, data);
  require_rank(place, diagonal, data.rank() - 1);
  if (diagonal.dtype() != data.dtype()) {
    raise({.code = ErrorCode::TypeMismatch,
           .what = fmt::format("matrix_set_diag: a diagonal of {} in {}",
                               to_string(diagonal.dtype()), to_string(data.dtype())),
           .legal = "one type; cast the other"});
  }
  for (int d = 0; d + 2 < data.rank(); ++d) {
    require_extent(place, diagonal, d, data.shape()[static_cast<size_t>(d)]);
  }
  require_extent(place, diagonal, diagonal.rank() - 1,
                 diagonal_extent_of(data, {"matrix_set_diag", "data"}, k));
  return te::compute(
      data.shape(),
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at(i.begin(), i.end() - 2);
        at.push_back(place_on_diagonal(i, k));
        return if_then_else(right_of_diagonal(i) == Expr(k), diagonal(at), data(to_exprs(i)));
      },
      name, tag);
}

Tensor trilu(const Tensor& data, int k, bool upper, const std::string& name,
             const std::string& tag) {
  require_matrix({"trilu", "data"}, data);
  return te::compute(
      data.shape(),
      [&](const std::vector<Var>& i) {
        const Expr off = right_of_diagonal(i);
        return select(upper ? off >= Expr(k) : off <= Expr(k), data(to_exprs(i)),
                      make_zero(data.dtype()));
      },
      name, tag);
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors, std::string_view indexing,
                             const std::string& name, const std::string& tag) {
  if (indexing != "ij" && indexing != "xy") {
    bad_argument({"meshgrid", "indexing"}, fmt::format("'{}'", indexing), "ij, xy");
  }
  std::vector<Expr> shape;
  for (const Tensor& t : vectors) {
    require_rank({"meshgrid", "a_tuple"}, t, 1);
    shape.push_back(t.shape()[0]);
  }
  const bool exchanged = indexing == "xy" && vectors.size() >= 2;
  if (exchanged) std::swap(shape[0], shape[1]);
  std::vector<Tensor> result;
  for (size_t k = 0; k < vectors.size(); ++k) {
    const size_t along = exchanged && k < 2 ? 1 - k : k;
    result.push_back(te::compute(
        shape, [&](const std::vector<Var>& i) { return vectors[k](i[along]); }, name, tag));
  }
  return result;
}

Tensor unravel_index(const Tensor& indices, const std::vector<int64_t>& shape,
                     const std::string& name, const std::string& tag) {
  require_integers({"unravel_index", "indices"}, indices);
  const int64_t count = count_of(shape);
  if (std::ranges::any_of(shape, [](int64_t e) { return e < 1; }) || shape.empty()) {
    bad_argument({"unravel_index", "shape"}, fmt::format("({})", fmt::join(shape, ", ")),
                 "extents of 1 or more");
  }
  std::vector<Expr> extents = indices.shape();
  extents.insert(extents.begin(), make_const(int_type(32), static_cast<int64_t>(shape.size())));
  const DType wide = int_type(count > 2147483647 ? 64 : 32);
  return te::compute(
      extents,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at(i.begin() + 1, i.end());
        Expr flat = place_of(indices(at), make_const(wide, count), IndexMode::FromEnd);
        Expr value;
        for (size_t d = shape.size(); d-- > 0;) {
          const Expr extent = make_const(wide, shape[d]);
          const Expr place = cast(indices.dtype(), d == 0 ? flat : floor_mod(flat, extent));
          const Expr here = i[0] == make_const(i[0].dtype(), static_cast<int64_t>(d));
          value = value.defined() ? select(here, place, value) : place;
          flat = floor_div(flat, extent);
        }
        return value;
      },
      name, tag);
}

Tensor shape(const Tensor& a, DType dtype, const std::string& name, const std::string& tag) {
  const std::vector<Expr> extents = a.shape();
  return te::compute(
      {make_const(int_type(32), a.rank())},
      [&](const std::vector<Var>& i) {
        Expr value = make_zero(dtype);
        for (size_t d = extents.size(); d-- > 0;) {
          const Expr here = i[0] == make_const(i[0].dtype(), static_cast<int64_t>(d));
          value = select(here, cast(dtype, extents[d]), value);
        }
        return value;
      },
      name, tag);
}

Tensor ndarray_size(const Tensor& a, DType dtype, const std::string& name, const std::string& tag) {
  Expr count = make_const(dtype, 1);
  for (const Expr& e : a.shape()) count = count * cast(dtype, e);
  return te::compute({}, [&](const std::vector<Var>&) { return count; }, name, tag);
}

std::vector<Operator> matrix_rows() {
  const ParameterText k{"k", "the diagonal: column - row", 0};
  return {
      make_operator(
          "topi", "arange",
          [](double start, std::optional<double> stop, double step, DType dtype) {
            return stop ? arange(start, *stop, step, dtype) : arange(0, start, step, dtype);
          },
          {{"start", "the first number; the end, if stop is None"},
           {"stop", "what is not reached; None: start, beginning with 0", Value()},
           {"step", "from one to the next, not 0", 1.0},
           {"dtype", "of the result", float_type(32)}},
          "Numbers from start on before stop. NumPy arange."),
      make_operator(
          "topi", "eye",
          [](int64_t rows, std::optional<int64_t> columns, int64_t k, DType dtype) {
            return eye(rows, columns.value_or(rows), static_cast<int>(k), dtype);
          },
          {{"N", "rows"},
           {"M", "columns; None: N", Value()},
           k,
           {"dtype", "of the result", float_type(32)}},
          "Ones on a diagonal of zeros. NumPy eye."),
      make_operator(
          "topi", "diag", [](const Tensor& a, int64_t k) { return diag(a, static_cast<int>(k)); },
          {{"a", "a vector, or matrices in the last two dimensions, of constant shape"}, k},
          "The matrix with a vector on a diagonal; of matrices their diagonal. NumPy diag."),
      make_operator(
          "topi", "matrix_set_diag",
          [](const Tensor& data, const Tensor& diagonal, int64_t k) {
            return matrix_set_diag(data, diagonal, static_cast<int>(k));
          },
          {{"data", "matrices in the last two dimensions, of constant shape"},
           {"diagonal", "of the shape of diag(data, k)"},
           k},
          "data with other elements on a diagonal."),
      make_operator(
          "topi", "trilu",
          [](const Tensor& data, int64_t k, bool upper) {
            return trilu(data, static_cast<int>(k), upper);
          },
          {{"data", "matrices in the last two dimensions"},
           k,
           {"upper", "whether what is below becomes 0, or what is above", true}},
          "Matrices with zeros on one side of a diagonal. ONNX Trilu."),
      make_operator(
          "topi", "meshgrid",
          [](const std::vector<Tensor>& vectors, const std::string& indexing) {
            return meshgrid(vectors, indexing);
          },
          {{"a_tuple", "vectors"},
           {"indexing", "ij, or xy with the first two dimensions exchanged"}},
          "Vectors along the dimensions of a grid, repeated along all others. NumPy meshgrid."),
      make_operator(
          "topi", "unravel_index",
          [](const Tensor& indices, const std::vector<int64_t>& shape) {
            return unravel_index(indices, shape);
          },
          {{"indices",
            "row-major positions, from the end where negative; the nearest where outside"},
           {"shape", "extents of 1 or more"}},
          "Positions along a new first dimension. NumPy unravel_index."),
      make_operator(
          "topi", "shape", [](const Tensor& a, DType dtype) { return shape(a, dtype); },
          {{"array"}, {"dtype", "of the result", int_type(32)}},
          "The extents as a vector. ONNX Shape."),
      make_operator(
          "topi", "ndarray_size",
          [](const Tensor& a, DType dtype) { return ndarray_size(a, dtype); },
          {{"array"}, {"dtype", "of the result", int_type(32)}},
          "How many elements there are. ONNX Size."),
  };
}

}  // namespace tw::topi
