// SPDX-License-Identifier: Apache-2.0
// Operators of which an element follows from those before it along a dimension.
#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

std::optional<DType> type_or_none(const AttributeValues& a) {
  if (a.is_none("dtype")) return std::nullopt;
  return a.dtype("dtype");
}

void infer_cumulative(ShapeInference& s) {
  if (!s.attributes().is_none("axis")) {
    same_shape_along_axis(s);
    return;
  }
  s.narrow_output(0, Shape::of_rank(1));
  if (s.input(0).known()) s.narrow_output(0, std::vector<int64_t>{s.input(0).elements()});
}

void cumulative_type(TypeInference& t) {
  if (const auto type = type_or_none(t.attributes())) {
    t.narrow_output(0, *type);
  } else {
    same_type(t);
  }
}

std::string text_of(bool flag) { return flag ? "True" : "False"; }

// What the gradients of the family are made of: walks along the axis of a node, or along the
// vector of all elements, back to the shape of its input.
struct Walk {
  const GradientOf& n;
  bool flat, reverse;
  std::string axis;
  explicit Walk(const GradientOf& n)
      : n(n),
        flat(n.attributes().is_none("axis")),
        reverse(n.attributes().flag("reverse")),
        axis(flat ? "0" : fmt::format("{}", n.attributes().integer("axis"))) {}

  Entry recurrence(const Entry& data, const Entry& factor, std::string form, bool backward) const {
    return n("linear_recurrence", {data, factor},
             {{"axis", axis}, {"form", std::move(form)}, {"reverse", text_of(backward)}});
  }
  // The input in the type of the output, as the vector that was walked.
  Entry input(const Entry& output) const {
    const Entry x = n("cast_like", {n.input(0), output});
    return flat ? n("reshape", {x}, {{"shape", "(-1,)"}}) : x;
  }
  Entry back(const Entry& of_vector) const {
    const Entry g = n("cast_like", {of_vector, n.input(0)});
    return flat ? n.shaped_as_input(g) : g;
  }
};

// Each element is in the sums of those behind it.
Entries cumsum_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const AttributeValues a = n.attributes();
  if (!a.is_none("dtype") && !a.dtype("dtype").is_float()) return no_gradient(node, g);
  const Walk walk(n);
  return {walk.back(n("cumsum", {g[0]},
                      {{"axis", walk.axis},
                       {"exclusive", text_of(a.flag("exclusive"))},
                       {"reverse", text_of(!walk.reverse)}}))};
}

// The product of those before an element, times the sum over the products that it is in of their
// gradients times what follows it in them: r[k] = g[k] + x[k + 1] r[k + 1], which needs no
// quotient.
Entries cumprod_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const AttributeValues a = n.attributes();
  if (!a.is_none("dtype") && !a.dtype("dtype").is_float()) return no_gradient(node, g);
  const Walk walk(n);
  const Entry x = walk.input(g[0]);
  const Entry before =
      n("cumprod", {x},
        {{"axis", walk.axis}, {"exclusive", "True"}, {"reverse", text_of(walk.reverse)}});
  const std::string form = a.flag("exclusive") ? "exclusive" : "before";
  return {walk.back(n.product(before, walk.recurrence(g[0], x, form, !walk.reverse)))};
}

// Recurrences in the other direction; y[k - 1] is what each factor was multiplied with.
Entries recurrence_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const Walk walk(n);
  const Entry &data = n.input(0), &factor = n.input(1);
  const std::string form = n.attributes().text("form");
  if (form == "current") {
    const Entry of_data = walk.recurrence(g[0], factor, "before", !walk.reverse);
    return {of_data, n.product(of_data, walk.recurrence(data, factor, "exclusive", walk.reverse))};
  }
  if (form == "exclusive") {
    const Entry of_data = walk.recurrence(g[0], factor, "exclusive", !walk.reverse);
    return {of_data, n.product(of_data, n.output())};
  }
  const Entry of_data = walk.recurrence(g[0], factor, "current", !walk.reverse);
  return {of_data,
          n.product(walk.recurrence(g[0], factor, "exclusive", !walk.reverse), n.output())};
}

using Function = te::Tensor (*)(const te::Tensor&, std::optional<int>, std::optional<DType>, bool,
                                bool, const std::string&);

Op cumulative(std::string_view name, std::string_view doc, Function function,
              Entries (*gradient)(const NodeRef&, const Entries&)) {
  using enum AttributeType;
  return {
      .name = name,
      .doc = doc,
      .inputs = {{"data", "any shape, numbers"}},
      .attributes = {{"axis", OptionalInt, "None",
                      "a dimension; None: all elements in row-major order, as a vector"},
                     {"dtype", OptionalType, "same", "of the output; same: that of data"},
                     {"exclusive", Bool, "False", "without the element itself"},
                     {"reverse", Bool, "False", "from the last element on"}},
      .infer_shape = infer_cumulative,
      .infer_type = cumulative_type,
      .pattern = Pattern::Opaque,
      .compute =
          [function](const AttributeValues& a, Tensors in) {
            return std::vector{function(in[0], axis_or_none(a), type_or_none(a),
                                        a.flag("exclusive"), a.flag("reverse"), "T_cumulative")};
          },
      .gradient = gradient};
}

}  // namespace

std::vector<Op> cumulative_ops() {
  using enum AttributeType;
  return {
      cumulative("cumsum", "The sum of the elements up to each along a dimension.", topi::cumsum,
                 cumsum_gradient),
      cumulative("cumprod", "The product of the elements up to each along a dimension.",
                 topi::cumprod, cumprod_gradient),
      {.name = "linear_recurrence",
       .doc = "y[k] = data[k] + factor[k] * y[k - 1] along a dimension, from y = 0 on.",
       .inputs = {{"data", "any shape but (), numbers"}, {"factor", "the shape and type of data"}},
       .attributes = {{"axis", Int, "0", "a dimension"},
                      {"form", Text, "current",
                       "current: as above; before: with factor[k - 1]; exclusive: y[k - 1]"},
                      {"reverse", Bool, "False", "from the last element on"}},
       .infer_shape = same_shape_along_axis,
       .infer_type = same_type,
       .pattern = Pattern::Opaque,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::linear_recurrence(
                 in[0], in[1], static_cast<int>(a.integer("axis")),
                 topi::recurrence_named({"linear_recurrence", "form"}, a.text("form")),
                 a.flag("reverse"))};
           },
       .gradient = recurrence_gradient},
  };
}

}  // namespace tw::graph
