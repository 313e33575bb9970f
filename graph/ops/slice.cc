// SPDX-License-Identifier: Apache-2.0
// Operators that take parts of tensors, turn them around, or add to them.
#include <algorithm>

#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "graph/ops/image.h"
#include "ir/expr.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

void infer_strided_slice(ShapeInference& s) {
  const AttributeValues& a = s.attributes();
  const Extents &begin = a.tuple("begin"), &end = a.tuple("end"), &stride = a.tuple("stride");
  if (begin.size() != end.size() || stride.size() > begin.size() ||
      std::ranges::find(stride, 0) != stride.end()) {
    s.fail(fmt::format("begin ({}), end ({}), stride ({})", fmt::join(begin, ", "),
                       fmt::join(end, ", "), fmt::join(stride, ", ")),
           "as many beginnings as ends, and at most as many strides, none of them 0");
  }
  if (!s.input(0).has_rank() && s.output(0).has_rank()) {
    s.narrow_input(0, Shape::of_rank(s.output(0).rank()));
  }
  if (!s.input(0).has_rank()) return;
  Extents in = *s.input(0).extents, out = in;
  if (begin.size() > in.size()) {
    s.fail(fmt::format("{} beginnings for rank {}", begin.size(), in.size()),
           "at most one for each dimension");
  }
  for (size_t d = 0; d < in.size(); ++d) {
    if (d >= begin.size()) {
      in[d] = extent(s.output(0), d);
    } else if (in[d] != kUnknown) {
      out[d] = topi::slice_range(begin[d], end[d], d < stride.size() ? stride[d] : 1, in[d]).count;
    }
  }
  s.narrow_output(0, out);
  for (size_t d = 0; d < begin.size(); ++d) in[d] = kUnknown;
  s.narrow_input(0, in);
}

constexpr std::string_view kPadModes[] = {"constant", "edge", "reflect", "symmetric", "wrap"};

void infer_pad(ShapeInference& s) {
  const auto& widths = s.attributes().tuples("pad_width");
  const std::string& mode = s.attributes().text("pad_mode");
  if (std::ranges::find(kPadModes, mode) == std::end(kPadModes)) {
    s.fail(fmt::format("pad_mode '{}'", mode), fmt::format("{}", fmt::join(kPadModes, ", ")));
  }
  Extents in, out;
  s.narrow_input(0, Shape::of_rank(widths.size()));
  s.narrow_output(0, Shape::of_rank(widths.size()));
  for (size_t d = 0; d < widths.size(); ++d) {
    if (widths[d].size() != 2 || std::ranges::min(widths[d]) < 0) {
      s.fail(fmt::format("({}) around dimension {}", fmt::join(widths[d], ", "), d),
             "(before, after), 0 or more");
    }
    const int64_t around = widths[d][0] + widths[d][1];
    const int64_t inside = s.input(0)[d], whole = s.output(0)[d];
    if (inside == 0 && around > 0 && mode != "constant") {
      s.fail(fmt::format("pad_mode {} around dimension {} of {}", mode, d, to_string(s.input(0))),
             "elements to pad with");
    }
    if (whole != kUnknown && whole < around) {
      s.fail(fmt::format("{} elements around dimension {} of {}", around, d, whole),
             "no more than the output has");
    }
    out.push_back(inside == kUnknown ? kUnknown : inside + around);
    in.push_back(whole == kUnknown ? kUnknown : whole - around);
  }
  s.narrow_output(0, out);
  s.narrow_input(0, in);
}

// Of each dimension, before and after.
std::pair<Extents, Extents> widths_of(const AttributeValues& a) {
  std::pair<Extents, Extents> widths;
  for (const Extents& width : a.tuples("pad_width")) {
    widths.first.push_back(width[0]);
    widths.second.push_back(width[1]);
  }
  return widths;
}

std::vector<te::Tensor> compute_pad(const AttributeValues& a, Tensors in) {
  const auto [before, after] = widths_of(a);
  const std::string& mode = a.text("pad_mode");
  if (mode != "constant") {
    return {topi::nn::pad_by_elements(in[0], before, after, topi::nn::pad_mode_of(mode))};
  }
  const auto amounts = [](const Extents& widths) {
    std::vector<Expr> result;
    for (int64_t w : widths) result.push_back(make_const(int_type(32), w));
    return result;
  };
  return {topi::nn::pad(in[0], amounts(before), amounts(after),
                        constant_of(in[0].dtype(), a.real("pad_value")))};
}

