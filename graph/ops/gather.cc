// SPDX-License-Identifier: Apache-2.0
// Operators that take elements where tensors of integers say, and their gradients. Integers that
// are outside mean the nearest place that is not: nothing else is read or written.
#include "graph/ops/gather.h"
#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

// Of a shape the dimensions from `first` on before `last`.
Shape part(const Shape& shape, size_t first, size_t last) {
  if (!shape.has_rank()) return {};
  const auto begin = shape.extents->begin();
  return Extents(begin + static_cast<std::ptrdiff_t>(first),
                 begin + static_cast<std::ptrdiff_t>(last));
}

Shape joined(std::initializer_list<Shape> parts) {
  Extents all;
  for (const Shape& p : parts) all.insert(all.end(), p.extents->begin(), p.extents->end());
  return all;
}

void require_elements(const ShapeInference& s, int64_t extent, const Shape& indices) {
  if (extent == 0 && indices.known() && indices.elements() > 0) {
    s.fail(fmt::format("{} elements of none", indices.elements()), "an extent of 1 or more");
  }
}

// Input 0 taken at input 1, along an axis, where the first `batch` dimensions are common.
void infer_taken(ShapeInference& s, size_t data_input, size_t index_input,
                 std::optional<int64_t> axis, int64_t batch_dims) {
  const Shape &data = s.input(data_input), &indices = s.input(index_input);
  if (!axis) {
    s.narrow_output(0, indices);
    s.narrow_input(index_input, s.output(0));
    if (data.known()) require_elements(s, data.elements(), indices);
    return;
  }
  if (!data.has_rank() || !indices.has_rank()) return;
  const size_t along = axis_of(s, *axis, data.rank()), rank = data.rank();
  if (batch_dims < 0 || batch_dims > static_cast<int64_t>(std::min(along, indices.rank()))) {
    s.fail(fmt::format("{} batch_dims for axis {} and indices of rank {}", batch_dims, along,
                       indices.rank()),
           "0 to both of these");
  }
  const auto batch = static_cast<size_t>(batch_dims);
  require_elements(s, data[along], indices);
  const Shape common_data = part(data, 0, batch), common_indices = part(indices, 0, batch);
  s.narrow_input(data_input, joined({common_indices, Shape::of_rank(rank - batch)}));
  s.narrow_input(index_input, joined({common_data, Shape::of_rank(indices.rank() - batch)}));
  s.narrow_output(0, joined({part(s.input(data_input), 0, along),
                             part(indices, batch, indices.rank()), part(data, along + 1, rank)}));
  const Shape& out = s.output(0);
  const size_t behind = along + indices.rank() - batch;
  s.narrow_input(data_input,
                 joined({part(out, 0, along), Shape::of_rank(1), part(out, behind, out.rank())}));
  s.narrow_input(index_input, joined({part(out, 0, batch), part(out, along, behind)}));
}

void infer_take(ShapeInference& s) {
  const AttributeValues& a = s.attributes();
  const auto axis = a.is_none("axis") ? std::nullopt : std::optional(a.integer("axis"));
  infer_taken(s, 0, 1, axis, a.integer("batch_dims"));
}

void infer_embedding(ShapeInference& s) {
  const auto extent_of = [&](std::string_view name) {
    return s.attributes().is_none(name) ? kUnknown : s.attributes().integer(name);
  };
  s.narrow_input(1, Extents{extent_of("input_dim"), extent_of("output_dim")});
  infer_taken(s, 1, 0, 0, 0);
}

void infer_gather_nd(ShapeInference& s) {
  const Shape &data = s.input(0), &indices = s.input(1);
  if (indices.has_rank() && indices.rank() == 0) s.fail("indices of rank 0", "[m, …]");
  if (!data.has_rank() || !indices.has_rank() || indices[0] == kUnknown) return;
  const int64_t batch_dims = s.attributes().integer("batch_dims");
  const int64_t most = static_cast<int64_t>(std::min(data.rank(), indices.rank() - 1));
  if (batch_dims < 0 || batch_dims > most) {
    s.fail(fmt::format("{} batch_dims", batch_dims), fmt::format("0 to {}", most));
  }
  const auto batch = static_cast<size_t>(batch_dims);
  const auto named = batch + static_cast<size_t>(indices[0]);
  if (named > data.rank()) {
    s.fail(fmt::format("{} indices and {} batch_dims for rank {}", indices[0], batch, data.rank()),
           "at most one for each dimension of data");
  }
  const Shape columns = part(indices, 1, indices.rank());
  for (size_t d = batch; d < named; ++d) require_elements(s, data[d], columns);
  s.narrow_input(
      1, joined({Shape::of_rank(1), part(data, 0, batch), Shape::of_rank(columns.rank() - batch)}));
  s.narrow_output(0, joined({columns, part(data, named, data.rank())}));
  const Shape& out = s.output(0);
  s.narrow_input(1, joined({Shape::of_rank(1), part(out, 0, columns.rank())}));
  s.narrow_input(0, joined({part(out, 0, batch), Shape::of_rank(named - batch),
                            part(out, columns.rank(), out.rank())}));
}

