// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "graph/ops/arithmetic.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

// Products of vectors by one matrix: all dimensions of data but the last stay.
void infer_dense(ShapeInference& s) {
  const int64_t units = s.attributes().integer("units");
  if (!s.input(0).has_rank() && s.output(0).has_rank()) {
    s.narrow_input(0, Shape::of_rank(s.output(0).rank()));
  }
  if (s.num_inputs() > 2) s.narrow_input(2, Shape({units}));
  s.narrow_input(1, Shape({units, Shape::kUnknown}));
  if (!s.input(0).has_rank()) return;
  const size_t rank = s.input(0).rank();
  if (rank == 0) s.fail("data of rank 0", "rank 1 or more");
  s.narrow_input(1, Shape({units, s.input(0)[rank - 1]}));
  s.narrow_output(0, Shape::of_rank(rank));
  std::vector<int64_t> data = *s.output(0).extents, out = *s.input(0).extents;
  data.back() = s.input(1)[1];
  out.back() = units;
  s.narrow_input(0, data);
  s.narrow_output(0, out);
}

constexpr AttributeSpec kOutType{"out_dtype", AttributeType::OptionalType, "same",
                                 "element type of products and sums"};

std::vector<AttributeSpec> product_attributes(std::string_view transpose_b) {
  return {{"transpose_a", AttributeType::Bool, "False", "whether lhs stands transposed"},
          {"transpose_b", AttributeType::Bool, transpose_b, "whether rhs stands transposed"},
          kOutType};
}

std::vector<ScaleEquation> dense_scales(const Node&, std::span<const Shape> inputs, const Shape&) {
  using Kind = ScaledInput::Kind;
  if (!inputs[0].has_rank() || inputs[0].rank() != 2) return {};
  ScaleEquation out{.output = 1, .inputs = {{}, {Kind::Multiply, 0}}};
  ScaleEquation in{.inputs = {{Kind::Pass, 1}, {Kind::Multiply, 1}}};
  if (inputs.size() > 2) {
    out.inputs.push_back({Kind::Multiply, 0});
    in.inputs.emplace_back();
  }
  return {out, in};
}

void dense_layout(LayoutChoice& c) {
  if (c.natural(0).known() && c.natural(0).rank() != 2) return;
  static constexpr std::string_view kInputs[] = {"NC", "OI", "C"};
  for (size_t k = 0; k < c.num_inputs(); ++k) c.want(k, Layout::parse(kInputs[k]));
  c.give(0, Layout::parse("NC"));
}

void infer_dense_type(TypeInference& t) {
  if (t.attributes().is_none("out_dtype")) {
    same_type(t);
    return;
  }
  const KnownType type = t.attributes().dtype("out_dtype");
  t.narrow_output(0, type);
  if (t.num_inputs() > 2) t.narrow_input(2, type);
}

std::optional<DType> type_of_products(const AttributeValues& a) {
  return a.is_none("out_dtype") ? std::nullopt : std::optional(a.dtype("out_dtype"));
}

// Positions of a tensor of rank n as rows of a matrix.
std::vector<te::Tensor> compute_dense(const AttributeValues& a, Tensors in) {
  const std::optional<DType> type = type_of_products(a);
  const te::Tensor bias = in.size() > 2 ? in[2] : te::Tensor();
  if (in[0].rank() == 2) return {topi::nn::dense(in[0], in[1], bias, type)};
  if (in[0].rank() > 2) {
    const te::Tensor product = topi::nn::batch_matmul(in[0], in[1], type, false, true);
    return {bias.defined() ? topi::add(product, bias) : product};
  }
  const te::Tensor row = topi::nn::dense(topi::expand_dims(in[0], 0), in[1], bias, type);
  return {topi::squeeze(row, {0})};
}

Entries dense_gradient(const NodeRef& node, const Entries& g) {
  const Arithmetic n(node);
  const auto rows = [&](const Entry& e) { return n("_as_rows", {e}); };
  Entries of_inputs{n("matmul", {g[0], n.input(1)}),
                    n("matmul", {rows(g[0]), rows(n.input(0))}, {{"transpose_a", "true"}})};
  if (node->inputs.size() > 2) {
    of_inputs.push_back(n("sum", {g[0]}, {{"axis", "(-1,)"}, {"exclude", "true"}}));
  }
  return of_inputs;
}

