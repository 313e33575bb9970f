// SPDX-License-Identifier: Apache-2.0
// Operators that repeat elements, or put them in other places.
#include <algorithm>

#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "ir/expr.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

void infer_tile(ShapeInference& s) {
  const Extents& reps = s.attributes().tuple("reps");
  if (std::ranges::any_of(reps, [](int64_t r) { return r < 0; })) {
    s.fail(fmt::format("reps ({})", fmt::join(reps, ", ")), "0 or more each");
  }
  if (!s.input(0).has_rank()) return;
  const Extents in = *s.input(0).extents;
  const size_t rank = std::max(in.size(), reps.size());
  Extents out;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t own = d + in.size() < rank ? 1 : in[d + in.size() - rank];
    out.push_back(times(own, d + reps.size() < rank ? 1 : reps[d + reps.size() - rank]));
  }
  s.narrow_output(0, out);
  Extents back;
  for (size_t d = rank - in.size(); d < rank; ++d) {
    const int64_t factor = d + reps.size() < rank ? 1 : reps[d + reps.size() - rank];
    back.push_back(divided(s, s.output(0)[d], factor));
  }
  s.narrow_input(0, back);
}

void infer_repeat(ShapeInference& s) {
  const int64_t repeats = s.attributes().integer("repeats");
  if (repeats < 0) s.fail(fmt::format("{} repeats", repeats), "0 or more");
  if (!s.input(0).has_rank() && s.output(0).has_rank()) {
    s.narrow_input(0, Shape::of_rank(s.output(0).rank()));
  }
  if (!s.input(0).has_rank()) return;
  Extents in = *s.input(0).extents;
  const size_t axis = axis_of(s, s.attributes().integer("axis"), in.size());
  Extents out = in;
  out[axis] = times(in[axis], repeats);
  s.narrow_output(0, out);
  in = *s.output(0).extents;
  in[axis] = divided(s, in[axis], repeats);
  s.narrow_input(0, in);
}

void infer_stack(ShapeInference& s) {
  const auto count = static_cast<int64_t>(s.num_inputs());
  for (size_t k = 1; k < s.num_inputs(); ++k) s.narrow_input(0, s.input(k));
  if (!s.input(0).has_rank() && s.output(0).has_rank() && s.output(0).rank() > 0) {
    s.narrow_input(0, Shape::of_rank(s.output(0).rank() - 1));
  }
  for (size_t k = 1; k < s.num_inputs(); ++k) s.narrow_input(k, s.input(0));
  if (!s.input(0).has_rank()) return;
  Extents out = *s.input(0).extents;
  const size_t axis = axis_of(s, s.attributes().integer("axis"), out.size() + 1);
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis), count);
  s.narrow_output(0, out);
  Extents in = *s.output(0).extents;
  in.erase(in.begin() + static_cast<std::ptrdiff_t>(axis));
  for (size_t k = 0; k < s.num_inputs(); ++k) s.narrow_input(k, in);
}

void infer_roll(ShapeInference& s) {
  same_shape(s);
  const Extents &shift = s.attributes().tuple("shift"), &axes = s.attributes().tuple("axis");
  if (shift.size() != axes.size()) {
    s.fail(fmt::format("{} shifts along {} axes", shift.size(), axes.size()), "one for each axis");
  }
  if (!s.input(0).has_rank()) return;
  for (int64_t axis : axes) axis_of(s, axis, s.input(0).rank());
}

void infer_reverse_sequence(ShapeInference& s) {
  first_shape(s);
  s.narrow_input(1, Shape::of_rank(1));
  if (!s.input(0).has_rank()) return;
  const size_t rank = s.input(0).rank();
  const size_t along = axis_of(s, s.attributes().integer("seq_axis"), rank),
               batch = axis_of(s, s.attributes().integer("batch_axis"), rank);
  if (along == batch) s.fail("seq_axis and batch_axis are the same", "two dimensions");
  s.narrow_input(1, Extents{s.input(0)[batch]});
  Shape data = Shape::of_rank(rank);
  (*data.extents)[batch] = s.input(1)[0];
  s.narrow_input(0, data);
}

