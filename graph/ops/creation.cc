// SPDX-License-Identifier: Apache-2.0
// Operators without inputs: tensors of one value.
#include <algorithm>

#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

// `value` gives the number of a node.
Op filled(std::string_view name, std::string_view doc, double (*value)(const AttributeValues&)) {
  using enum AttributeType;
  return {.name = name,
          .doc = doc,
          .attributes = {{"shape", Tuple, {}, "the extents"},
                         {"dtype", Type, "float32", "the element type"}},
          .infer_shape =
              [](ShapeInference& s) {
                const std::vector<int64_t>& shape = s.attributes().tuple("shape");
                if (std::ranges::any_of(shape, [](int64_t e) { return e < 0; })) {
                  s.fail(fmt::format("a shape of {}", to_string(shape)), "extents of 0 or more");
                }
                s.narrow_output(0, shape);
              },
          .infer_type = [](TypeInference& t) { t.narrow_output(0, t.attributes().dtype("dtype")); },
          .pattern = Pattern::OutEWiseFusable,
          .compute =
              [value](const AttributeValues& a, Tensors) {
                std::vector<Expr> shape;
                for (int64_t e : a.tuple("shape")) shape.emplace_back(static_cast<int>(e));
                const DType type = a.dtype("dtype");
                return std::vector{topi::full(shape, type, constant_of(type, value(a)))};
              }};
}

}  // namespace

std::vector<Op> creation_ops() {
  Op full = filled("full", "A tensor of one value.",
                   [](const AttributeValues& a) { return a.real("fill_value"); });
  full.attributes.push_back({"fill_value", AttributeType::Float, {}, "taken in the element type"});
  return {
      filled("zeros", "A tensor of zeros.", [](const AttributeValues&) { return 0.0; }),
      filled("ones", "A tensor of ones.", [](const AttributeValues&) { return 1.0; }),
      std::move(full),
      // NNVM's, for networks that are not finished.
      {.name = "__undef__",
       .doc = "No value: a place for what is not known yet. It is refused where it is computed."}};
}

}  // namespace tw::graph
