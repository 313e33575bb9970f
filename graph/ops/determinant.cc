// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/arithmetic.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

void infer_det(ShapeInference& s) {
  const Shape& data = s.input(0);
  if (!data.has_rank()) {
    if (s.output(0).has_rank()) s.narrow_input(0, Shape::of_rank(s.output(0).rank() + 2));
    return;
  }
  if (data.rank() < 2) s.fail(fmt::format("shape {}", to_string(data)), "rank 2 or more");
  Extents whole = *data.extents;
  const int64_t rows = whole[whole.size() - 2], columns = whole.back();
  if (rows != kUnknown && columns != kUnknown && rows != columns) {
    s.fail(fmt::format("matrices of {} rows and {} columns", rows, columns), "square matrices");
  }
  s.narrow_output(0, Extents(whole.begin(), whole.end() - 2));
  std::copy(s.output(0).extents->begin(), s.output(0).extents->end(), whole.begin());
  whole[whole.size() - 2] = whole.back() = rows == kUnknown ? columns : rows;
  s.narrow_input(0, whole);
}

// Elimination with the greatest of the first column as its pivot: the determinant is the pivot
// times that of the matrix that is left without its row and column. Of matrices without an inverse
// the gradient is that of the pivots which are not 0.
Entries expand_det(const NodeRef& node, std::span<const Shape> shapes) {
  const Arithmetic n(node);
  const Extents& data = n.known(shapes, 0);
  const Extents outer(data.begin(), data.end() - 2);
  int64_t count = 1;
  for (int64_t e : outer) count *= e;
  Entry product = n.add(n.sum(n.mul(n.input(0), 0), {-2, -1}), 1);
  product = n.reshape(product, {count, 1, 1});
  Entry matrix = n.reshape(n.input(0), {count, data.back(), data.back()});
  for (int64_t m = data.back(); m > 0; --m) {
    const auto first = [&](const Entry& e, size_t axis) { return n.slice(e, axis, 0, 1); };
    const auto others = [&](const Entry& e, size_t axis) { return n.slice(e, axis, 1, m); };
    const Entry place = n("argmax", {n("abs", {first(matrix, 2)})}, {{"axis", "1"}});  // (b, 1)
    // 1 in the row of the pivot, (b, m, 1).
    const Entry chosen =
        n("cast_like",
          {n("one_hot", {place}, {{"depth", fmt::format("{}", m)}, {"axis", "1"}}), matrix});
    const Entry row = n.sum(n.mul(chosen, matrix), {1}), pivot = first(row, 2);
    const Entry sign = n.add(n.mul(first(chosen, 1), 2), -1);
    product = n.mul(product, n.mul(pivot, sign));
    if (m == 1) break;
    // The first row takes the place of that of the pivot.
    const Entry left = others(n.sub(matrix, n.mul(chosen, n.sub(row, first(matrix, 1)))), 1);
    const Entry divisor = n.add(pivot, n("broadcast_equal", {pivot, n.like(pivot, 0)}));
    matrix = n.sub(others(left, 2), n.mul(n.div(first(left, 2), divisor), others(row, 2)));
  }
  return {n.reshape(product, outer)};
}

}  // namespace

std::vector<Op> determinant_ops() {
  return {
      {.name = "det",
       .doc = "The determinants of square matrices, the last two dimensions.",
       .inputs = {{"data", "(…, n, n), floating"}},
       .infer_shape = infer_det,
       .infer_type = same_type,
       .compute = [](const AttributeValues&, Tensors in) { return std::vector{topi::det(in[0])}; },
       .expand = expand_det,
       .rounds_once = true}};
}

}  // namespace tw::graph
