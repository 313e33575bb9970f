// SPDX-License-Identifier: Apache-2.0
// Operators whose elements depend on where they stand: diagonals, triangles, sequences, positions
// and extents.
#include <algorithm>

#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

int k_of(const AttributeValues& a) { return static_cast<int>(a.integer("k")); }

void attribute_type(TypeInference& t) { t.narrow_output(0, t.attributes().dtype("dtype")); }

void require_matrix(const ShapeInference& s, const Shape& data) {
  if (data.rank() < 2) s.fail(fmt::format("shape {}", to_string(data)), "rank 2 or more");
}

int64_t diagonal_of(const Extents& matrix, int64_t k) {
  const int64_t rows = matrix[matrix.size() - 2], columns = matrix.back();
  const bool known = rows != kUnknown && columns != kUnknown;
  return known ? topi::diagonal_extent(rows, columns, k) : kUnknown;
}

// What is known of matrices and of their diagonals k, inputs or outputs of a node, tells of the
// other.
using Narrow = std::function<void(const Shape&)>;
void narrow_diagonals(const Shape& matrices, const Shape& diagonals, int64_t k,
                      const Narrow& matrices_are, const Narrow& diagonals_are) {
  Extents line = *matrices.extents;
  const int64_t extent = diagonal_of(line, k);
  line.pop_back();
  line.back() = extent;
  diagonals_are(line);
  Extents whole = *diagonals.extents;
  whole.back() = kUnknown;
  whole.push_back(kUnknown);
  matrices_are(whole);
}

std::pair<double, double> ends_of_range(const AttributeValues& a) {
  if (a.is_none("stop")) return {0, a.real("start")};
  return {a.real("start"), a.real("stop")};
}

void infer_arange(ShapeInference& s) {
  const AttributeValues& a = s.attributes();
  if (a.real("step") == 0) s.fail("a step of 0", "another number");
  const auto [start, stop] = ends_of_range(a);
  s.narrow_output(0, Extents{topi::arange_count(start, stop, a.real("step"))});
}

int64_t columns_of_eye(const AttributeValues& a) {
  return a.is_none("M") ? a.integer("N") : a.integer("M");
}
void infer_eye(ShapeInference& s) {
  const int64_t rows = s.attributes().integer("N"), columns = columns_of_eye(s.attributes());
  if (rows < 0 || columns < 0) {
    s.fail(fmt::format("{} rows and {} columns", rows, columns), "0 or more of each");
  }
  s.narrow_output(0, Extents{rows, columns});
}

void infer_diag(ShapeInference& s) {
  const Shape& data = s.input(0);
  if (!data.has_rank()) return;
  if (data.rank() == 0) s.fail("a tensor of rank 0", "rank 1 or more");
  const int64_t k = s.attributes().integer("k");
  if (data.rank() == 1) {
    const int64_t around = std::abs(k);
    const int64_t extent = data[0] == kUnknown ? kUnknown : data[0] + around;
    s.narrow_output(0, Extents{extent, extent});
    const int64_t whole = s.output(0)[0] == kUnknown ? s.output(0)[1] : s.output(0)[0];
    if (whole != kUnknown) s.narrow_input(0, Extents{whole - around});
    return;
  }
  narrow_diagonals(
      data, s.output(0), k, [&](const Shape& whole) { s.narrow_input(0, whole); },
      [&](const Shape& line) { s.narrow_output(0, line); });
}

// Of a vector its diagonal is taken back; of matrices the gradient is theirs on the diagonal.
Entries diag_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  return {n("_diag_grad", {g[0], n.input(0)}, Attributes(node->attributes))};
}

std::vector<te::Tensor> compute_diag_gradient(const AttributeValues& a, Tensors in) {
  const te::Tensor &grad = in[0], &data = in[1];
  if (data.rank() == 1) return {topi::diag(grad, k_of(a))};
  const te::Tensor none = topi::full(data.shape(), grad.dtype(), Expr(0));
  return {topi::matrix_set_diag(none, grad, k_of(a))};
}

void infer_set_diag(ShapeInference& s) {
  first_shape(s);
  const Shape &data = s.input(0), &diagonal = s.input(1);
  if (!data.has_rank() && diagonal.has_rank()) {
    s.narrow_input(0, Shape::of_rank(diagonal.rank() + 1));
  }
  if (!data.has_rank()) return;
  require_matrix(s, data);
  narrow_diagonals(
      data, diagonal, s.attributes().integer("k"),
      [&](const Shape& whole) { s.narrow_input(0, whole); },
      [&](const Shape& line) { s.narrow_input(1, line); });
}

