// SPDX-License-Identifier: Apache-2.0
// Operators that put tensors together, or take them apart.
#include <algorithm>

#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

// Of shapes that agree but along one dimension: what is known of all others.
class Agreement {
 public:
  // Nothing is known where no shape's rank is.
  explicit Agreement(const ShapeInference& s) {
    for (size_t k = 0; k < s.num_inputs(); ++k) find_rank(s.input(k));
    for (size_t k = 0; k < s.num_outputs(); ++k) find_rank(s.output(k));
    if (!common_.has_rank()) return;
    axis_ = axis_of(s, s.attributes().integer("axis"), common_.rank());
    for (size_t k = 0; k < s.num_inputs(); ++k) learn(s.input(k));
    for (size_t k = 0; k < s.num_outputs(); ++k) learn(s.output(k));
  }
  bool has_rank() const { return common_.has_rank(); }
  Shape with(int64_t extent) const {
    Shape shape = common_;
    (*shape.extents)[axis_] = extent;
    return shape;
  }
  int64_t along(const Shape& shape) const { return extent(shape, axis_); }

 private:
  void find_rank(const Shape& shape) {
    if (!has_rank() && shape.has_rank()) common_ = Shape::of_rank(shape.rank());
  }
  // Contradictions show where shapes are narrowed, by place.
  void learn(Shape shape) {
    if (!shape.has_rank() || shape.rank() != common_.rank()) return;
    (*shape.extents)[axis_] = kUnknown;
    if (auto both = unify(common_, shape)) common_ = *std::move(both);
  }
  Shape common_;
  size_t axis_ = 0;
};

void infer_concatenate(ShapeInference& s) {
  const Agreement shapes(s);
  if (!shapes.has_rank()) return;
  for (size_t k = 0; k < s.num_inputs(); ++k) s.narrow_input(k, shapes.with(kUnknown));
  s.narrow_output(0, shapes.with(kUnknown));
  int64_t total = 0;
  std::vector<size_t> unknown;
  for (size_t k = 0; k < s.num_inputs(); ++k) {
    const int64_t part = shapes.along(s.input(k));
    if (part == kUnknown) unknown.push_back(k);
    total += part == kUnknown ? 0 : part;
  }
  const int64_t whole = shapes.along(s.output(0));
  if (unknown.empty()) s.narrow_output(0, shapes.with(total));
  if (whole == kUnknown || unknown.empty()) return;
  if (whole < total) {
    s.fail(fmt::format("parts of {} elements in a whole of {}", total, whole),
           "parts that fit in the whole");
  }
  if (unknown.size() == 1) s.narrow_input(unknown[0], shapes.with(whole - total));
}

topi::Sections sections_of(const AttributeValues& a) {
  constexpr std::string_view kName = "indices_or_sections";
  return a.is_integer(kName) ? topi::Sections(a.integer(kName)) : topi::Sections(a.tuple(kName));
}

int count_of_parts(const AttributeValues& a) {
  const topi::Sections sections = sections_of(a);
  const int64_t* equal = std::get_if<int64_t>(&sections);
  // A number below 1 is the rule's error.
  return static_cast<int>(equal ? std::max(*equal, int64_t{1})
                                : std::get<Extents>(sections).size() + 1);
}

void infer_split(ShapeInference& s) {
  const topi::Sections sections = sections_of(s.attributes());
  const int64_t* equal = std::get_if<int64_t>(&sections);
  if (equal && *equal < 1) s.fail(fmt::format("{} parts", *equal), "1 or more");
  const Agreement shapes(s);
  if (!shapes.has_rank()) return;
  s.narrow_input(0, shapes.with(kUnknown));
  const size_t last = s.num_outputs() - 1;
  for (size_t k = 0; k <= last; ++k) s.narrow_output(k, shapes.with(kUnknown));
  const int64_t whole = shapes.along(s.input(0));
  if (equal) {
    if (whole != kUnknown && whole % *equal != 0) {
      s.fail(fmt::format("{} parts of {} elements", *equal, whole), "a divisor of the extent");
    }
    int64_t part = whole == kUnknown ? kUnknown : whole / *equal;
    for (size_t k = 0; k <= last && part == kUnknown; ++k) part = shapes.along(s.output(k));
    for (size_t k = 0; k <= last; ++k) s.narrow_output(k, shapes.with(part));
    if (part != kUnknown) s.narrow_input(0, shapes.with(part * *equal));
    return;
  }
  const Extents& begins = std::get<Extents>(sections);
  int64_t begin = 0;
  for (size_t k = 0; k <= last; ++k) {
    const int64_t end = k < last ? begins[k] : whole;
    if (end != kUnknown && (end < begin || (whole != kUnknown && end > whole))) {
      s.fail(fmt::format("parts from {} to {} of {} elements", begin, end,
                         whole == kUnknown ? "?" : fmt::format("{}", whole)),
             "positions that ascend within the extent");
    }
    if (end != kUnknown) s.narrow_output(k, shapes.with(end - begin));
    if (k < last) begin = end;
  }
  const int64_t rest = shapes.along(s.output(last));
  if (rest != kUnknown) s.narrow_input(0, shapes.with(begin + rest));
}

