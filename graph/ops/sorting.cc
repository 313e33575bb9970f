// SPDX-License-Identifier: Apache-2.0
// Elements in order.
#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

using enum AttributeType;
const InputSpec kData{"data", "any shape but a single number"};
const AttributeSpec kAxis{"axis", Int, "-1", "a dimension; from the end where negative"};

AttributeSpec ascend(std::string_view initial) {
  return {"is_ascend", Bool, initial, "from the least to the greatest"};
}
AttributeSpec position_type() { return {"dtype", Type, "int32", "of the positions"}; }

int axis_in(const AttributeValues& a) { return static_cast<int>(a.integer("axis")); }

// How many elements of a row are given.
int64_t taken(const ShapeInference& s, int64_t extent) {
  const int64_t k = s.attributes().integer("k");
  if (k < 1 || extent == Shape::kUnknown) return k < 1 ? extent : k;
  if (k > extent) {
    s.fail(fmt::format("k is {} of {} elements", k, extent),
           fmt::format("at most {}, or 0 for all", extent));
  }
  return k;
}

void infer_topk(ShapeInference& s) {
  const std::string& wanted = s.attributes().text("ret_type");
  if (wanted != "both" && wanted != "values" && wanted != "indices") {
    s.fail(fmt::format("ret_type '{}'", wanted), "both, values or indices");
  }
  // All shapes are one but along the axis.
  for (size_t k = 0; k < s.num_outputs(); ++k) {
    if (s.input(0).has_rank()) {
      Shape out = s.input(0);
      const size_t axis = axis_of(s, s.attributes().integer("axis"), out.rank());
      (*out.extents)[axis] = taken(s, out[axis]);
      s.narrow_output(k, out);
    }
    if (!s.output(k).has_rank()) continue;
    Shape in = s.output(k);
    const size_t axis = axis_of(s, s.attributes().integer("axis"), in.rank());
    if (s.attributes().integer("k") >= 1) (*in.extents)[axis] = Shape::kUnknown;
    s.narrow_input(0, in);
  }
}

bool gives_values(const AttributeValues& a) { return a.text("ret_type") != "indices"; }
bool gives_places(const AttributeValues& a) { return a.text("ret_type") != "values"; }

// The values go back to where they came from.
Entries placed(const GradientOf& n, const Entry& g, const Entry& places) {
  const std::string axis = fmt::format("{}", n.attributes().integer("axis"));
  return {n("_gather_grad", {g, n.input(0), places}, {{"axis", axis}})};
}

Entries topk_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const AttributeValues a = n.attributes();
  if (!gives_values(a)) return no_gradient(node, g);
  if (gives_places(a) && !a.dtype("dtype").is_float()) return placed(n, g[0], n.output(1));
  Attributes places(node->attributes);
  places.set("ret_type", "indices");
  places.set("dtype", "int32");
  return placed(n, g[0], n("topk", {n.input(0)}, places));
}

}  // namespace

std::vector<Op> sorting_ops() {
  return {
      {.name = "sort",
       .doc = "The elements along a dimension in order; equal ones keep theirs, and NaN is beyond "
              "all numbers.",
       .inputs = {kData},
       .attributes = {kAxis, ascend("True")},
       .infer_shape = same_shape_along_axis,
       .infer_type = same_type,
       .layout = axis_layout,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::sort(in[0], axis_in(a), a.flag("is_ascend"))};
           },
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             const GradientOf n(node);
             return placed(n, g[0], n("argsort", {n.input(0)}, Attributes(node->attributes)));
           }},
      {.name = "argsort",
       .doc = "The positions of the elements along a dimension in order; equal ones keep theirs, "
              "and NaN is beyond all numbers.",
       .inputs = {kData},
       .attributes = {kAxis, ascend("True"), position_type()},
       .infer_shape = same_shape_along_axis,
       .infer_type = [](TypeInference& t) { t.narrow_output(0, t.attributes().dtype("dtype")); },
       .layout = axis_layout,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{
                 topi::argsort(in[0], {}, axis_in(a), a.flag("is_ascend"), a.dtype("dtype"))};
           },
       .gradient = no_gradient},
      {.name = "topk",
       .doc = "The first k elements along a dimension in order, and their positions.",
       .inputs = {kData},
       .attributes = {{"k", Int, "1", "how many; all where below 1"},
                      kAxis,
                      {"ret_type", Text, "both", "both, values or indices"},
                      ascend("False"),
                      position_type()},
       .num_outputs = [](const AttributeValues& a) { return a.text("ret_type") == "both" ? 2 : 1; },
       .infer_shape = infer_topk,
       .infer_type =
           [](TypeInference& t) {
             const AttributeValues& a = t.attributes();
             if (gives_values(a)) first_type(t);
             if (gives_places(a)) t.narrow_output(t.num_outputs() - 1, a.dtype("dtype"));
           },
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return topi::topk(in[0], a.integer("k"), axis_in(a), a.text("ret_type"),
                               a.flag("is_ascend"), a.dtype("dtype"));
           },
       .gradient = topk_gradient},
  };
}

}  // namespace tw::graph