Entries set_diag_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const Attributes k{{"k", fmt::format("{}", n.attributes().integer("k"))}};
  return {n("matrix_set_diag", {g[0], n.zeros(1)}, k), n("diag", {g[0]}, k)};
}

void infer_trilu(ShapeInference& s) {
  same_shape(s);
  if (s.input(0).has_rank()) require_matrix(s, s.input(0));
}

bool exchanges(const AttributeValues& a, size_t count) {
  return a.text("indexing") == "xy" && count >= 2;
}

void infer_meshgrid(ShapeInference& s) {
  const AttributeValues& a = s.attributes();
  const size_t count = s.num_inputs();
  if (a.text("indexing") != "ij" && a.text("indexing") != "xy") {
    s.fail(fmt::format("indexing '{}'", a.text("indexing")), "ij, xy");
  }
  if (s.num_outputs() != count) {
    s.fail(fmt::format("num_args={} for {} vectors", s.num_outputs(), count),
           "as many as there are");
  }
  Shape grid = Shape::of_rank(count);
  for (size_t k = 0; k < count; ++k) {
    s.narrow_input(k, Shape::of_rank(1));
    const size_t along = exchanges(a, count) && k < 2 ? 1 - k : k;
    (*grid.extents)[along] = s.input(k)[0];
  }
  for (size_t k = 0; k < count; ++k) s.narrow_output(k, grid);
  for (size_t k = 0; k < count; ++k) {
    const size_t along = exchanges(a, count) && k < 2 ? 1 - k : k;
    for (size_t j = 0; j < count; ++j) s.narrow_input(k, Extents{s.output(j)[along]});
  }
}

// Each vector has the sum over all other dimensions.
Entries meshgrid_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  Entries of_inputs;
  for (size_t k = 0; k < g.size(); ++k) {
    const size_t along = exchanges(n.attributes(), g.size()) && k < 2 ? 1 - k : k;
    of_inputs.push_back(n(
        "sum", {g[k]}, {{"axis", tuple_text({static_cast<int64_t>(along)})}, {"exclude", "True"}}));
  }
  return of_inputs;
}

void infer_unravel(ShapeInference& s) {
  const Extents& shape = s.attributes().tuple("shape");
  if (shape.empty() || std::ranges::any_of(shape, [](int64_t e) { return e < 1; })) {
    s.fail(fmt::format("a shape of ({})", fmt::join(shape, ", ")), "extents of 1 or more");
  }
  if (!s.input(0).has_rank() && s.output(0).has_rank() && s.output(0).rank() > 0) {
    s.narrow_input(0, Shape::of_rank(s.output(0).rank() - 1));
  }
  if (!s.input(0).has_rank()) return;
  Extents out = *s.input(0).extents;
  out.insert(out.begin(), static_cast<int64_t>(shape.size()));
  s.narrow_output(0, out);
  Extents in = *s.output(0).extents;
  in.erase(in.begin());
  s.narrow_input(0, in);
}

}  // namespace