// A layout in which whole blocks of all inputs follow each other; unknown where there is none.
Layout common_blocks(const LayoutChoice& c, char letter) {
  Layout common = c.given(0);
  for (size_t k = 1; k < c.num_inputs(); ++k) {
    const Layout& given = c.given(k);
    if (!given.is_split(letter)) continue;
    if (!common.is_split(letter) || common.block(letter) % given.block(letter) == 0) common = given;
  }
  for (size_t k = 0; k < c.num_inputs(); ++k) {
    const Layout& given = c.given(k);
    if (!given.convertible(common)) return {};
    if (given.block(letter) % common.block(letter) == 0) continue;
    if (!c.shape(k).has_rank()) return {};
    const int64_t part = extents_of(c.shape(k), c.natural(k)).at(letter);
    if (part == kUnknown || part % common.block(letter) != 0) return {};
  }
  return common;
}

void concatenate_layout(LayoutChoice& c) {
  Layout natural;
  for (size_t k = 0; k < c.num_inputs() && !natural.known(); ++k) natural = c.natural(k);
  if (!natural.known()) natural = c.natural_output(0);
  if (!natural.known()) return;
  c.give(0, natural);
  bool alike = true;
  for (size_t k = 0; k < c.num_inputs(); ++k) {
    alike = alike && c.natural(k) == natural;
    if (!c.natural(k).known() || c.natural(k).convertible(natural)) c.want(k, natural);
  }
  const auto letter = letter_of_axis(c, natural);
  if (!letter || !alike) return;
  const Layout common = common_blocks(c, *letter);
  if (!common.known()) return;
  for (size_t k = 0; k < c.num_inputs(); ++k) c.want(k, common);
  c.give(0, common, natural);
  set_axis(c, common, *letter);
}

// The attribute indices_or_sections of parts of whole blocks; empty where blocks would be cut.
std::string sections_of_blocks(const LayoutChoice& c, char letter, int64_t block) {
  const topi::Sections sections = sections_of(c.attributes());
  if (const int64_t* equal = std::get_if<int64_t>(&sections)) {
    if (block > 1 && !c.shape(0).has_rank()) return {};
    const int64_t whole = block > 1 ? extents_of(c.shape(0), c.natural(0)).at(letter) : 0;
    if (*equal < 1 || whole == kUnknown || whole % (*equal * block) != 0) return {};
    return fmt::format("{}", *equal);
  }
  Extents begins = std::get<Extents>(sections);
  for (int64_t& begin : begins) {
    if (begin % block != 0) return {};
    begin /= block;
  }
  return tuple_text(begins);
}

void split_layout(LayoutChoice& c) {
  Layout natural = c.natural(0);
  for (size_t k = 0; k < c.num_outputs() && !natural.known(); ++k) natural = c.natural_output(k);
  if (!natural.known()) return;
  c.want(0, natural);
  for (size_t k = 0; k < c.num_outputs(); ++k) c.give(k, natural);
  const auto letter = letter_of_axis(c, natural);
  const Layout& given = c.given(0);
  if (!letter || !given.known() || given == natural) return;
  const std::string sections = sections_of_blocks(c, *letter, given.block(*letter));
  if (sections.empty()) return;
  c.want(0, given);
  for (size_t k = 0; k < c.num_outputs(); ++k) c.give(k, given, natural);
  set_axis(c, given, *letter);
  if (given.is_split(*letter)) c.set_attribute("indices_or_sections", sections);
}

