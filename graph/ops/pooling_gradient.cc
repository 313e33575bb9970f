// SPDX-License-Identifier: Apache-2.0
// Gradients of poolings. Each is linear in its first input: that of a mean spreads it over windows,
// that of a maximum puts it where the maximum was, and what selects it there is its transpose.
#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "graph/ops/image.h"
#include "graph/ops/pooling.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

using topi::nn::Pooling;
using topi::nn::PoolType;
using topi::nn::Rounding;

constexpr std::string_view kSelect = "_max_pool2d_select";

Pooling pooling_of(const AttributeValues& a, const te::Tensor& images, PoolType type) {
  Pooling pooling{.kernel = a.tuple("pool_size"),
                  .stride = a.tuple("strides"),
                  .padding = topi::Padding(a.tuple("padding")),
                  .type = type,
                  .rounding = a.flag("ceil_mode") ? Rounding::Up : Rounding::Down};
  if (type == PoolType::Average) pooling.count_include_pad = a.flag("count_include_pad");
  if (pooling.kernel.empty()) {
    const Shape shape = shape_of(images);
    pooling.kernel = pooling.stride = {shape[2], shape[3]};
  }
  return pooling;
}

// The means of windows, as they were pooled.
Entry pooled(const GradientOf& n, const NodeRef& node, const Entry& data) {
  const AttributeValues a = n.attributes();
  if (a.tuple("pool_size").empty()) {
    return n("global_avg_pool2d", {data}, {{"layout", a.text("layout")}});
  }
  return n("avg_pool2d", {data}, Attributes(node->attributes));
}

using Compute = te::Tensor (*)(const te::Tensor&, const te::Tensor&, const Pooling&);

// Input 1 is what was pooled; a pool_size of () means one window over each image.
Op with_data(std::string_view name, std::string_view doc, InputSpec first, PoolType type,
             Compute compute) {
  std::vector<AttributeSpec> attributes = window_attributes(type);
  attributes[0].initial = "()";
  return {.name = name,
          .doc = doc,
          .inputs = {first, {"data", "what was pooled"}},
          .attributes = std::move(attributes),
          .infer_type = same_type,
          .layout = natural_layouts,
          .pattern = Pattern::Opaque,
          .compute = [type, compute](const AttributeValues& a, Tensors in) {
            const std::string& layout = a.text("layout");
            const auto images_of = [&](const te::Tensor& tensor) {
              te::Tensor images;
              on_images(tensor, layout, [&](const te::Tensor& t) { return images = t; });
              return images;
            };
            const te::Tensor data = images_of(in[1]);
            return std::vector{on_images(in[0], layout, [&](const te::Tensor& first) {
              return compute(first, data, pooling_of(a, data, type));
            })};
          }};
}

Op gradient_op(PoolType type) {
  Op op = with_data(pool_gradient_of(type), "The gradient of what was pooled.",
                    {"grad", "the gradient of the output"}, type, topi::nn::pool_grad);
  op.infer_shape = second_shape;
  op.gradient = [type](const NodeRef& node, const Entries& g) {
    const GradientOf n(node);
    const Entry of_grad = type == PoolType::Average
                              ? pooled(n, node, g[0])
                              : n(kSelect, {g[0], n.input(1)}, Attributes(node->attributes));
    return first_gradient(n, of_grad);
  };
  return op;
}

Op select_op() {
  Op op = with_data(kSelect, "The element where each window of data has its greatest.",
                    {"values", "the shape of data"}, PoolType::Max, topi::nn::pool_select);
  op.infer_shape = [](ShapeInference& s) {
    infer_pool(s);
    s.narrow_input(0, s.input(1));
    s.narrow_input(1, s.input(0));
  };
  op.gradient = [](const NodeRef& node, const Entries& g) {
    const GradientOf n(node);
    return Entries{
        n(pool_gradient_of(PoolType::Max), {g[0], n.input(1)}, Attributes(node->attributes)),
        n.zeros(1)};
  };
  return op;
}

}  // namespace

std::vector<Op> pooling_gradient_ops() {
  return {gradient_op(PoolType::Max), gradient_op(PoolType::Average), select_op()};
}

}  // namespace tw::graph