// The dimensions, all without an axis, that are cut to those of shape_like.
void infer_slice_like(ShapeInference& s) {
  const Shape &data = s.input(0), &like = s.input(1);
  const Extents& axes = s.attributes().tuple("axis");
  if (!data.has_rank() || !like.has_rank()) return;
  if (axes.empty() && data.rank() != like.rank()) {
    s.fail(fmt::format("shape {} like {}", to_string(data), to_string(like)),
           "one rank, or axes that both have");
  }
  std::vector<std::pair<size_t, size_t>> cut;  // a dimension of data, and that of shape_like
  for (size_t d = 0; axes.empty() && d < data.rank(); ++d) cut.emplace_back(d, d);
  for (int64_t axis : axes) {
    cut.emplace_back(axis_of(s, axis, data.rank()), axis_of(s, axis, like.rank()));
  }
  Extents out = *data.extents;
  for (const auto& [d, other] : cut) {
    if (like[other] != kUnknown && data[d] != kUnknown && like[other] > data[d]) {
      s.fail(fmt::format("shape {} like {}", to_string(data), to_string(like)),
             "extents no larger than those of data");
    }
    out[d] = like[other];
  }
  s.narrow_output(0, out);
  Extents in = *s.output(0).extents;
  for (const auto& [d, other] : cut) in[d] = kUnknown;
  s.narrow_input(0, in);
}

// Elements of data, in the shape of the output.
te::Tensor cut_to(const te::Tensor& data, const std::vector<Expr>& shape) {
  return te::compute(
      shape, [&](const std::vector<Var>& i) { return data(topi::to_exprs(i)); }, "T_slice_like",
      topi::kInjective);
}

std::vector<te::Tensor> compute_slice_like(const AttributeValues& a, Tensors in) {
  std::vector<Expr> shape = in[0].shape(), like = in[1].shape();
  const Extents& axes = a.tuple("axis");
  if (axes.empty()) return {cut_to(in[0], like)};
  for (int64_t axis : axes) {
    const auto d = static_cast<size_t>(axis < 0 ? axis + in[0].rank() : axis);
    shape[d] = like[static_cast<size_t>(axis < 0 ? axis + in[1].rank() : axis)];
  }
  return {cut_to(in[0], shape)};
}

// grad where it was cut from, else zeros.
std::vector<te::Tensor> compute_slice_like_gradient(const AttributeValues&, Tensors in) {
  const std::vector<Expr> part = in[0].shape(), whole = in[1].shape();
  return {te::compute(
      whole,
      [&](const std::vector<Var>& i) {
        Expr inside = make_bool(true);
        for (size_t d = 0; d < part.size(); ++d) {
          if (!topi::same_extent(part[d], whole[d])) inside = inside && i[d] < part[d];
        }
        return if_then_else(inside, in[0](topi::to_exprs(i)), make_zero(in[0].dtype()));
      },
      "slice_like_grad", topi::kInjective)};
}

void infer_compress(ShapeInference& s) {
  const Extents& condition = s.attributes().tuple("condition");
  const int64_t taken = topi::compressed_extent(condition);
  const auto fits = [&](int64_t extent) {
    if (extent != kUnknown && static_cast<int64_t>(condition.size()) > extent) {
      s.fail(fmt::format("{} conditions for {} elements", condition.size(), extent),
             "at most one for each");
    }
  };
  if (s.attributes().is_none("axis")) {
    s.narrow_output(0, Extents{taken});
    if (s.input(0).known()) fits(s.input(0).elements());
    return;
  }
  if (!s.input(0).has_rank()) return;
  Extents out = *s.input(0).extents;
  const size_t axis = axis_of(s, s.attributes().integer("axis"), out.size());
  fits(out[axis]);
  out[axis] = taken;
  s.narrow_output(0, out);
  Extents in = *s.output(0).extents;
  in[axis] = kUnknown;
  s.narrow_input(0, in);
}