std::vector<Op> matrix_ops() {
  using enum AttributeType;
  const AttributeSpec type{"dtype", Type, "float32", "the element type"},
      index_type{"dtype", Type, "int32", "the element type"},
      k{"k", Int, "0", "the diagonal: column - row"};
  const std::vector<AttributeSpec> of_grid = {
      {"num_args", Int, {}, "how many vectors there are"},
      {"indexing", Text, "ij", "ij, or xy with the first two dimensions exchanged"}};
  return {
      {.name = "arange",
       .doc = "Numbers from start on, before stop.",
       .attributes = {{"start", Float, "0",
                       "the first; without stop what is not reached, from 0 on"},
                      {"stop", OptionalFloat, "None", "what is not reached"},
                      {"step", Float, "1", "from one to the next, not 0"},
                      type},
       .infer_shape = infer_arange,
       .infer_type = attribute_type,
       .pattern = Pattern::Injective,
       .compute =
           [](const AttributeValues& a, Tensors) {
             const auto [start, stop] = ends_of_range(a);
             return std::vector{topi::arange(start, stop, a.real("step"), a.dtype("dtype"))};
           }},
      {.name = "eye",
       .doc = "A matrix with ones on a diagonal, else zeros.",
       .attributes =
           {{"N", Int, {}, "rows"}, {"M", OptionalInt, "None", "columns; None: N"}, k, type},
       .infer_shape = infer_eye,
       .infer_type = attribute_type,
       .pattern = Pattern::Injective,
       .compute =
           [](const AttributeValues& a, Tensors) {
             return std::vector{
                 topi::eye(a.integer("N"), columns_of_eye(a), k_of(a), a.dtype("dtype"))};
           }},
      {.name = "diag",
       .doc = "The matrix that has a vector on a diagonal; of matrices, the last two dimensions, "
              "their diagonal.",
       .inputs = {{"data", "rank 1 or more"}},
       .attributes = {k},
       .infer_shape = infer_diag,
       .infer_type = same_type,
       .pattern = Pattern::Injective,
       .compute = [](const AttributeValues& a,
                     Tensors in) { return std::vector{topi::diag(in[0], k_of(a))}; },
       .gradient = diag_gradient},
      {.name = "_diag_grad",
       .doc = "The gradient of diag's data; attributes are those of diag.",
       .inputs = {{"grad", "the gradient of the output"}, {"data", "the input"}},
       .attributes = {k},
       .infer_shape = second_shape,
       .infer_type = first_type,
       .pattern = Pattern::Injective,
       .compute = compute_diag_gradient,
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             const GradientOf n(node);
             return first_gradient(n, n("diag", {g[0]}, Attributes(node->attributes)));
           }},
      {.name = "matrix_set_diag",
       .doc = "data, matrices in the last two dimensions, with other elements on a diagonal.",
       .inputs = {{"data", "rank 2 or more"}, {"diagonal", "the shape of diag(data, k)"}},
       .attributes = {k},
       .infer_shape = infer_set_diag,
       .infer_type = same_type,
       .pattern = Pattern::Injective,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::matrix_set_diag(in[0], in[1], k_of(a))};
           },
       .gradient = set_diag_gradient,
       .inplace = {{0, 0}}},
      {.name = "trilu",
       .doc = "data, matrices in the last two dimensions, with zeros below or above a diagonal.",
       .inputs = {{"data", "rank 2 or more"}},
       .attributes = {{"k", Int, "0", "the diagonal: column - row"},
                      {"upper", Bool, "True", "whether what is below becomes 0, or what is above"}},
       .infer_shape = infer_trilu,
       .infer_type = same_type,
       .pattern = Pattern::ElementWise,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::trilu(in[0], k_of(a), a.flag("upper"))};
           },
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             return Entries{GradientOf(node)("trilu", {g[0]}, Attributes(node->attributes))};
           },
       .inplace = {{0, 0}}},
      {.name = "meshgrid",
       .doc = "Vectors along the dimensions of a grid, an output each, repeated along all others.",
       .inputs = {{"data", "vectors of one type"}},
       .variadic = true,
       .attributes = of_grid,
       .num_outputs =
           [](const AttributeValues& a) { return static_cast<int>(a.integer("num_args")); },
       .infer_shape = infer_meshgrid,
       .infer_type = same_type,
       .pattern = Pattern::Broadcast,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return topi::meshgrid({in.begin(), in.end()}, a.text("indexing"));
           },
       .gradient = meshgrid_gradient},
      {.name = "unravel_index",
       .doc = "The positions, along a new first dimension, of elements with row-major positions.",
       .inputs = {{"data", "integers, from the end where negative, the nearest where outside"}},
       .attributes = {{"shape", Tuple, {}, "the extents in which they are, 1 or more each"}},
       .infer_shape = infer_unravel,
       .infer_type = same_type,
       .pattern = Pattern::Injective,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::unravel_index(in[0], a.tuple("shape"))};
           },
       .gradient = no_gradient},
      {.name = "shape_of",
       .doc = "The extents of data as a vector.",
       .inputs = {{"data", "any shape and type"}},
       .attributes = {index_type},
       .infer_shape =
           [](ShapeInference& s) {
             const bool known = s.input(0).has_rank();
             s.narrow_output(0,
                             Extents{known ? static_cast<int64_t>(s.input(0).rank()) : kUnknown});
             if (s.output(0)[0] != kUnknown) {
               s.narrow_input(0, Shape::of_rank(static_cast<size_t>(s.output(0)[0])));
             }
           },
       .infer_type = attribute_type,
       .pattern = Pattern::Injective,
       .compute = [](const AttributeValues& a,
                     Tensors in) { return std::vector{topi::shape(in[0], a.dtype("dtype"))}; },
       .gradient = no_gradient},
      {.name = "ndarray_size",
       .aliases = {"size"},
       .doc = "How many elements data has, of rank 0.",
       .inputs = {{"data", "any shape and type"}},
       .attributes = {index_type},
       .infer_shape = [](ShapeInference& s) { s.narrow_output(0, Extents{}); },
       .infer_type = attribute_type,
       .pattern = Pattern::Injective,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::ndarray_size(in[0], a.dtype("dtype"))};
           },
       .gradient = no_gradient},
  };
}

}  // namespace tw::graph
