// SPDX-License-Identifier: Apache-2.0
// Gradients of poolings. Each is linear in its first input: that of a mean or a sum spreads it over
// windows, that of a maximum puts it where the maximum was, and what selects it there is its
// transpose.
#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "graph/ops/image.h"
#include "graph/ops/pooling.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

using topi::nn::Pooling;
using topi::nn::PoolType;
using Family = PoolingFamily;

// Windows slide, or there are output_size of them, or one.
Pooling any_pooling_of(const AttributeValues& a, PoolType type) {
  Pooling p = pooling_of(a, type);
  if (!p.kernel.empty()) return p;
  p.output_size = a.tuple("output_size");
  if (p.output_size.empty()) p.output_size = {1};
  return p;
}

// The means, or sums, of windows, as they were pooled.
Entry pooled(const Family& f, PoolType type, const GradientOf& n, const NodeRef& node,
             const Entry& data) {
  const AttributeValues a = n.attributes();
  const std::string layout = a.text("layout");
  if (!a.tuple("pool_size").empty()) {
    return n(f.sliding(type), {data}, Attributes(node->attributes));
  }
  if (a.tuple("output_size").empty()) return n(f.global_average, {data}, {{"layout", layout}});
  return n(f.adaptive_average, {data},
           {{"output_size", tuple_text(a.tuple("output_size"))}, {"layout", layout}});
}

using Compute = te::Tensor (*)(const te::Tensor&, const te::Tensor&, size_t, const Pooling&);

// Input 1 is what was pooled.
Op with_data(const Family& f, std::string_view name, std::string_view doc, InputSpec first,
             PoolType type, Compute compute) {
  std::vector<AttributeSpec> attributes = pool_windows(f, type);
  attributes[0].initial = "()";
  attributes.push_back(output_size());
  attributes.back().initial = "()";
  return {.name = name,
          .doc = doc,
          .inputs = {first, {"data", "what was pooled"}},
          .attributes = std::move(attributes),
          .infer_type = same_type,
          .pattern = Pattern::Opaque,
          .compute = [&f, type, compute](const AttributeValues& a, Tensors in) {
            const std::string& layout = a.text("layout");
            const auto images_of = [&](const te::Tensor& tensor) {
              te::Tensor images;
              on_images(tensor, layout, [&](const te::Tensor& t) { return images = t; });
              return images;
            };
            const te::Tensor data = images_of(in[1]);
            return std::vector{on_images(in[0], layout, [&](const te::Tensor& first) {
              return compute(first, data, f.spatial, any_pooling_of(a, type));
            })};
          }};
}

Op gradient_op(const Family& f, PoolType type) {
  Op op = with_data(f, f.gradient(type), "The gradient of what was pooled.",
                    {"grad", "the gradient of the output"}, type, topi::nn::pool_grad);
  op.infer_shape = second_shape;
  op.gradient = [&f, type](const NodeRef& node, const Entries& g) {
    const GradientOf n(node);
    const Entry of_grad = type == PoolType::Max
                              ? n(f.select, {g[0], n.input(1)}, Attributes(node->attributes))
                              : pooled(f, type, n, node, g[0]);
    return first_gradient(n, of_grad);
  };
  return op;
}

Op select_op(const Family& f) {
  Op op = with_data(f, f.select, "The element where each window of data has its greatest.",
                    {"values", "the shape of data"}, PoolType::Max, topi::nn::pool_select);
  op.infer_shape = [&f](ShapeInference& s) {
    infer_pool(s, f, 1);
    s.equate_inputs(0, 1);
  };
  op.gradient = [&f](const NodeRef& node, const Entries& g) {
    const GradientOf n(node);
    return Entries{n(f.max_gradient, {g[0], n.input(1)}, Attributes(node->attributes)), n.zeros(1)};
  };
  return op;
}

}  // namespace

std::vector<Op> pooling_gradient_ops() {
  std::vector<Op> ops;
  for (size_t spatial : {1, 2, 3}) {
    const Family& f = poolings(spatial);
    for (PoolType type : {PoolType::Max, PoolType::Average, PoolType::Sum}) {
      ops.push_back(gradient_op(f, type));
    }
    ops.push_back(select_op(f));
  }
  return ops;
}

}  // namespace tw::graph