// Gradients that need the shape of the input: an operator with the node's attributes.
template <const char* const& op>
Entries like_data(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  return first_gradient(n, n(op, {g[0], n.input(0)}, Attributes(node->attributes)));
}
// Gradients of these: the forward operator.
template <const char* const& op>
Entries forward_again(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  return first_gradient(n, n(op, {g[0]}, Attributes(node->attributes)));
}
constexpr const char *kTile = "tile", *kTileGrad = "_tile_grad", *kRepeat = "repeat",
                     *kRepeatGrad = "_repeat_grad", *kSliceLikeGrad = "_slice_like_grad",
                     *kCompress = "compress", *kCompressGrad = "_compress_grad";

Entries stack_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const Entry parts = n("split", {g[0]},
                        {{"indices_or_sections", fmt::format("{}", n.num_inputs())},
                         {"axis", fmt::format("{}", n.attributes().integer("axis"))}});
  Entries of_inputs;
  for (const Entry& part : entries_of(parts.node)) {
    of_inputs.push_back(n.shaped_as_input(part, of_inputs.size()));
  }
  return of_inputs;
}

Entries roll_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const AttributeValues a = n.attributes();
  Extents back = a.tuple("shift");
  for (int64_t& shift : back) shift = -shift;
  return {n("roll", {g[0]}, {{"shift", tuple_text(back)}, {"axis", tuple_text(a.tuple("axis"))}})};
}

// The gradient of a node's data, as an operator of its own.
Op gradient_op(std::string_view name, std::string_view doc, std::vector<AttributeSpec> attributes,
               Pattern pattern, std::vector<te::Tensor> (*compute)(const AttributeValues&, Tensors),
               Entries (*gradient)(const NodeRef&, const Entries&)) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"grad", "the gradient of the output"}, {"data", "the input"}},
          .attributes = std::move(attributes),
          .infer_shape = second_shape,
          .infer_type = first_type,
          .pattern = pattern,
          .compute = compute,
          .gradient = gradient};
}

}  // namespace

