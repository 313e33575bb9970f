// SPDX-License-Identifier: Apache-2.0
// Operators that give elements another shape in row-major order.
#include <algorithm>

#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

int64_t count(const Extents& extents) {
  int64_t n = 1;
  for (int64_t e : extents) n = times(n, e);
  return n;
}

// What the attribute `shape` of reshape makes of a shape, by NNVM's codes: 0 copies an extent, -1
// follows from all others, -2 copies all that are left, -3 is the product of two, and -4, a, b
// splits one, where one of a and b may be -1. `fail` is told what cannot be, and what can, and does
// not return.
template <class Fail>
Shape reshaped(const Shape& data, const Extents& codes, const Fail& fail) {
  if (!data.has_rank()) {
    const bool own = std::ranges::all_of(codes, [](int64_t c) { return c == -1 || c > 0; });
    return own ? Shape(codes) : Shape();
  }
  Extents result;
  std::optional<size_t> rest;
  size_t source = 0;
  const auto next = [&] {
    if (source >= data.rank()) {
      fail(fmt::format("({}) of shape {}", fmt::join(codes, ", "), to_string(data)),
           "codes for dimensions that there are");
    }
    return data[source++];
  };
  const auto split = [&](int64_t whole, int64_t a, int64_t b) {
    const int64_t known = a == -1 ? b : a;
    if (known < 1 || (whole != kUnknown && whole % known != 0)) {
      fail(fmt::format("{} as {} times {}", whole, a, b), "factors of the extent, one may be -1");
    }
    const int64_t other = whole == kUnknown ? kUnknown : whole / known;
    if (a == -1) return std::pair(other, b);
    if (b != -1 && other != kUnknown && b != other) {
      fail(fmt::format("{} as {} times {}", whole, a, b), "factors of the extent, one may be -1");
    }
    return std::pair(a, b == -1 ? other : b);
  };
  for (size_t k = 0; k < codes.size(); ++k) {
    switch (codes[k]) {
      case 0:
        result.push_back(next());
        break;
      case -1:
        if (rest) fail("more than one extent is -1", "at most one");
        rest = result.size();
        result.push_back(1);
        ++source;
        break;
      case -2:
        while (source < data.rank()) result.push_back(next());
        break;
      case -3: {
        const int64_t first = next();
        result.push_back(times(first, next()));
        break;
      }
      case -4: {
        if (k + 2 >= codes.size()) fail("-4 without two factors", "-4, a, b");
        const auto [a, b] = split(next(), codes[k + 1], codes[k + 2]);
        result.push_back(a);
        result.push_back(b);
        k += 2;
        break;
      }
      default:
        if (codes[k] < 0) fail(fmt::format("an extent of {}", codes[k]), "-4 or more");
        result.push_back(codes[k]);
        ++source;
    }
  }
  const int64_t elements = count(*data.extents), placed = count(result);
  if (elements == kUnknown || placed == kUnknown) {
    if (rest) result[*rest] = kUnknown;
    return result;
  }
  if (rest ? placed == 0 || elements % placed != 0 : placed != elements) {
    fail(fmt::format("the elements of {} under ({})", to_string(data), fmt::join(codes, ", ")),
         "a shape of as many elements");
  }
  if (rest) result[*rest] = elements / placed;
  return result;
}

// Of as many elements as a known shape has: the one extent that is not known.
void complete(ShapeInference& s, const Shape& whole) {
  if (!whole.known() || !s.input(0).has_rank()) return;
  Extents extents = *s.input(0).extents;
  if (std::ranges::count(extents, kUnknown) != 1) return;
  int64_t& open = *std::ranges::find(extents, kUnknown);
  open = 1;
  const int64_t known = count(extents);
  if (known == 0 || whole.elements() % known != 0) return;
  open = whole.elements() / known;
  s.narrow_input(0, extents);
}

void infer_reshape(ShapeInference& s) {
  s.narrow_output(0, reshaped(s.input(0), s.attributes().tuple("shape"),
                              [&](std::string what, std::string legal) {
                                s.fail(std::move(what), std::move(legal));
                              }));
  complete(s, s.output(0));
}

std::vector<te::Tensor> compute_reshape(const AttributeValues& a, Tensors in) {
  const Shape shape =
      reshaped(shape_of(in[0]), a.tuple("shape"), [](std::string what, std::string legal) {
        raise({.code = ErrorCode::BadShape, .what = "reshape: " + what, .legal = std::move(legal)});
      });
  std::vector<Expr> extents;
  for (int64_t e : *shape.extents) extents.emplace_back(static_cast<int>(e));
  return {topi::reshape(in[0], extents)};
}

void infer_reshape_like(ShapeInference& s) {
  second_shape(s);
  if (s.input(0).known() && s.output(0).known() &&
      s.input(0).elements() != s.output(0).elements()) {
    s.fail(
        fmt::format("the elements of {} under {}", to_string(s.input(0)), to_string(s.output(0))),
        "a shape of as many elements");
  }
  complete(s, s.output(0));
}

}  // namespace

std::vector<Op> reshape_ops() {
  using enum AttributeType;
  const InputSpec data{"data", "any shape"};
  return {
      {.name = "reshape",
       .doc = "The elements in row-major order under another shape.",
       .inputs = {data},
       .attributes = {{"shape",
                       Tuple,
                       {},
                       "extents; 0 copies that of data, -1 follows from all others, -2 copies all "
                       "that are left, -3 is the product of two, (-4, a, b) splits one into a "
                       "times b, of which one may be -1"}},
       .infer_shape = infer_reshape,
       .infer_type = same_type,
       .pattern = Pattern::Injective,
       .compute = compute_reshape,
       .gradient = reshaped_gradient,
       .is_reshape = true,
       .identity = identity_if_same_shape,
       .inplace = {{0, 0}}},
      {.name = "reshape_like",
       .doc = "The elements of data in row-major order under the shape of shape_like.",
       .inputs = {data, {"shape_like", "of as many elements, and any type"}},
       .infer_shape = infer_reshape_like,
       .infer_type = first_type,
       .pattern = Pattern::Injective,
       .compute = [](const AttributeValues&,
                     Tensors in) { return std::vector{topi::reshape(in[0], in[1].shape())}; },
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             const GradientOf n(node);
             return first_gradient(n, n.shaped_as_input(g[0]));
           },
       .is_reshape = true,
       .identity = identity_if_same_shape,
       .inplace = {{0, 0}}},
  };
}

}  // namespace tw::graph
