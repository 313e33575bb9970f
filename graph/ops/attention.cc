// SPDX-License-Identifier: Apache-2.0
// What transformers are made of.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/ops/arithmetic.h"
#include "graph/ops/families.h"
#include "ir/expr.h"
#include "schedule/topi/common.h"

namespace tw::graph {
namespace {

// Elements (…, row, column) stay up to column row + offset; behind it is a value.
std::vector<te::Tensor> compute_causal_mask(const AttributeValues& a, Tensors in) {
  const te::Tensor& x = in[0];
  const Expr value = constant_of(x.dtype(), a.real("value"));
  const int64_t offset = a.integer("offset");
  return {te::compute(
      x.shape(),
      [&](const std::vector<Var>& i) {
        const Var &row = i[i.size() - 2], &column = i[i.size() - 1];
        const Expr shift = make_const(row.dtype(), offset);
        return select(column <= row + shift, x(topi::to_exprs(i)), value);
      },
      "T_causal_mask", topi::kElementwise)};
}

void infer_causal_mask(ShapeInference& s) {
  same_shape(s);
  if (s.input(0).has_rank() && s.input(0).rank() < 2) {
    s.fail(fmt::format("shape {}", to_string(s.input(0))), "(…, rows, columns)");
  }
}

// A mask as what is added to scores: numbers as they are, and of bools 0 for True and -inf for
// False.
std::vector<te::Tensor> compute_mask_scores(const AttributeValues&, Tensors in) {
  const DType type = in[1].dtype();
  const te::Tensor& mask = in[0];
  return {te::compute(
      mask.shape(),
      [&](const std::vector<Var>& i) {
        const Expr e = mask(topi::to_exprs(i));
        if (mask.dtype() != bool_type()) return tw::cast(type, e);
        return select(e, make_zero(type), constant_of(type, -INFINITY));
      },
      "T_mask", topi::kElementwise)};
}

// Behind the batch: query (l, d), key (s, d), value (s, e), output (l, e).
void infer_attention(ShapeInference& s) {
  for (size_t k = 0; k < 3; ++k) {
    if (s.input(k).has_rank() && s.input(k).rank() < 2) {
      s.fail(fmt::format("{} has shape {}", s.node().op->inputs[k].name, to_string(s.input(k))),
             "rank 2 or more");
    }
    // All have one rank.
    for (size_t j = 0; j < 3; ++j) {
      if (s.input(k).has_rank()) s.narrow_input(j, Shape::of_rank(s.input(k).rank()));
    }
  }
  if (s.output(0).has_rank()) s.narrow_input(0, Shape::of_rank(s.output(0).rank()));
  if (!s.input(0).has_rank()) return;
  const size_t rank = s.input(0).rank(), row = rank - 2, column = rank - 1;
  const auto learn = [&](size_t k, size_t d, int64_t extent) {
    Shape known = Shape::of_rank(rank);
    (*known.extents)[d] = extent;
    s.narrow_input(k, known);
  };
  learn(1, column, s.input(0)[column]);
  learn(0, column, s.input(1)[column]);
  learn(2, row, s.input(1)[row]);
  learn(1, row, s.input(2)[row]);
  Extents out;
  for (size_t d = 0; d < row; ++d) {
    const int64_t q = s.input(0)[d];
    out.push_back(q);
    for (size_t k = 1; k < 3; ++k) {
      const int64_t own = s.input(k)[d];
      const bool heads = d + 1 == row;
      const bool fits =
          q == kUnknown || own == kUnknown || own == q || (heads && own > 0 && q % own == 0);
      if (fits) continue;
      s.fail(fmt::format("query {} and {} {}", to_string(s.input(0)), s.node().op->inputs[k].name,
                         to_string(s.input(k))),
             "the same batch, and a number of heads that divides that of query");
    }
    const int64_t keys = s.input(1)[d], values = s.input(2)[d];
    learn(1, d, values);
    learn(2, d, keys);
  }
  out.push_back(s.input(0)[row]);
  out.push_back(s.input(2)[column]);
  s.narrow_output(0, out);
  if (s.num_inputs() < 4 || !s.input(3).has_rank()) return;
  const Extents scores = [&] {
    Extents shape(out.begin(), out.end() - 1);
    shape.push_back(s.input(1)[row]);
    return shape;
  }();
  const Shape& mask = s.input(3);
  const size_t missing = mask.rank() > rank ? 0 : rank - mask.rank();
  bool fits = mask.rank() <= rank;
  for (size_t d = 0; fits && d < mask.rank(); ++d) {
    const int64_t whole = scores[missing + d];
    fits = mask[d] == 1 || mask[d] == kUnknown || whole == kUnknown || mask[d] == whole;
  }
  if (!fits) {
    s.fail(fmt::format("a mask of shape {} for scores of {}", to_string(mask), to_string(scores)),
           "what broadcasts to the scores");
  }
}

void infer_type_of_attention(TypeInference& t) {
  for (size_t k = 0; k < 3; ++k) {
    t.equate(k, 0);
  }
}

Entries expand_attention(const NodeRef& node, std::span<const Shape> shapes) {
  const Arithmetic n(node);
  const AttributeValues a = n.attributes();
  const Extents &query = n.known(shapes, 0), &key = n.known(shapes, 1);
  const size_t rank = query.size();
  const int64_t rows = query[rank - 2], width = query[rank - 1];
  const double scale = a.real("scale") != 0
                           ? a.real("scale")
                           : 1 / std::sqrt(static_cast<double>(std::max<int64_t>(width, 1)));
  const auto product = [&](const Entry& x, const Entry& y, bool turned) {
    return n("batch_matmul", {x, y}, {{"transpose_b", Arithmetic::text(turned)}});
  };
  // Queries that share keys and values are rows of one product.
  const bool grouped = rank > 2 && query[rank - 3] != key[rank - 3] && key[rank - 3] != 0;
  const auto with = [&](int64_t heads, int64_t r, int64_t columns) {
    Extents shape(query.begin(), query.end() - 2);
    if (heads != 0) shape.back() = heads;
    shape.push_back(r);
    shape.push_back(columns);
    return shape;
  };
  const int64_t heads = grouped ? key[rank - 3] : 0;
  const int64_t together = grouped ? rows * (query[rank - 3] / heads) : rows;
  const int64_t columns = key[rank - 2];
  const auto group = [&](const Entry& e, int64_t last) {
    return grouped ? n.reshape(e, with(heads, together, last)) : e;
  };
  const auto apart = [&](const Entry& e, int64_t last) {
    return grouped ? n.reshape(e, with(0, rows, last)) : e;
  };
  const auto product_with_values = [&](const Entry& shares) -> Entries {
    const int64_t out = n.known(shapes, 2)[rank - 1];
    return {apart(product(group(shares, columns), n.input(2), false), out)};
  };
  const Entry q = n.mul(n.input(0), scale);
  Entry scores = apart(product(group(q, width), n.input(1), true), columns);
  if (const double cap = a.real("softcap"); cap != 0) {
    scores = n.mul(n("tanh", {n.mul(scores, 1 / cap)}), cap);
  }
  if (a.flag("use_mask")) scores = n.add(scores, n("_mask_scores", {n.input(3), n.input(0)}));
  if (a.flag("is_causal")) {
    scores =
        n("causal_mask", {scores}, {{"offset", fmt::format("{}", a.integer("causal_offset"))}});
  }
  // Rows without any key give zeros.
  if (a.flag("use_mask") || (a.flag("is_causal") && a.integer("causal_offset") < 0)) {
    const Entry best = n("max", {scores}, {{"axis", "-1"}, {"keepdims", "True"}});
    const Entry nothing =
        n("broadcast_equal", {best, n.like(best, -std::numeric_limits<double>::infinity())});
    const Entry shares = n("softmax", {n("where", {nothing, n("zeros_like", {scores}), scores})});
    return product_with_values(n.mul(shares, n.sub(n.like(nothing, 1), nothing)));
  }
  return product_with_values(n("softmax", {scores}));
}

// cos and sin: (s, r / 2), or (b, s, r / 2), of data (b, …, s, d).
void infer_rotary(ShapeInference& s) {
  s.equate(0, 0);
  s.equate_inputs(1, 2);
  const int64_t wanted = s.attributes().integer("rotary_dim");
  if (wanted < 0 || wanted % 2 != 0) {
    s.fail(fmt::format("rotary_dim is {}", wanted), "an even number, or 0 for all elements");
  }
  const Shape &data = s.input(0), &angles = s.input(1);
  if (!data.has_rank()) return;
  const size_t rank = data.rank();
  if (rank < 2) s.fail(fmt::format("data of shape {}", to_string(data)), "(…, s, d)");
  const int64_t width = data[rank - 1], turned = wanted != 0 ? wanted : width;
  if (turned != kUnknown && (turned % 2 != 0 || (width != kUnknown && turned > width))) {
    s.fail(fmt::format("{} of {} elements are turned", turned, width),
           "an even number, no more than there are");
  }
  if (!angles.has_rank()) return;
  if (angles.rank() < 2 || angles.rank() > std::min<size_t>(rank, 3)) {
    s.fail(fmt::format("cos of shape {} for data of {}", to_string(angles), to_string(data)),
           "(s, r / 2), or (b, s, r / 2)");
  }
  Extents own = {data[rank - 2], turned == kUnknown ? kUnknown : turned / 2};
  if (angles.rank() == 3) own.insert(own.begin(), data[0]);
  s.narrow_input(1, own);
}

// Pairs of elements turned by angles: (x, y) becomes (x cos - y sin, y cos + x sin).
Entries expand_rotary(const NodeRef& node, std::span<const Shape> shapes) {
  const Arithmetic n(node);
  const AttributeValues a = n.attributes();
  const Extents& data = n.known(shapes, 0);
  const size_t rank = data.size(), last = rank - 1;
  const int64_t width = data[last],
                turned = a.integer("rotary_dim") != 0 ? a.integer("rotary_dim") : width;
  const bool interleaved = a.flag("interleaved");
  const auto aligned = [&](const Entry& e) {
    const size_t own = n.ranked(shapes, 1).rank();
    if (own != 3 || rank == 3) return e;
    return n("expand_dims", {e}, {{"axis", "1"}, {"num_newaxis", fmt::format("{}", rank - 3)}});
  };
  const Entry cosine = aligned(n.input(1)), sine = aligned(n.input(2));
  // (…, 2, r / 2), or (…, r / 2, 2) where elements of a pair stand side by side.
  const Entry part = turned == width ? n.input(0) : n.slice(n.input(0), last, 0, turned);
  Extents pairs(data.begin(), data.end() - 1);
  pairs.push_back(interleaved ? turned / 2 : 2);
  pairs.push_back(interleaved ? 2 : turned / 2);
  const size_t which = interleaved ? rank : rank - 1;
  const Entry split = n.reshape(part, pairs);
  const auto half = [&](int64_t k) {
    return n("squeeze", {n.slice(split, which, k, k + 1)}, {{"axis", fmt::format("{}", which)}});
  };
  const Entry x = half(0), y = half(1);
  const auto raised = [&](const Entry& e) {
    return n("expand_dims", {e}, {{"axis", fmt::format("{}", which)}});
  };
  const Entry joined = n("concatenate",
                         {raised(n.sub(n.mul(x, cosine), n.mul(y, sine))),
                          raised(n.add(n.mul(y, cosine), n.mul(x, sine)))},
                         {{"axis", fmt::format("{}", which)}});
  Extents whole(data.begin(), data.end() - 1);
  whole.push_back(turned);
  const Entry result = n.reshape(joined, whole);
  if (turned == width) return {result};
  return {n("concatenate", {result, n.slice(n.input(0), last, turned, width)},
            {{"axis", fmt::format("{}", last)}})};
}

}  // namespace

std::vector<Op> attention_ops() {
  using enum AttributeType;
  return {
      {.name = "causal_mask",
       .doc = "data (…, rows, columns), with a value in the place of what stands behind column row "
              "+ offset.",
       .inputs = {{"data", "(…, rows, columns)"}},
       .attributes = {{"offset", Int, "0", "the last column that row 0 keeps"},
                      {"value", Float, "-inf", "what stands elsewhere"}},
       .infer_shape = infer_causal_mask,
       .infer_type = same_type,
       .pattern = Pattern::ElementWise,
       .compute = compute_causal_mask,
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             const Arithmetic n(node);
             return Entries{n("causal_mask", {g[0]},
                              {{"offset", fmt::format("{}", n.attributes().integer("offset"))},
                               {"value", "0"}})};
           },
       .inplace = {{0, 0}}},
      {.name = "_mask_scores",
       .doc = "What a mask adds to scores: numbers as they are, 0 for True, -inf for False.",
       .inputs = {{"mask", "any shape, bool or numbers"}, {"like", "any shape, floating"}},
       .infer_shape = first_shape,
       .infer_type = [](TypeInference& t) { t.narrow_output(0, t.input(1)); },
       .pattern = Pattern::ElementWise,
       .compute = compute_mask_scores,
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             const Arithmetic n(node);
             return Entries{n("cast_like", {g[0], n.input(0)}), n("zeros_like", {n.input(1)})};
           }},
      {.name = "scaled_dot_product_attention",
       .doc =
           "softmax(query · keyᵀ * scale + mask) · value for each position of the batch; Vaswani "
           "et al., \"Attention Is All You Need\".",
       .inputs = {{"query", "(…, heads, l, d), floating"},
                  {"key", "(…, g, s, d); heads / g queries each share the keys and values of one"},
                  {"value", "(…, g, s, e)"},
                  {"mask", "broadcasts to (…, heads, l, s): numbers that are added, or bools",
                   "use_mask"}},
       .attributes = {{"scale", Float, "0.0", "factor of the products; 0: 1 / sqrt(d)"},
                      {"is_causal", Bool, "False",
                       "whether row l reads columns up to l + causal_offset alone"},
                      {"causal_offset", Int, "0", "how many keys stand before the first query"},
                      {"softcap", Float, "0.0", "c: scores s become c * tanh(s / c); 0: they stay"},
                      {"use_mask", Bool, "False", "whether there is a mask"}},
       .infer_shape = infer_attention,
       .infer_type = infer_type_of_attention,
       .expand = expand_attention,
       .rounds_once = true},
      {.name = "rotary_embedding",
       .doc =
           "Pairs of elements of data turned by angles of their position; Su et al., \"RoFormer\".",
       .inputs = {{"data", "(b, …, s, d), floating"},
                  {"cos", "(s, r / 2), or (b, s, r / 2)"},
                  {"sin", "the shape of cos"}},
       .attributes = {{"interleaved", Bool, "False",
                       "whether a pair stands side by side; False: r / 2 elements apart"},
                      {"rotary_dim", Int, "0", "r, how many elements are turned; 0: all"}},
       .infer_shape = infer_rotary,
       .infer_type = same_type,
       .expand = expand_rotary},
  };
}

}  // namespace tw::graph
