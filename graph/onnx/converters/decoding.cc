// SPDX-License-Identifier: Apache-2.0
// What models that decode sequences step by step are made of, beside attention.
#include "graph/onnx/converter.h"

namespace tw::graph::onnx {
namespace {

// A gate times what it lets through.
Values swiglu(Call& c) {
  const Value &gate = c.input(0), &data = c.input(1);
  if (gate.shape() != data.shape()) {
    c.bad("a gate of " + text(gate.shape()) + " for " + text(data.shape()), "the same shape");
  }
  const double alpha = c.real("alpha", 1);
  const Value open =
      alpha == 1
          ? c("silu", {gate})
          : c("elemwise_mul",
              {gate, c("sigmoid", {c("__mul_scalar__", {gate}, {{"scalar", text(alpha)}})})});
  return {c("elemwise_mul", {open, data})};
}

// Rows of a cache that are written anew, from a position on that each of the batch has of its own.
Values tensor_scatter(Call& c) {
  const Value &cache = c.input(0), &update = c.input(1);
  const std::string mode = c.string("mode", "linear");
  if (mode != "linear" && mode != "circular") c.bad("mode '" + mode + "'", "linear, circular");
  const auto axis = static_cast<size_t>(c.axis(c.integer("axis", -2), cache.rank()));
  if (axis == 0) c.bad("an axis of 0", "one behind the batch");
  Extents whole = update.shape(), line(whole.size(), 1), batch(whole.size(), 1), rows;
  if (whole.size() != cache.shape().size() || whole[axis] > cache.extent(axis)) {
    c.bad("an update of " + text(whole) + " of " + text(cache.shape()),
          "the cache's shape, or fewer rows");
  }
  line[axis] = whole[axis];
  batch[0] = whole[0];
  for (int64_t k = 0; k < whole[axis]; ++k) rows.push_back(k);
  Value places = c.constant(array_of(rows, line, int_type(64)));
  if (c.has(2)) places = c("broadcast_add", {c.reshaped(c.input(2), batch), places});
  if (mode == "circular") {
    const Value extent = c.constant(array_of({cache.extent(axis)}, {}, int_type(64)));
    places = c("broadcast_floor_mod", {places, extent});
  }
  return {
      c("scatter_elements", {cache, c.broadcast(places, whole), update}, {{"axis", text(axis)}})};
}

// Each channel of (n, c, length) by a kernel of its own, behind what was read last; and what the
// next call has to know.
Values causal_conv(Call& c) {
  const Value &data = c.input(0), &weight = c.input(1);
  if (data.rank() != 3 || weight.rank() != 3) {
    c.bad("windows of " + text(weight.shape()) + " over " + text(data.shape()),
          "(c, 1, k) and (n, c, length)");
  }
  const std::string activation = c.string("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish") {
    c.bad("activation '" + activation + "'", "none, silu, swish");
  }
  const int64_t kept = weight.extent(2) - 1, length = data.extent(2);
  Value read = data;
  if (c.has(3)) {
    read = c("concatenate", {c.input(3), data}, {{"axis", "2"}});
  } else if (kept > 0) {
    const std::vector<Extents> before = {{0, 0}, {0, 0}, {kept, 0}};
    read = c("pad", {data}, {{"pad_width", text(before)}});
  }
  Values inputs = {read, weight};
  if (c.has(2)) inputs.push_back(c.input(2));
  const Value sums = c("conv1d", inputs,
                       {{"channels", text(data.extent(1))},
                        {"kernel_size", text(Extents{kept + 1})},
                        {"groups", text(data.extent(1))},
                        {"use_bias", text(c.has(2))}});
  const Extents begin = {0, 0, length}, end = {INT32_MAX, INT32_MAX, INT32_MAX};
  Values outputs = {activation == "none" ? sums : c("silu", {sums})};
  if (c.wants(1)) {
    outputs.push_back(c("strided_slice", {read}, {{"begin", text(begin)}, {"end", text(end)}}));
  }
  return outputs;
}

}  // namespace

std::vector<Converter> decoding_converters() {
  return {{"SwiGLU", 28, 2, 2, "alpha:float", swiglu},
          {"TensorScatter", 24, 2, 3, "axis:int mode:string", tensor_scatter},
          {"CausalConvWithState", 27, 2, 4, "activation:string", causal_conv}};
}

}  // namespace tw::graph::onnx
