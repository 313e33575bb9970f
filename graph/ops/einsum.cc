// SPDX-License-Identifier: Apache-2.0
// Sums of products by labels, as products of matrices where two operands share what is summed.
#include "schedule/topi/einsum.h"

#include <algorithm>
#include <map>

#include "graph/ops/arithmetic.h"
#include "graph/ops/families.h"

namespace tw::graph {
namespace {

bool has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

std::string without(std::string labels, const std::string& gone) {
  std::erase_if(labels, [&](char c) { return has(gone, c); });
  return labels;
}
std::string those_of(std::string labels, const std::string& kept) {
  std::erase_if(labels, [&](char c) { return !has(kept, c); });
  return labels;
}

void infer_einsum(ShapeInference& s) {
  const std::string& text = s.attributes().text("equation");
  std::vector<std::optional<size_t>> ranks;
  bool open = text.find("...") != std::string::npos;
  for (size_t k = 0; k < s.num_inputs(); ++k) {
    const Shape& shape = s.input(k);
    if (!shape.has_rank() && open) return;
    ranks.push_back(shape.has_rank() ? std::optional(shape.rank()) : std::nullopt);
  }
  const topi::EinsumEquation equation = topi::parse_einsum(
      text, ranks,
      [&](std::string what, std::string legal) { s.fail(std::move(what), std::move(legal)); });
  // Extents of 1 are repeated, so that they say nothing of others.
  std::map<char, int64_t> extents;
  for (size_t k = 0; k < s.num_inputs(); ++k) {
    s.narrow_input(k, Shape::of_rank(equation.inputs[k].size()));
    for (size_t d = 0; d < equation.inputs[k].size(); ++d) {
      const int64_t extent = s.input(k)[d];
      int64_t& known = extents.emplace(equation.inputs[k][d], 1).first->second;
      if (extent == 1 || known == extent) continue;
      if (known != 1 && known != Shape::kUnknown && extent != Shape::kUnknown) {
        s.fail(fmt::format("a label has the extents {} and {} in '{}'", known, extent, text),
               "one extent for each label, or 1");
      }
      // Of an unknown extent and one above 1 the other is right, whichever the first is.
      if (extent != Shape::kUnknown || known == 1) known = extent;
    }
  }
  Extents out;
  for (char label : equation.output) out.push_back(extents.at(label));
  s.narrow_output(0, out);
}

// A value with a label for each dimension.
struct Operand {
  Entry value;
  std::string labels;
  Extents shape;

  int64_t extent(char label) const { return shape[labels.find(label)]; }
  Extents extents(const std::string& wanted) const {
    Extents result;
    for (char label : wanted) result.push_back(extent(label));
    return result;
  }
};

int64_t count(const Extents& extents) {
  int64_t n = 1;
  for (int64_t e : extents) n *= e;
  return n;
}

class Lowering {
 public:
  explicit Lowering(const Arithmetic& n) : n_(n) {}

  Operand reshape(const Operand& a, std::string labels, Extents shape) const {
    return {n_.reshape(a.value, shape), std::move(labels), std::move(shape)};
  }

  Operand transpose(const Operand& a, const std::string& labels) const {
    if (labels == a.labels) return a;
    Extents axes;
    for (char label : labels) axes.push_back(static_cast<int64_t>(a.labels.find(label)));
    return {n_.transpose(a.value, axes), labels, a.extents(labels)};
  }

  // The diagonal of dimensions that have one label: they become the last, and as one dimension
  // each (n + 1)-th element is meant.
  Operand diagonal(Operand a) const {
    for (size_t k = 0; k < a.labels.size(); ++k) {
      const size_t again = a.labels.find(a.labels[k], k + 1);
      if (again == std::string::npos) continue;
      const char label = a.labels[k];
      const int64_t extent = a.shape[k];
      Extents axes, shape, first, last, step;
      std::string labels;
      for (size_t d = 0; d < a.labels.size(); ++d) {
        if (d == k || d == again) continue;
        axes.push_back(static_cast<int64_t>(d));
        shape.push_back(a.shape[d]);
        labels += a.labels[d];
      }
      axes.push_back(static_cast<int64_t>(k));
      axes.push_back(static_cast<int64_t>(again));
      shape.push_back(extent * extent);
      for (size_t d = 0; d < shape.size(); ++d) {
        first.push_back(0);
        last.push_back(INT32_MAX);
        step.push_back(d + 1 == shape.size() ? extent + 1 : 1);
      }
      const Entry flat = n_.reshape(n_.transpose(a.value, axes), shape);
      shape.back() = extent;
      a = {n_("strided_slice", {flat},
              {{"begin", tuple_text(first)},
               {"end", tuple_text(last)},
               {"stride", tuple_text(step)}}),
           labels + label, shape};
      return diagonal(std::move(a));
    }
    return a;
  }

  Operand sum(const Operand& a, const std::string& gone) const {
    if (gone.empty()) return a;
    Extents axes;
    for (char label : gone) axes.push_back(static_cast<int64_t>(a.labels.find(label)));
    const std::string rest = without(a.labels, gone);
    return {n_("sum", {a.value}, {{"axis", tuple_text(axes)}}), rest, a.extents(rest)};
  }