std::vector<te::Tensor> compute_pad_gradient(const AttributeValues& a, Tensors in) {
  const auto [before, after] = widths_of(a);
  return {topi::nn::pad_by_elements_gradient(in[0], in[1], before, after,
                                             topi::nn::pad_mode_of(a.text("pad_mode")))};
}

// Dimensions that are taken whole may be anywhere and in blocks.
void strided_slice_layout(LayoutChoice& c) {
  const Layout &natural = c.natural(0), &given = c.given(0);
  c.give(0, natural);
  const AttributeValues& a = c.attributes();
  const Extents &begin = a.tuple("begin"), &end = a.tuple("end"), &stride = a.tuple("stride");
  if (given == natural || natural.has_blocks() || begin.size() > natural.rank() ||
      end.size() != begin.size() || stride.size() > begin.size()) {
    return;
  }
  Extents begins(given.rank(), 0), ends(given.rank(), INT32_MAX), strides(given.rank(), 1);
  for (size_t d = 0; d < begin.size(); ++d) {
    const int64_t step = d < stride.size() ? stride[d] : 1;
    const bool whole = begin[d] == 0 && end[d] == INT32_MAX && step == 1;
    if (whole) continue;
    if (given.is_split(natural[d].letter)) return;
    const auto at = static_cast<size_t>(given.index_of(natural[d].letter));
    begins[at] = begin[d];
    ends[at] = end[d];
    strides[at] = step;
  }
  c.want(0, given);
  c.give(0, given, natural);
  c.set_attribute("begin", tuple_text(begins));
  c.set_attribute("end", tuple_text(ends));
  c.set_attribute("stride", tuple_text(strides));
}

// Around a dimension in blocks whole blocks may be added.
void pad_layout(LayoutChoice& c) {
  const Layout natural = c.natural(0).known() ? c.natural(0) : c.natural_output(0);
  const Layout& given = c.given(0);
  c.want(0, natural);
  c.give(0, natural);
  const auto& widths = c.attributes().tuples("pad_width");
  if (!given.known() || given == natural || natural.has_blocks() ||
      widths.size() != natural.rank()) {
    return;
  }
  std::vector<std::string> texts;
  for (const Layout::Dimension& d : given.dimensions()) {
    Extents width = widths[static_cast<size_t>(natural.index_of(d.primal()))];
    // Elements of the tensor itself would have to be taken out of blocks.
    const bool by_elements = c.attributes().text("pad_mode") != "constant";
    if (by_elements && given.is_split(d.primal()) && width != Extents{0, 0}) return;
    for (int64_t& elements : width) {
      if (elements % given.block(d.primal()) != 0) return;
      elements = d.is_primal() ? elements / given.block(d.primal()) : 0;
    }
    texts.push_back(tuple_text(width));
  }
  c.want(0, given);
  c.give(0, given, natural);
  c.set_attribute("pad_width", fmt::format("({})", fmt::join(texts, ", ")));
}

Entries strided_slice_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  return {n("_strided_slice_grad", {g[0], n.input(0)}, Attributes(node->attributes))};
}

// The element at `position` of a dimension, if it is one that the slice takes, in the slice.
struct Taken {
  Expr holds, at;
};
Taken taken(const Expr& position, const topi::SliceRange& range, const Expr& count) {
  const Expr begins = make_const(position.dtype(), range.begin),
             step = make_const(position.dtype(), std::abs(range.stride));
  const Expr distance = range.stride < 0 ? begins - position : position - begins;
  const Expr at = floor_div(distance, step);
  return {floor_mod(distance, step) == Expr(0) && Expr(0) <= at && at < count, at};
}

std::vector<te::Tensor> compute_strided_slice_gradient(const AttributeValues& a, Tensors in) {
  const Extents &begin = a.tuple("begin"), &end = a.tuple("end"), &stride = a.tuple("stride");
  const std::vector<Expr> shape = in[1].shape(), part = in[0].shape();
  return {te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at(i.begin(), i.end());
        Expr inside = make_bool(true);
        for (size_t d = 0; d < begin.size(); ++d) {
          const topi::SliceRange range = topi::slice_range(
              begin[d], end[d], d < stride.size() ? stride[d] : 1, *as_const_int(shape[d]));
          const Taken t = taken(i[d], range, part[d]);
          inside = inside && t.holds;
          at[d] = t.at;
        }
        return if_then_else(inside, in[0](at), make_zero(in[0].dtype()));
      },
      "strided_slice_grad", topi::kInjective)};
}

