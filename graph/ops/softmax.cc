// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

Op along_an_axis(std::string_view name, std::string_view doc,
                 te::Tensor (*compute)(const te::Tensor&, int),
                 Entry (*gradient)(const GradientOf&, const Entry&, const Attributes& sum)) {
  return {
      .name = name,
      .doc = doc,
      .inputs = {{"data", "any shape, floating"}},
      .attributes = {{"axis", AttributeType::Int, "-1", "the dimension that it is taken along"}},
      .infer_shape = same_shape_along_axis,
      .infer_type = same_type,
      .layout = axis_layout,
      .pattern = Pattern::Opaque,
      .compute =
          [compute](const AttributeValues& a, Tensors in) {
            return std::vector{compute(in[0], static_cast<int>(a.integer("axis")))};
          },
      .gradient =
          [gradient](const NodeRef& node, const Entries& g) {
            const std::string* axis = node->attributes.find("axis");
            const Attributes sum{{"keepdims", "true"}, {"axis", axis ? *axis : "-1"}};
            return Entries{gradient(GradientOf(node), g[0], sum)};
          }};
}

}  // namespace

std::vector<Op> softmax_ops() {
  return {along_an_axis("softmax", "exp(x - max) / sum(exp(x - max))", topi::nn::softmax,
                        [](const GradientOf& n, const Entry& g, const Attributes& sum) {
                          const Entry y = n.output(), gy = n("elemwise_mul", {g, y});
                          const Entry common = n("broadcast_mul", {n("sum", {gy}, sum), y});
                          return n("elemwise_sub", {gy, common});
                        }),
          along_an_axis("log_softmax", "x - max - log(sum(exp(x - max)))", topi::nn::log_softmax,
                        [](const GradientOf& n, const Entry& g, const Attributes& sum) {
                          const Entry share = n("exp", {n.output()});
                          return n("elemwise_sub",
                                   {g, n("broadcast_mul", {n("sum", {g}, sum), share})});
                        })};
}

}  // namespace tw::graph
