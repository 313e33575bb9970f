// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/common.h"
#include "graph/ops/families.h"

namespace tw::graph {
namespace {

Layout layout_of(const AttributeValues& a, std::string_view node, std::string_view name) {
  return Layout::parse(a.text(name), fmt::format("node '{}', {}", node, name));
}

// Both sides have the same extents of primal dimensions.
void infer_transform(ShapeInference& s) {
  const std::string& node = s.node().name;
  const Layout from = layout_of(s.attributes(), node, "src_layout"),
               to = layout_of(s.attributes(), node, "dst_layout");
  if (!from.convertible(to)) {
    s.fail(fmt::format("layout {} does not convert to {}", from.text(), to.text()),
           "layouts of the same dimensions");
  }
  s.narrow_input(0, *shape_in(from, {}));
  s.narrow_output(0, *shape_in(to, {}));
  const auto in_other = [&](const Shape& shape, const Layout& own, const Layout& other) {
    const auto result = shape_in(other, extents_of(shape, own));
    if (result) return *result;
    s.fail(fmt::format("{} in layout {} as {}", to_string(shape), own.text(), other.text()),
           "blocks that divide the extents");
  };
  s.narrow_output(0, in_other(s.input(0), from, to));
  s.narrow_input(0, in_other(s.output(0), to, from));
}

}  // namespace

std::vector<Op> layout_transform_ops() {
  using enum AttributeType;
  return {
      {.name = "__layout_transform__",
       .aliases = {"layout_transform"},
       .doc = "The elements of a tensor in another layout; blocks must divide the extents.",
       .inputs = {{"data", "in src_layout"}},
       .attributes = {{"src_layout", Text, {}, "a layout such as NCHW"},
                      {"dst_layout", Text, {}, "one of the same dimensions, such as NCHW16c"}},
       .infer_shape = infer_transform,
       .infer_type = same_type,
       .layout =
           [](LayoutChoice& c) {
             c.want(0, c.attribute("src_layout"));
             c.give(0, c.attribute("dst_layout"));
           },
       .pattern = Pattern::Injective,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{layout_transform(in[0], Layout::parse(a.text("src_layout")),
                                                 Layout::parse(a.text("dst_layout")))};
           },
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             const GradientOf n(node);
             const AttributeValues a(node->op->attributes, node->attributes, node->name);
             return Entries{
                 n("__layout_transform__", {g[0]},
                   {{"src_layout", a.text("dst_layout")}, {"dst_layout", a.text("src_layout")}})};
           }},
  };
}

}  // namespace tw::graph