std::vector<Op> rearrange_ops() {
  using enum AttributeType;
  const InputSpec data{"data", "any shape"};
  const std::vector<AttributeSpec> tile_attributes = {
      {"reps", Tuple, {}, "how often along each dimension, aligned at the last"}};
  const std::vector<AttributeSpec> repeat_attributes = {{"repeats", Int, {}, "how often"},
                                                        {"axis", Int, "0", "a dimension"}};
  const std::vector<AttributeSpec> slice_like_attributes = {
      {"axis", Tuple, "()", "the dimensions that are cut; none: all"}};
  const std::vector<AttributeSpec> compress_attributes = {
      {"condition", Tuple, {}, "what is not 0 is taken; what is missing is not"},
      {"axis", OptionalInt, "None", "a dimension; None: all elements in row-major order"}};
  return {
      {.name = "tile",
       .doc = "data as a whole several times along its dimensions.",
       .inputs = {data},
       .attributes = tile_attributes,
       .infer_shape = infer_tile,
       .infer_type = same_type,
       .pattern = Pattern::Injective,
       .compute = [](const AttributeValues& a,
                     Tensors in) { return std::vector{topi::tile(in[0], a.tuple("reps"))}; },
       .gradient = like_data<kTileGrad>,
       .identity = identity_if_same_shape},
      gradient_op(
          "_tile_grad", "The gradient of tile's data; attributes are those of tile.",
          tile_attributes, Pattern::CommReduce,
          [](const AttributeValues&, Tensors in) {
            return std::vector{topi::tile_grad(in[0], in[1].shape())};
          },
          forward_again<kTile>),
      {.name = "repeat",
       .doc = "Each element several times along a dimension, one beside the other.",
       .inputs = {data},
       .attributes = repeat_attributes,
       .infer_shape = infer_repeat,
       .infer_type = same_type,
       .pattern = Pattern::Injective,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{
                 topi::repeat(in[0], a.integer("repeats"), static_cast<int>(a.integer("axis")))};
           },
       .gradient = like_data<kRepeatGrad>,
       .identity = identity_if_same_shape},
      gradient_op(
          "_repeat_grad", "The gradient of repeat's data; attributes are those of repeat.",
          repeat_attributes, Pattern::CommReduce,
          [](const AttributeValues& a, Tensors in) {
            return std::vector{topi::repeat_grad(in[0], in[1].shape(), a.integer("repeats"),
                                                 static_cast<int>(a.integer("axis")))};
          },
          forward_again<kRepeat>),
      {.name = "stack",
       .doc = "Tensors along a new dimension.",
       .inputs = {{"data", "tensors of one shape and type"}},
       .variadic = true,
       .attributes = {{"axis", Int, "0", "the new dimension"}},
       .infer_shape = infer_stack,
       .infer_type = same_type,
       .pattern = Pattern::Injective,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{
                 topi::stack({in.begin(), in.end()}, static_cast<int>(a.integer("axis")))};
           },
       .gradient = stack_gradient},
      {.name = "roll",
       .doc = "Elements moved along dimensions, from the end to the beginning.",
       .inputs = {data},
       .attributes = {{"shift", Tuple, {}, "by how many places along each axis"},
                      {"axis", Tuple, {}, "dimensions"}},
       .infer_shape = infer_roll,
       .infer_type = same_type,
       .pattern = Pattern::Injective,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::roll(in[0], a.tuple("shift"), to_ints(a.tuple("axis")))};
           },
       .gradient = roll_gradient},
      {.name = "reverse_sequence",
       .doc =
           "The first seq_lengths[b] elements along a dimension in reverse, b being the position "
           "along another.",
       .inputs = {data, {"seq_lengths", "(b,), integers; the nearest legal ones where outside"}},
       .attributes = {{"seq_axis", Int, "1", "along which elements change places"},
                      {"batch_axis", Int, "0", "along which lengths differ"}},
       .infer_shape = infer_reverse_sequence,
       .infer_type = first_type,
       .pattern = Pattern::Injective,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::reverse_sequence(in[0], in[1],
                                                       static_cast<int>(a.integer("seq_axis")),
                                                       static_cast<int>(a.integer("batch_axis")))};
           },
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             const GradientOf n(node);
             return Entries{n("reverse_sequence", {g[0], n.input(1)}, Attributes(node->attributes)),
                            {}};
           }},
      {.name = "slice_like",
       .doc = "The first elements of data along dimensions, as many as shape_like has there.",
       .inputs = {data, {"shape_like", "any type, nowhere larger than data"}},
       .attributes = slice_like_attributes,
       .infer_shape = infer_slice_like,
       .infer_type = first_type,
       .pattern = Pattern::Injective,
       .compute = compute_slice_like,
       .gradient = like_data<kSliceLikeGrad>,
       .identity = identity_if_same_shape},
      gradient_op("_slice_like_grad",
                  "The gradient of slice_like's data; attributes are those of slice_like.",
                  slice_like_attributes, Pattern::Injective, compute_slice_like_gradient,
                  [](const NodeRef& node, const Entries& g) {
                    const GradientOf n(node);
                    return first_gradient(
                        n, n("slice_like", {g[0], n.input(0)}, Attributes(node->attributes)));
                  }),
      {.name = "compress",
       .doc = "The elements along a dimension where the condition holds.",
       .inputs = {data},
       .attributes = compress_attributes,
       .infer_shape = infer_compress,
       .infer_type = same_type,
       .pattern = Pattern::Injective,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::compress(in[0], a.tuple("condition"), axis_or_none(a))};
           },
       .gradient = like_data<kCompressGrad>},
      gradient_op(
          "_compress_grad", "The gradient of compress's data; attributes are those of compress.",
          compress_attributes, Pattern::Injective,
          [](const AttributeValues& a, Tensors in) {
            return std::vector{
                topi::compress_grad(in[0], in[1].shape(), a.tuple("condition"), axis_or_none(a))};
          },
          forward_again<kCompress>),
  };
}

}  // namespace tw::graph