void infer_one_hot(ShapeInference& s) {
  const int64_t depth = s.attributes().integer("depth");
  if (depth < 0) s.fail(fmt::format("a depth of {}", depth), "0 or more");
  if (!s.input(0).has_rank()) return;
  Extents out = *s.input(0).extents;
  const size_t axis = axis_of(s, s.attributes().integer("axis"), out.size() + 1);
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  s.narrow_output(0, out);
  Extents in = *s.output(0).extents;
  in.erase(in.begin() + static_cast<std::ptrdiff_t>(axis));
  s.narrow_input(0, in);
}

void infer_where(ShapeInference& s) {
  s.narrow_output(0, broadcast_of(s, s.input(0), broadcast_of(s, s.input(1), s.input(2))));
}

void where_type(TypeInference& t) {
  t.narrow_output(0, t.input(1));
  t.narrow_output(0, t.input(2));
  t.narrow_input(1, t.output(0));
  t.narrow_input(2, t.output(0));
}

// What where passes on, of each side.
Entries where_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const Entry none = n("zeros_like", {g[0]});
  const Entry of_x = n("where", {n.input(0), g[0], none}),
              of_y = n("where", {n.input(0), none, g[0]});
  return {n.zeros(0), n("collapse_sum", {of_x, n.input(1)}), n("collapse_sum", {of_y, n.input(2)})};
}

// The gradient of what was taken goes to where it was; positions have none.
Entries taken_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  return {n("_" + std::string(node->op->name) + "_grad", {g[0], n.input(0), n.input(1)},
            Attributes(node->attributes)),
          {}};
}

// The gradient of that is linear in the first input: what is taken of its own gradient.
Entries regathered(const NodeRef& node, const Entries& g, std::string_view op) {
  const GradientOf n(node);
  return {n(op, {g[0], n.input(2)}, Attributes(node->attributes)), n.zeros(1), {}};
}

Op gradient_of(std::string_view name, std::string_view doc, std::string_view forward,
               std::vector<AttributeSpec> attributes,
               std::function<std::vector<te::Tensor>(const AttributeValues&, Tensors)> compute) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"grad", "the gradient of the output"},
                     {"data", "what was taken from"},
                     {"indices", "where"}},
          .attributes = std::move(attributes),
          .infer_shape = second_shape,
          .infer_type = first_type,
          .pattern = Pattern::Opaque,
          .compute = std::move(compute),
          .gradient = [forward](const NodeRef& node, const Entries& g) {
            return regathered(node, g, forward);
          }};
}

}  // namespace

void infer_gather(ShapeInference& s) {
  const Shape &data = s.input(0), &indices = s.input(1);
  s.narrow_output(0, indices);
  s.narrow_input(1, s.output(0));
  if (data.has_rank()) s.narrow_input(1, Shape::of_rank(data.rank()));
  if (indices.has_rank()) s.narrow_input(0, Shape::of_rank(indices.rank()));
  if (!data.has_rank()) return;
  const size_t along = axis_of(s, s.attributes().integer("axis"), data.rank());
  for (size_t d = 0; d < data.rank(); ++d) {
    const bool known = data[d] != kUnknown && indices[d] != kUnknown;
    if (d != along && known && indices[d] > data[d]) {
      s.fail(fmt::format("indices of shape {} for data of {}", to_string(indices), to_string(data)),
             "extents no larger than those of data, but for axis");
    }
  }
  require_elements(s, data[along], indices);
}