// Where a matrix has its rows and columns among the dimensions of an operand.
struct Sides {
  size_t row, column;
  Sides(size_t rank, bool transposed) : row(rank - 2), column(rank - 1) {
    if (transposed) std::swap(row, column);
  }
};

void narrow_extent(ShapeInference& s, size_t k, size_t d, int64_t extent) {
  Shape known = Shape::of_rank(s.input(k).rank());
  (*known.extents)[d] = extent;
  s.narrow_input(k, known);
}

// Of operands of rank 2 or more; a vector (matmul's alone) is a row of the first, a column of the
// second operand, and that dimension is none of the result's.
void infer_product(ShapeInference& s, size_t least) {
  for (size_t k = 0; k < 2; ++k) {
    if (s.input(k).has_rank() && s.input(k).rank() < least) {
      s.fail(fmt::format("an operand of shape {}", to_string(s.input(k))),
             fmt::format("rank {} or more", least));
    }
  }
  if (!s.input(0).has_rank() || !s.input(1).has_rank()) return;
  const bool row = s.input(0).rank() == 1, column = s.input(1).rank() == 1;
  const Sides a(std::max<size_t>(s.input(0).rank(), 2), s.attributes().flag("transpose_a") && !row);
  const Sides b(std::max<size_t>(s.input(1).rank(), 2),
                s.attributes().flag("transpose_b") && !column);
  const size_t depth_a = row ? 0 : a.column, depth_b = column ? 0 : b.row;
  narrow_extent(s, 1, depth_b, s.input(0)[depth_a]);
  narrow_extent(s, 0, depth_a, s.input(1)[depth_b]);
  const auto before = [&](size_t k) {
    const std::vector<int64_t>& e = *s.input(k).extents;
    return std::vector<int64_t>(e.begin(), e.end() - std::min<std::ptrdiff_t>(2, std::ssize(e)));
  };
  const std::optional<Shape> batch = broadcast_of(before(0), before(1));
  if (!batch) {
    s.fail(fmt::format("products of {} and {}", to_string(s.input(0)), to_string(s.input(1))),
           "dimensions before the matrices that are equal, 1 or missing");
  }
  std::vector<int64_t> out = *batch->extents;
  if (!row) out.push_back(s.input(0)[a.row]);
  if (!column) out.push_back(s.input(1)[b.column]);
  s.narrow_output(0, out);
  // Rows and columns of the result are those of an operand.
  const Shape& known = s.output(0);
  if (!column) narrow_extent(s, 1, b.column, known[known.rank() - 1]);
  if (!row) narrow_extent(s, 0, a.row, known[known.rank() - (column ? 1 : 2)]);
}

Attributes turned(bool a, bool b) {
  return {{"transpose_a", Arithmetic::text(a)}, {"transpose_b", Arithmetic::text(b)}};
}

// C = A B, so that A's is G Bᵀ and B's is AᵀG; of operands that stand transposed, transposed, and
// of those that were repeated the sum.
Entries batch_matmul_gradient(const NodeRef& node, const Entries& g) {
  const Arithmetic n(node);
  const bool ta = n.attributes().flag("transpose_a"), tb = n.attributes().flag("transpose_b");
  const auto of = [&](size_t k, const Entry& a, bool turn_a, const Entry& b, bool turn_b) {
    return n("collapse_sum", {n("batch_matmul", {a, b}, turned(turn_a, turn_b)), n.input(k)});
  };
  const Entry &a = n.input(0), &b = n.input(1);
  return {ta ? of(0, b, tb, g[0], true) : of(0, g[0], false, b, !tb),
          tb ? of(1, g[0], true, a, ta) : of(1, a, !ta, g[0], false)};
}

Entries expand_matmul(const NodeRef& node, std::span<const Shape> shapes) {
  const Arithmetic n(node);
  const AttributeValues a = n.attributes();
  const bool row = n.ranked(shapes, 0).rank() == 1, column = n.ranked(shapes, 1).rank() == 1;
  const auto raised = [&](size_t k, bool vector, std::string_view axis) {
    return vector ? n("expand_dims", {n.input(k)}, {{"axis", std::string(axis)}}) : n.input(k);
  };
  Entry product = n("batch_matmul", {raised(0, row, "0"), raised(1, column, "1")},
                    turned(a.flag("transpose_a") && !row, a.flag("transpose_b") && !column));
  if (column) product = n("squeeze", {product}, {{"axis", "-1"}});
  if (row) product = n("squeeze", {product}, {{"axis", column ? "-1" : "-2"}});
  return {product};
}