// What the padding was put around; elements that are there several times are added up.
Entries pad_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  if (n.attributes().text("pad_mode") != "constant") {
    return {n("_pad_grad", {g[0], n.input(0)}, Attributes(node->attributes))};
  }
  Extents begin, end;
  const AttributeValues a = n.attributes();
  for (const Extents& width : a.tuples("pad_width")) {
    begin.push_back(width[0]);
    end.push_back(width[1] == 0 ? INT32_MAX : -width[1]);
  }
  return {n("strided_slice", {g[0]}, {{"begin", tuple_text(begin)}, {"end", tuple_text(end)}})};
}

}  // namespace

std::vector<Op> slice_ops() {
  using enum AttributeType;
  const InputSpec data{"data", "any shape"};
  const std::vector<AttributeSpec> slice_attributes = {
      {"begin", Tuple, {}, "first elements; from the end where negative"},
      {"end", Tuple, {}, "elements no longer taken; from the end where negative"},
      {"stride", Tuple, "()", "from one element to the next; missing ones: 1"}};
  return {
      {.name = "strided_slice",
       .aliases = {"slice"},
       .doc = "The elements begin:end:stride of each dimension, as NumPy has it; dimensions behind "
              "the "
              "tuples are taken whole.",
       .inputs = {data},
       .attributes = slice_attributes,
       .infer_shape = infer_strided_slice,
       .infer_type = same_type,
       .layout = strided_slice_layout,
       .pattern = Pattern::Injective,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{
                 topi::strided_slice(in[0], a.tuple("begin"), a.tuple("end"), a.tuple("stride"))};
           },
       .gradient = strided_slice_gradient,
       .identity = [](const Node& node, const Known& known) -> std::optional<Entry> {
         const AttributeValues a(node.op->attributes, node.attributes, node.name);
         const bool turns = std::ranges::any_of(a.tuple("stride"), [](int64_t s) { return s < 0; });
         return turns ? std::nullopt : identity_if_same_shape(node, known);
       }},
      {.name = "_strided_slice_grad",
       .doc = "The gradient of strided_slice's data; attributes are those of the slice.",
       .inputs = {{"grad", "the gradient of the output"}, {"data", "what was cut"}},
       .attributes = slice_attributes,
       .infer_shape = second_shape,
       .infer_type = first_type,
       .pattern = Pattern::Injective,
       .compute = compute_strided_slice_gradient,
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             const GradientOf n(node);
             return first_gradient(n, n("strided_slice", {g[0]}, Attributes(node->attributes)));
           }},
      {.name = "flip",
       .doc = "The elements along a dimension from the last to the first.",
       .inputs = {data},
       .attributes = {{"axis", Int, "0", "a dimension"}},
       .infer_shape = same_shape_along_axis,
       .infer_type = same_type,
       .layout = axis_layout,
       .pattern = Pattern::Injective,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::flip(in[0], static_cast<int>(a.integer("axis")))};
           },
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             return Entries{GradientOf(node)("flip", {g[0]}, Attributes(node->attributes))};
           },
       .identity = identity_if_twice},
      {.name = "pad",
       .doc = "data with elements around it: of one value, or of its own as NumPy's pad has them.",
       .inputs = {data},
       .attributes = {{"pad_value", Float, "0", "taken in the type of data"},
                      {"pad_width", Tuples, {}, "(before, after) of each dimension"},
                      {"pad_mode", Text, "constant",
                       "constant: pad_value; edge: the outermost element; reflect: turned around "
                       "it; symmetric: turned around, it too; wrap: from the other end"}},
       .infer_shape = infer_pad,
       .infer_type = same_type,
       .layout = pad_layout,
       .pattern = Pattern::Injective,
       .compute = compute_pad,
       .gradient = pad_gradient,
       .identity = identity_if_same_shape},
      {.name = "_pad_grad",
       .doc = "The gradient of what was padded with elements of its own; attributes are those of "
              "the pad.",
       .inputs = {{"grad", "the gradient of the output"}, {"data", "what was padded"}},
       .attributes = {{"pad_width", Tuples, {}, "(before, after) of each dimension"},
                      {"pad_mode", Text, {}, "edge, reflect, symmetric or wrap"}},
       .infer_shape = second_shape,
       .infer_type = same_type,
       .pattern = Pattern::OutEWiseFusable,
       .compute = compute_pad_gradient,
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             const GradientOf n(node);
             return first_gradient(n, n("pad", {g[0]}, Attributes(node->attributes)));
           }},
  };
}

}  // namespace tw::graph
