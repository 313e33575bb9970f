// SPDX-License-Identifier: Apache-2.0
// Maxima of windows with the places where they are, and what puts values to such places.
#include <algorithm>

#include "graph/ops/arithmetic.h"
#include "graph/ops/families.h"
#include "graph/ops/image.h"
#include "graph/ops/pooling.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

using topi::nn::PoolType;

struct Names {
  size_t spatial;
  std::string_view pool, unpool;
};
constexpr Names kNames[] = {{1, "max_pool1d_with_indices", "max_unpool1d"},
                            {2, "max_pool2d_with_indices", "max_unpool2d"},
                            {3, "max_pool3d_with_indices", "max_unpool3d"}};

Op pool_with_indices(const Names& names) {
  const PoolingFamily& f = poolings(names.spatial);
  return {
      .name = names.pool,
      .doc =
          "The greatest of each window, and its place among the pixels of its image, row-major, "
          "int32: of equal ones the first, and -1 for windows without elements.",
      .inputs = {{"data", "images, channels and spatial dimensions in the order of `layout`"}},
      .attributes = pool_windows(f, PoolType::Max),
      .num_outputs = [](const AttributeValues&) { return 2; },
      .infer_shape =
          [&f](ShapeInference& s) {
            s.narrow_output(0, s.output(1));
            infer_pool(s, f);
            s.narrow_output(1, s.output(0));
          },
      .infer_type =
          [](TypeInference& t) {
            t.equate(0, 0);
            t.narrow_output(1, int_type(32));
          },
      .compute =
          [&f](const AttributeValues& a, Tensors in) {
            const topi::nn::Pooling how = pooling_of(a, PoolType::Max);
            const auto pooled = [&](auto pool) {
              return on_images(in[0], a.text("layout"), [&](const te::Tensor& images) {
                return pool(images, f.spatial, how);
              });
            };
            return std::vector{pooled(topi::nn::pool), pooled(topi::nn::pool_places)};
          },
      .gradient =
          [&f](const NodeRef& node, const Entries& g) {
            const GradientOf n(node);
            return Entries{n(f.max_gradient, {g[0], n.input(0)}, Attributes(node->attributes))};
          }};
}

// Data, places, and (n, c, *output_size) agree in all but spatial extents.
void infer_unpool(ShapeInference& s, size_t spatial) {
  const std::vector<int64_t> size = steps_of(s, "output_size", spatial);
  s.narrow_input(0, Shape::of_rank(spatial + 2));
  s.equate_inputs(1, 0);
  Extents out = {s.input(0)[0], s.input(0)[1]};
  out.insert(out.end(), size.begin(), size.end());
  s.narrow_output(0, out);
  Shape data = Shape::of_rank(spatial + 2);
  std::copy_n(s.output(0).extents->begin(), 2, data.extents->begin());
  s.narrow_input(0, data);
}

// One pixel more takes what has no place: -1 is the last one, and so is what lies behind it.
Entries expand_unpool(const NodeRef& node, size_t spatial) {
  const Arithmetic n(node);
  std::vector<int64_t> size = n.attributes().tuple("output_size");
  size.resize(spatial, size[0]);
  int64_t pixels = 1;
  for (int64_t e : size) pixels *= e;
  const Entry values = pixels_in_line(n, n.input(0), spatial),
              places =
                  n("__max_scalar__", {pixels_in_line(n, n.input(1), spatial)}, {{"scalar", "-1"}});
  const Entry zeros = n("pad", {n.slice(values, 2, 0, 0)},
                        {{"pad_width", fmt::format("((0, 0), (0, 0), (0, {}))", pixels + 1)}});
  const Entry placed = n("scatter_elements", {zeros, places, values}, {{"axis", "2"}});
  std::vector<int64_t> shape = {0, 0};
  shape.insert(shape.end(), size.begin(), size.end());
  return {n.reshape(n.slice(placed, 2, 0, pixels), shape)};
}

Op unpool(const Names& names) {
  const size_t spatial = names.spatial;
  return {.name = names.unpool,
          .doc =
              "Zeros (n, c, *output_size) with values at places; of several values at one place "
              "the last one stays.",
          .inputs = {{"data", "(n, c, …), values"},
                     {"indices",
                      "the shape of data, integers: places among the pixels of the "
                      "result, row-major; others than those, such as -1, are none"}},
          .attributes = {output_size()},
          .infer_shape = [spatial](ShapeInference& s) { infer_unpool(s, spatial); },
          .infer_type = first_type,
          .expand = [spatial](const NodeRef& node,
                              std::span<const Shape>) { return expand_unpool(node, spatial); }};
}

}  // namespace

std::vector<Op> pooling_places_ops() {
  std::vector<Op> ops;
  for (const Names& names : kNames) {
    ops.push_back(pool_with_indices(names));
    ops.push_back(unpool(names));
  }
  return ops;
}

}  // namespace tw::graph