std::vector<te::Tensor> compute_product(const AttributeValues& a, Tensors in) {
  const bool row = in[0].rank() == 1, column = in[1].rank() == 1;
  const bool ta = a.flag("transpose_a") && !row, tb = a.flag("transpose_b") && !column;
  const te::Tensor lhs = row ? topi::expand_dims(in[0], 0) : in[0],
                   rhs = column ? topi::expand_dims(in[1], 1) : in[1];
  const std::optional<DType> type = type_of_products(a);
  te::Tensor product = lhs.rank() == 2 && rhs.rank() == 2
                           ? topi::nn::matmul(lhs, rhs, {}, type, ta, tb)
                           : topi::nn::batch_matmul(lhs, rhs, type, ta, tb);
  if (column) product = topi::squeeze(product, {product.rank() - 1});
  if (row) product = topi::squeeze(product, {product.rank() - (column ? 1 : 2)});
  return {product};
}

void infer_as_rows(ShapeInference& s) {
  s.narrow_output(0, Shape::of_rank(2));
  if (!s.input(0).has_rank() || s.input(0).rank() == 0) return;
  int64_t rows = 1;
  for (size_t k = 0; k + 1 < s.input(0).rank(); ++k) {
    const int64_t e = s.input(0)[k];
    rows = rows == Shape::kUnknown || e == Shape::kUnknown ? Shape::kUnknown : rows * e;
  }
  s.narrow_output(0, Shape({rows, s.input(0)[s.input(0).rank() - 1]}));
}

std::vector<te::Tensor> compute_as_rows(const AttributeValues&, Tensors in) {
  const std::vector<Expr> shape = in[0].shape();
  Expr rows = 1;
  for (size_t k = 0; k + 1 < shape.size(); ++k) rows = rows * shape[k];
  return {topi::reshape(in[0], {rows, shape.back()})};
}

}  // namespace

std::vector<Op> dense_ops() {
  using enum AttributeType;
  return {
      {.name = "dense",
       .doc = "data · weightᵀ + bias",
       .inputs = {{"data", "(n, k), or any rank from 1 on"},
                  {"weight", "(units, k)"},
                  {"bias", "(units,)", "use_bias"}},
       .attributes = {{"units", Int, {}, "columns of the output"},
                      {"use_bias", Bool, "True", "whether there is a bias"},
                      kOutType},
       .infer_shape = infer_dense,
       .infer_type = infer_dense_type,
       .layout = dense_layout,
       .pattern = Pattern::OutEWiseFusable,
       .compute = compute_dense,
       .gradient = dense_gradient,
       .fold_scale = dense_scales},
      {.name = "matmul",
       .doc =
           "lhs · rhs, as NumPy's matmul: of more dimensions than two, products of matrices, and "
           "vectors are a row of lhs or a column of rhs.",
       .inputs = {{"lhs", "(…, m, k), or (…, k, m) transposed, or (k,)"},
                  {"rhs", "(…, k, n), or (…, n, k) transposed, or (k,)"}},
       .attributes = product_attributes("False"),
       .infer_shape = [](ShapeInference& s) { infer_product(s, 1); },
       .infer_type = infer_dense_type,
       .pattern = Pattern::OutEWiseFusable,
       .compute = compute_product,
       .expand = expand_matmul},
      {.name = "batch_matmul",
       .doc = "Products of matrices, one for each position of the dimensions before them, which "
              "broadcast by NumPy's rule.",
       .inputs = {{"lhs", "(…, m, k), or (…, k, m) transposed"},
                  {"rhs", "(…, k, n), or (…, n, k) transposed"}},
       .attributes = product_attributes("True"),
       .infer_shape = [](ShapeInference& s) { infer_product(s, 2); },
       .infer_type = infer_dense_type,
       .pattern = Pattern::OutEWiseFusable,
       .compute = compute_product,
       .gradient = batch_matmul_gradient},
      {.name = "_as_rows",
       .doc = "All dimensions but the last as one.",
       .inputs = {{"data", "(…, k)"}},
       .infer_shape = infer_as_rows,
       .infer_type = same_type,
       .pattern = Pattern::Injective,
       .compute = compute_as_rows,
       .gradient = reshaped_gradient,
       .is_reshape = true,
       .identity = identity_if_same_shape,
       .inplace = {{0, 0}}},
  };
}

}  // namespace tw::graph