Entries concatenate_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  Entries inputs = {g[0]};
  inputs.insert(inputs.end(), node->inputs.begin(), node->inputs.end());
  const Entry parts = n("_concatenate_grad", inputs,
                        {{"axis", fmt::format("{}", n.attributes().integer("axis"))},
                         {"num_args", fmt::format("{}", node->inputs.size())}});
  return entries_of(parts.node);
}

// Gradients of parts, one after the other along the node's dimension.
Entry joined(const GradientOf& n, const Entries& parts) {
  return n("concatenate", parts, {{"axis", fmt::format("{}", n.attributes().integer("axis"))}});
}

Entries split_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  return {joined(n, g)};
}

void infer_concatenate_gradient(ShapeInference& s) {
  const auto parts = static_cast<size_t>(std::max<int64_t>(s.num_inputs(), 1)) - 1;
  if (parts == 0 || parts != s.num_outputs()) {
    s.fail(fmt::format("{} outputs of {} inputs", s.num_outputs(), s.num_inputs()),
           "a gradient and, for each output, what it is the gradient of");
  }
  for (size_t k = 0; k < parts; ++k) {
    s.equate(k + 1, k);
  }
}

std::vector<te::Tensor> compute_concatenate_gradient(const AttributeValues& a, Tensors in) {
  const auto axis = static_cast<int>(a.integer("axis"));
  const size_t at = static_cast<size_t>(axis < 0 ? axis + static_cast<int>(in[0].rank()) : axis);
  Extents begins;
  int64_t begin = 0;
  for (const te::Tensor& part : in.subspan(1, in.size() - 2)) {
    begin += *as_const_int(part.shape()[at]);
    begins.push_back(begin);
  }
  if (begins.empty()) return {topi::identity(in[0])};
  return topi::split(in[0], begins, axis);
}

// Whether nothing is outside the dimension along which there are parts.
bool is_outermost(const AttributeValues& a, std::span<const Shape> shapes) {
  const Shape& first = shapes[0];
  if (!first.known() || first.rank() == 0) return false;
  const auto rank = static_cast<int64_t>(first.rank());
  const int64_t axis = a.integer("axis") + (a.integer("axis") < 0 ? rank : 0);
  return 0 <= axis && axis < rank &&
         std::all_of(
             first.extents->begin(), first.extents->begin() + axis,
             [](int64_t extent) { return extent == 1; });
}

}  // namespace

std::vector<Op> concatenate_ops() {
  using enum AttributeType;
  return {
      {.name = "concatenate",
       .doc = "Tensors one after the other along a dimension.",
       .inputs = {{"data", "tensors of one type and, but for `axis`, one shape"}},
       .variadic = true,
       .attributes = {{"axis", Int, "1", "a dimension"}},
       .infer_shape = infer_concatenate,
       .infer_type = same_type,
       .layout = concatenate_layout,
       .pattern = Pattern::Injective,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{
                 topi::concatenate({in.begin(), in.end()}, static_cast<int>(a.integer("axis")))};
           },
       .gradient = concatenate_gradient,
       .keeps_order = is_outermost,
       .identity = identity_if_alone},
      {.name = "_concatenate_grad",
       .doc = "The gradients of concatenate's inputs, an output each.",
       .inputs = {{"args", "the gradient of the output, then what concatenate was given"}},
       .variadic = true,
       .least_inputs = 2,
       .attributes = {{"axis", Int, "1", "a dimension"},
                      {"num_args", Int, {}, "how many tensors there were"}},
       .num_outputs = [](const AttributeValues& a) { return a.integer("num_args"); },
       .infer_shape = infer_concatenate_gradient,
       .infer_type = same_type,
       .pattern = Pattern::Injective,
       .compute = compute_concatenate_gradient,
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             const GradientOf n(node);
             return first_gradient(n, joined(n, g));
           }},
      {.name = "split",
       .doc = "The parts of a tensor along a dimension, an output each.",
       .inputs = {{"data", "any shape"}},
       .attributes = {{"indices_or_sections",
                       IntOrTuple,
                       {},
                       "so many equal parts, or where parts begin but for the first"},
                      {"axis", Int, "1", "a dimension"}},
       .num_outputs = count_of_parts,
       .infer_shape = infer_split,
       .infer_type = same_type,
       .layout = split_layout,
       .pattern = Pattern::Injective,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return topi::split(in[0], sections_of(a), static_cast<int>(a.integer("axis")));
           },
       .gradient = split_gradient,
       .keeps_order = is_outermost,
       .identity = identity_if_same_shape},
  };
}

}  // namespace tw::graph
