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

// Elimination with the greatest element as its pivot: the determinant is the pivot times that of
// the matrix that is left without its row and column, and of the last four elements it is written
// out. Where nothing but zeros is left of three rows or more, neither the determinant nor its
// gradient nor the gradient of that is anything but zero; so all of them are right whatever the
// rank is. A pivot taken from one column may be 0 sooner, and then the way on depends on which
// elements are 0.
Entries expand_det(const NodeRef& node, std::span<const Shape> shapes) {
  const Arithmetic n(node);
  const Extents& data = n.known(shapes, 0);
  const Extents outer(data.begin(), data.end() - 2);
  int64_t count = 1;
  for (int64_t e : outer) count *= e;
  Entry product = n.add(n.sum(n.mul(n.input(0), 0), {-2, -1}), 1);
  product = n.reshape(product, {count, 1, 1});
  Entry matrix = n.reshape(n.input(0), {count, data.back(), data.back()});
  const auto element = [&](int64_t row, int64_t column) {
    return n.slice(n.slice(matrix, 1, row, row + 1), 2, column, column + 1);
  };
  for (int64_t m = data.back(); m > 2; --m) {
    const Entry place =
        n("argmax", {n.reshape(n("abs", {matrix}), {count, m * m})}, {{"axis", "1"}});
    const Entry mask =
        n("cast_like",
          {n("one_hot", {place}, {{"depth", fmt::format("{}", m * m)}, {"axis", "1"}}), matrix});
    // 1 at the pivot, in its row, (b, m, 1), and in its column, (b, 1, m).
    const Entry at = n.reshape(mask, {count, m, m});
    const Entry in_row = n.sum(at, {2}), in_column = n.sum(at, {1});
    const Entry row = n.sum(n.mul(in_row, matrix), {1}),
                column = n.sum(n.mul(in_column, matrix), {2}),
                pivot = n.sum(n.mul(at, matrix), {1, 2});
    const auto sign = [&](const Entry& chosen, size_t axis) {
      return n.add(n.mul(n.slice(chosen, axis, 0, 1), 2), -1);
    };
    product = n.mul(product, n.mul(pivot, n.mul(sign(in_row, 1), sign(in_column, 2))));
    const Entry divisor = n.add(pivot, n("broadcast_equal", {pivot, n.like(pivot, 0)}));
    matrix = n.sub(matrix, n.mul(n.div(column, divisor), row));
    // The first row and the first column take the places of those of the pivot.
    const auto without = [&](const Entry& chosen, size_t axis) {
      const Entry of_pivot = n.sum(n.mul(chosen, matrix), {static_cast<int64_t>(axis)});
      const Entry moved = n.mul(chosen, n.sub(of_pivot, n.slice(matrix, axis, 0, 1)));
      matrix = n.slice(n.sub(matrix, moved), axis, 1, m);
    };
    without(in_row, 1);
    without(in_column, 2);
  }
  if (data.back() == 1) product = n.mul(product, matrix);
  if (data.back() > 1) {
    product = n.mul(
        product, n.sub(n.mul(element(0, 0), element(1, 1)), n.mul(element(0, 1), element(1, 0))));
  }
  return {n.reshape(product, outer)};
}

}  // namespace

std::vector<Op> determinant_ops() {
  return {
      {.name = "det",
       .doc = "The determinants of square matrices, the last two dimensions. The gradient is the "
              "transpose of the adjugate, of matrices without an inverse too; so is that of second "
              "order right for all.",
       .inputs = {{"data", "(…, n, n), floating"}},
       .infer_shape = infer_det,
       .infer_type = same_type,
       .compute = [](const AttributeValues&, Tensors in) { return std::vector{topi::det(in[0])}; },
       .expand = expand_det,
       .rounds_once = true}};
}

}  // namespace tw::graph