std::vector<Op> gather_ops() {
  using enum AttributeType;
  const std::vector<AttributeSpec> take_attributes = {
      {"axis", OptionalInt, "None",
       "a dimension of data; None: of its elements in row-major order"},
      {"batch_dims", Int, "0", "so many first dimensions of both are the same"},
      {"mode", Text, "clip",
       "clip: the nearest where outside, so that -1 is 0; wrap: the remainder; fast: from the end "
       "where negative, then the nearest where outside"}};
  const std::vector<AttributeSpec> gather_attributes = {
      {"axis", Int, "0", "a dimension"},
      {"mode", Text, "fast", "as of take; skip: 0 where outside, which -1 is too"}};
  const auto gather_mode = [](const AttributeValues& a) {
    return topi::index_mode_or_skip({"gather", "mode"}, a.text("mode"));
  };
  const std::vector<AttributeSpec> gather_nd_attributes = {
      {"batch_dims", Int, "0",
       "so many first dimensions of data are the first of indices behind m"}};
  const InputSpec from_end{"indices",
                           "integers, from the end where negative, the nearest where outside"};
  return {
      {.name = "take",
       .doc = "Elements of data along a dimension: data.shape[:axis] + indices.shape[batch_dims:] "
              "+ data.shape[axis + 1:].",
       .inputs = {{"data", "any shape"}, {"indices", "integers, any shape"}},
       .attributes = take_attributes,
       .infer_shape = infer_take,
       .infer_type = first_type,
       .pattern = Pattern::Injective,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::take(in[0], in[1], axis_or_none(a),
                                           static_cast<int>(a.integer("batch_dims")),
                                           a.text("mode"))};
           },
       .gradient = taken_gradient},
      gradient_of("_take_grad", "The gradient of take's data; attributes are those of take.",
                  "take", take_attributes,
                  [](const AttributeValues& a, Tensors in) {
                    return std::vector{topi::take_grad(in[0], in[1].shape(), in[2], axis_or_none(a),
                                                       static_cast<int>(a.integer("batch_dims")),
                                                       a.text("mode"))};
                  }),
      {.name = "embedding",
       .doc = "The row of weight that each integer of data names: data.shape + (output_dim,).",
       .inputs = {{"data", "integers, from the end where negative, the nearest where outside"},
                  {"weight", "(input_dim, output_dim)"}},
       .attributes = {{"input_dim", OptionalInt, "None", "rows of weight; None: as it has"},
                      {"output_dim", OptionalInt, "None", "columns of weight; None: as it has"}},
       .infer_shape = infer_embedding,
       .infer_type = [](TypeInference& t) { t.equate(1, 0); },
       .pattern = Pattern::Injective,
       .compute = [](const AttributeValues&,
                     Tensors in) { return std::vector{topi::take(in[1], in[0], 0, 0, "fast")}; },
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             const GradientOf n(node);
             return Entries{{},
                            n("_take_grad", {g[0], n.input(1), n.input(0)},
                              {{"axis", "0"}, {"mode", "fast"}})};
           }},
      {.name = "gather",
       .aliases = {"gather_elements"},
       .doc = "The element along a dimension that each index names, at its own position in all "
              "others: of the shape of indices.",
       .inputs = {{"data", "any shape but ()"}, from_end},
       .attributes = gather_attributes,
       .infer_shape = infer_gather,
       .infer_type = first_type,
       .pattern = Pattern::Injective,
       .compute =
           [gather_mode](const AttributeValues& a, Tensors in) {
             return std::vector{
                 topi::gather(in[0], static_cast<int>(a.integer("axis")), in[1], gather_mode(a))};
           },
       .gradient = taken_gradient},
      gradient_of("_gather_grad", "The gradient of gather's data; attributes are those of gather.",
                  "gather", gather_attributes,
                  [gather_mode](const AttributeValues& a, Tensors in) {
                    return std::vector{topi::gather_grad(in[0], in[1].shape(),
                                                         static_cast<int>(a.integer("axis")), in[2],
                                                         gather_mode(a))};
                  }),
      {.name = "gather_nd",
       .doc = "What the columns of indices, [m, y…], name of the dimensions of data behind the "
              "first batch_dims: y… + data.shape[batch_dims + m:].",
       .inputs = {{"data", "any shape"}, from_end},
       .attributes = gather_nd_attributes,
       .infer_shape = infer_gather_nd,
       .infer_type = first_type,
       .pattern = Pattern::Injective,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{
                 topi::gather_nd(in[0], in[1], static_cast<int>(a.integer("batch_dims")))};
           },
       .gradient = taken_gradient},
      gradient_of("_gather_nd_grad",
                  "The gradient of gather_nd's data; attributes are those of gather_nd.",
                  "gather_nd", gather_nd_attributes,
                  [](const AttributeValues& a, Tensors in) {
                    return std::vector{topi::gather_nd_grad(
                        in[0], in[1].shape(), in[2], static_cast<int>(a.integer("batch_dims")))};
                  }),
      {.name = "one_hot",
       .doc = "on_value at the position that each index names along a new dimension, else "
              "off_value.",
       .inputs = {{"indices", "integers, from the end where negative"}},
       .attributes = {{"depth", Int, {}, "the extent of the new dimension"},
                      {"axis", Int, "-1", "the new dimension"},
                      {"on_value", Float, "1", "taken in the element type"},
                      {"off_value", Float, "0", "taken in the element type"},
                      {"dtype", Type, "float32", "the element type"}},
       .infer_shape = infer_one_hot,
       .infer_type = [](TypeInference& t) { t.narrow_output(0, t.attributes().dtype("dtype")); },
       .pattern = Pattern::Broadcast,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             const DType type = a.dtype("dtype");
             return std::vector{topi::one_hot(in[0], constant_of(type, a.real("on_value")),
                                              constant_of(type, a.real("off_value")),
                                              a.integer("depth"),
                                              static_cast<int>(a.integer("axis")), type)};
           },
       .gradient = no_gradient},
      {.name = "where",
       .doc = "x where condition is not 0, else y; shapes are brought together by NumPy's rule.",
       .inputs = {{"condition", "any shape and type"},
                  {"x", "a shape that broadcasts with the others"},
                  {"y", "the same, and the type of x"}},
       .infer_shape = infer_where,
       .infer_type = where_type,
       .pattern = Pattern::Broadcast,
       .compute = [](const AttributeValues&,
                     Tensors in) { return std::vector{topi::where(in[0], in[1], in[2])}; },
       .gradient = where_gradient,
       .inplace = {{1, 0}, {2, 0}}},
  };
}

}  // namespace tw::graph