  // The product of two operands, of which labels that are not in `kept` are summed over.
  Operand product(Operand a, Operand b, const std::string& kept) const {
    a = sum(a, without(without(a.labels, b.labels), kept));
    b = sum(b, without(without(b.labels, a.labels), kept));
    const std::string shared = those_of(a.labels, b.labels), summed = without(shared, kept),
                      batch = those_of(shared, kept);
    const std::string rows = without(a.labels, shared), columns = without(b.labels, shared);
    if (summed.empty()) return outer(a, b, batch + rows, columns);
    const auto [left, left_turned] = matrices(a, batch, rows, summed);
    const auto [right, right_turned] = matrices(b, batch, columns, summed);
    const Entry products = n_("batch_matmul", {left.value, right.value},
                              {{"transpose_a", Arithmetic::text(left_turned)},
                               {"transpose_b", Arithmetic::text(!right_turned)}});
    const std::string labels = batch + rows + columns;
    Extents shape = a.extents(batch + rows);
    const Extents behind = b.extents(columns);
    shape.insert(shape.end(), behind.begin(), behind.end());
    return {n_.reshape(products, shape), labels, shape};
  }

 private:
  // Each element of one with each of the other; `own` are the labels of the first.
  Operand outer(const Operand& a, const Operand& b, const std::string& own,
                const std::string& columns) const {
    const std::string labels = own + columns;
    const auto aligned = [&](const Operand& x) {
      const Operand t = transpose(x, those_of(labels, x.labels));
      Extents shape;
      for (char label : labels) shape.push_back(has(x.labels, label) ? x.extent(label) : 1);
      return n_.reshape(t.value, shape);
    };
    Extents shape;
    for (char label : labels)
      shape.push_back(has(a.labels, label) ? a.extent(label) : b.extent(label));
    return {n_.mul(aligned(a), aligned(b)), labels, shape};
  }

  // As [batch, own, summed], or, where elements stand so, [batch, summed, own]: then true.
  std::pair<Operand, bool> matrices(const Operand& a, const std::string& batch,
                                    const std::string& own, const std::string& summed) const {
    const bool turned = a.labels == batch + summed + own && !own.empty();
    const Operand ordered = turned ? a : transpose(a, batch + own + summed);
    Extents shape = a.extents(batch);
    const int64_t rows = count(a.extents(own)), depth = count(a.extents(summed));
    shape.push_back(turned ? depth : rows);
    shape.push_back(turned ? rows : depth);
    return {{n_.reshape(ordered.value, shape), {}, {}}, turned};
  }

  const Arithmetic& n_;
};

// Labels of extent 1 that are longer elsewhere are dropped: what is repeated is read once.
Operand without_repeated(const Lowering& lowering, const Operand& a,
                         const std::map<char, int64_t>& extents) {
  std::string labels;
  for (char label : a.labels) {
    if (a.extent(label) != 1 || extents.at(label) == 1) labels += label;
  }
  return labels == a.labels ? a : lowering.reshape(a, labels, a.extents(labels));
}

Entries expand_einsum(const NodeRef& node, std::span<const Shape> shapes) {
  const Arithmetic n(node);
  const Lowering lowering(n);
  std::vector<std::optional<size_t>> ranks;
  for (size_t k = 0; k < shapes.size(); ++k) ranks.emplace_back(n.known(shapes, k).size());
  const topi::EinsumEquation equation = topi::parse_einsum(
      n.attributes().text("equation"), ranks,
      [&](std::string what, std::string legal) { n.fail(std::move(what), std::move(legal)); });
  std::vector<Operand> operands;
  std::map<char, int64_t> extents;
  for (size_t k = 0; k < shapes.size(); ++k) {
    operands.push_back(lowering.diagonal({n.input(k), equation.inputs[k], *shapes[k].extents}));
    for (char label : operands[k].labels) {
      int64_t& known = extents.emplace(label, 1).first->second;
      if (operands[k].extent(label) != 1) known = operands[k].extent(label);
    }
  }
  Operand product = without_repeated(lowering, operands[0], extents);
  for (size_t k = 1; k < operands.size(); ++k) {
    std::string kept = equation.output;
    for (size_t j = k + 1; j < operands.size(); ++j) {
      kept += without_repeated(lowering, operands[j], extents).labels;
    }
    product = lowering.product(product, without_repeated(lowering, operands[k], extents), kept);
  }
  product = lowering.sum(product, without(product.labels, equation.output));
  const Entry result = lowering.transpose(product, equation.output).value;
  return {result == n.input(0) ? n("copy", {result}) : result};
}

}  // namespace

std::vector<Op> einsum_ops() {
  using enum AttributeType;
  return {{.name = "einsum",
           .doc =
               "The sum over all labels that the result lacks of the product of the arguments, as "
               "NumPy's einsum reads it.",
           .inputs = {{"args", "a dimension for each label; extents of 1 are repeated"}},
           .variadic = true,
           .attributes = {{"equation", Text, {}, "such as ij,jk->ik or ...i,i->..."}},
           .infer_shape = infer_einsum,
           .infer_type = same_type,
           .expand = expand_einsum}};
}

}  // namespace tw::graph
