// SPDX-License-Identifier: Apache-2.0
// Layers of networks: nonlinearities, normalizations, attention, recurrent
// layers, quantization and losses.
#include <algorithm>

#include "graph/onnx/converter.h"

namespace tw::graph::onnx {
namespace {

// One node of ours, whose attributes are numbers of ONNX's with the same names
// and these defaults.
Converter with_numbers(std::string_view name, int since, std::string_view attributes,
                       std::string_view op,
                       std::vector<std::pair<std::string_view, double>> defaults) {
  return {name, since, 1, 1, attributes, [op, defaults](Call& c) {
            Attributes texts;
            for (const auto& [attribute, value] : defaults) {
              texts.set(std::string(attribute), text(c.real(attribute, value)));
            }
            return Values{c(op, c.inputs(), texts)};
          }};
}

Values gelu(Call& c) {
  return {c("gelu", c.inputs(), {{"approximate", c.string("approximate", "none")}})};
}

// x * sigmoid(alpha * x)
Values swish(Call& c) {
  const double alpha = c.real("alpha", 1);
  if (alpha == 1) return {c("silu", c.inputs())};
  const Value gate = c("sigmoid", {c("__mul_scalar__", c.inputs(), {{"scalar", text(alpha)}})});
  return {c("elemwise_mul", {c.input(0), gate})};
}

Values hardmax(Call& c) {
  return {
      c("hardmax", c.inputs(), {{"axis", text(c.axis(c.integer("axis", -1), c.input(0).rank()))}})};
}

// Before opset 13 all dimensions from axis on are one.
Values flat_hardmax(Call& c) {
  const Value& x = c.input(0);
  const int64_t axis = c.axis(c.integer("axis", 1), x.rank());
  int64_t rows = 1, columns = 1;
  for (int64_t d = 0; d < x.rank(); ++d)
    (d < axis ? rows : columns) *= x.extent(static_cast<size_t>(d));
  const Value flat = c.reshaped(x, {rows, columns});
  return {c.reshaped(c("hardmax", {flat}, {{"axis", "1"}}), x.shape())};
}

std::vector<int64_t> from_axis(Call& c, int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t d = c.axis(c.integer("axis", -1), rank); d < rank; ++d) axes.push_back(d);
  return axes;
}

// What may broadcast to the extents of the last dimensions, in these.
Value over(Call& c, const Value& value, const Value& data, size_t dimensions) {
  const std::vector<int64_t> shape(data.shape().end() - static_cast<std::ptrdiff_t>(dimensions),
                                   data.shape().end());
  return value.shape() == shape ? value : c.broadcast(value, shape);
}

Values layer_norm(Call& c) {
  if (c.wants(1) || c.wants(2)) c.unsupported("outputs for training");
  const Value& x = c.input(0);
  const std::vector<int64_t> axes = from_axis(c, x.rank());
  Values inputs{x, over(c, c.input(1), x, axes.size())};
  if (c.has(2)) inputs.push_back(over(c, c.input(2), x, axes.size()));
  return {c("layer_norm", inputs,
            {{"axis", text(axes)},
             {"epsilon", text(c.real("epsilon", 1e-5F))},
             {"center", text(c.has(2))}})};
}

Values rms_norm(Call& c) {
  const Value& x = c.input(0);
  const std::vector<int64_t> axes = from_axis(c, x.rank());
  return {c("rms_norm", {x, over(c, c.input(1), x, axes.size())},
            {{"axis", text(axes)}, {"epsilon", text(c.real("epsilon", 1e-5F))}})};
}

Values instance_norm(Call& c) {
  return {c("instance_norm", c.inputs(), {{"epsilon", text(c.real("epsilon", 1e-5F))}})};
}

// Before opset 21 scale and bias are those of groups.
Values group_norm(Call& c) {
  const Value& x = c.input(0);
  const int64_t groups = c.integer("num_groups");
  Values inputs{x};
  for (size_t k = 1; k < 3; ++k) {
    Value v = c.input(k);
    if (c.opset() < 21 && groups > 0 && v.rank() == 1 && x.rank() > 1) {
      v = c.reshaped(c.broadcast(c.reshaped(v, {groups, 1}), {groups, x.extent(1) / groups}),
                     {x.extent(1)});
    }
    inputs.push_back(v);
  }
  return {c("group_norm", inputs,
            {{"num_groups", text(groups)}, {"epsilon", text(c.real("epsilon", 1e-5F))}})};
}

Values lp_normalization(Call& c) {
  return {c("lp_normalize", c.inputs(),
            {{"axis", text(c.integer("axis", -1))}, {"p", text(c.integer("p", 2))}})};
}

Values mean_variance(Call& c) {
  return {c("mean_variance_normalization", c.inputs(),
            {{"axis", text(c.integers("axes", {0, 2, 3}))}})};
}

Values einsum(Call& c) {
  return {c("einsum", c.inputs(), {{"equation", c.string("equation", "")}})};
}

// A scale and zero point for each position along an axis, or one.
Attributes of_scales(Call& c, size_t zero_point) {
  if (c.knows("block_size") && c.integer("block_size", 0) != 0) c.unsupported("blocks of scales");
  return {{"axis", text(c.knows("axis") ? c.integer("axis", 1) : 1)},
          {"use_zero_point", text(c.has(zero_point))}};
}

Values quantize(Call& c) {
  if (c.knows("precision") && c.integer("precision", 0) != 0) c.unsupported("a precision");
  Attributes attributes = of_scales(c, 2);
  DType type = c.has(2) ? c.input(2).dtype() : uint_type(8);
  if (!c.has(2) && c.knows("output_dtype") && c.integer("output_dtype", 0) != 0)
    type = c.dtype("output_dtype");
  if (type.is_float()) c.unsupported("quantized numbers of " + text(type));
  attributes.set("out_dtype", text(type));
  Values inputs = c.inputs();
  const DType scales = c.input(1).dtype();
  inputs[0] = c.cast(inputs[0], scales);
  return {c("quantize", inputs, attributes)};
}

Values dequantize(Call& c) {
  if (c.input(0).dtype().is_float()) c.unsupported("numbers of " + text(c.input(0).dtype()));
  const Value result = c("dequantize", c.inputs(), of_scales(c, 2));
  const bool typed = c.knows("output_dtype") && c.integer("output_dtype", 0) != 0;
  return {typed ? c.cast(result, c.dtype("output_dtype")) : result};
}

Values dynamic_quantize(Call& c) { return c.all("dynamic_quantize", c.inputs()); }

// One number; a vector of the last dimension but one, or of the last.
Value point_of(Call& c, const Value& value, bool rows) {
  if (value.elements() == 1) return c.reshaped(value, {});
  if (value.rank() != 1) return value;
  return rows ? c.reshaped(value, {value.extent(0), 1}) : value;
}

Value integer_product(Call& c, const Value& a, const Value& b, const Value& za, const Value& zb) {
  if (a.rank() < 2 || b.rank() < 2) c.unsupported("products of vectors");
  Values inputs{a, b};
  if (za) inputs.push_back(point_of(c, za, true));
  if (zb) inputs.push_back(point_of(c, zb, false));
  return c("matmul_integer", inputs,
           {{"use_lhs_zero_point", text(static_cast<bool>(za))},
            {"use_rhs_zero_point", text(static_cast<bool>(zb))}});
}

Values matmul_integer(Call& c) {
  return {integer_product(c, c.input(0), c.input(1), c.has(2) ? c.input(2) : Value(),
                          c.has(3) ? c.input(3) : Value())};
}

// a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point
Values qlinear_matmul(Call& c) {
  const Value& scale = c.input(6);
  const Value product = integer_product(c, c.input(0), c.input(3), c.input(2), c.input(5));
  const DType type = float_type(32);
  const Value factor = c("broadcast_mul", {c.cast(point_of(c, c.input(1), true), type),
                                           c.cast(point_of(c, c.input(4), false), type)});
  const Value exact = c("broadcast_mul", {c.cast(product, type), factor});
  return {c("quantize",
            {exact, c.cast(point_of(c, scale, false), type), point_of(c, c.input(7), false)},
            {{"out_dtype", text(c.input(7).dtype())}, {"axis", "-1"}})};
}

// Those of the usual activations alone.
void require_activations(Call& c, const std::vector<std::string>& usual, int64_t directions) {
  if (c.has_attribute("activation_alpha") || c.has_attribute("activation_beta")) {
    c.unsupported("parameters of activations");
  }
  if (!c.has_attribute("activations")) return;
  const std::vector<std::string> given = c.strings("activations");
  for (size_t k = 0; k < given.size(); ++k) {
    std::string name = given[k];
    std::ranges::transform(name, name.begin(), [](unsigned char ch) { return std::tolower(ch); });
    if (name != usual[k % usual.size()]) c.unsupported("activation " + given[k]);
  }
  if (static_cast<int64_t>(given.size()) != directions * static_cast<int64_t>(usual.size())) {
    c.bad(text(given.size()) + " activations",
          text(directions * static_cast<int64_t>(usual.size())));
  }
}

Values recurrent(Call& c, std::string_view op, const std::vector<std::string>& activations,
                 Attributes attributes, const std::vector<std::string_view>& flags) {
  const std::string direction = c.string("direction", "forward");
  require_activations(c, activations, direction == "bidirectional" ? 2 : 1);
  const bool batch_first = c.knows("layout") && c.integer("layout", 0) != 0;
  attributes.set("direction", direction);
  attributes.set("hidden_size", text(c.integer("hidden_size", c.input(2).shape().back())));
  attributes.set("clip", text(c.real("clip", 0)));
  // With the batch first, states have it before directions.
  const auto swapped = [&](const Value& v) { return batch_first ? c.transposed(v, {1, 0, 2}) : v; };
  Values inputs{swapped(c.input(0)), c.input(1), c.input(2)};
  for (size_t k = 0; k < flags.size(); ++k) {
    const bool there = c.has(3 + k);
    attributes.set(std::string(flags[k]), text(there));
    const bool is_state = flags[k].starts_with("use_initial");
    if (there) inputs.push_back(is_state ? swapped(c.input(3 + k)) : c.input(3 + k));
  }
  Values outputs = c.all(op, inputs, attributes);
  if (batch_first) {
    outputs[0] = c.transposed(outputs[0], {2, 0, 1, 3});
    for (size_t k = 1; k < outputs.size(); ++k) outputs[k] = c.transposed(outputs[k], {1, 0, 2});
  }
  return outputs;
}

Values lstm(Call& c) {
  return recurrent(
      c, "lstm", {"sigmoid", "tanh", "tanh"},
      {{"input_forget", text(c.flag("input_forget", false))}},
      {"use_bias", "use_sequence_lens", "use_initial_h", "use_initial_c", "use_peephole"});
}

Values gru(Call& c) {
  return recurrent(c, "gru", {"sigmoid", "tanh"},
                   {{"linear_before_reset", text(c.flag("linear_before_reset", false))}},
                   {"use_bias", "use_sequence_lens", "use_initial_h"});
}

Values rnn(Call& c) {
  std::string activation = "tanh";
  if (c.has_attribute("activations")) {
    activation = c.strings("activations").at(0);
    std::ranges::transform(activation, activation.begin(),
                           [](unsigned char ch) { return std::tolower(ch); });
  }
  if (activation != "tanh" && activation != "relu" && activation != "sigmoid") {
    c.unsupported("activation " + activation);
  }
  return recurrent(c, "rnn", {activation}, {{"activation", activation}},
                   {"use_bias", "use_sequence_lens", "use_initial_h"});
}

Values loss(Call& c, std::string_view op) {
  Values inputs{c.input(0), c.input(1)};
  if (c.has(2)) inputs.push_back(c.input(2));
  // Without the attribute no class is ignored: no label is that small.
  Values outputs{c(op, inputs,
                   {{"reduction", c.string("reduction", "mean")},
                    {"ignore_index", text(c.integer("ignore_index", INT32_MIN))},
                    {"use_weights", text(c.has(2))}})};
  if (c.wants(1)) outputs.push_back(c("log_softmax", {c.input(0)}, {{"axis", "1"}}));
  return outputs;
}

// X (b, h, s, d), or (b, s, h * d) with num_heads; caches (b, s, r / 2), or of
// all positions with position_ids.
Values rotary(Call& c) {
  const Value& x = c.input(0);
  const bool flat = x.rank() == 3;
  Value data = x, cosine = c.input(1), sine = c.input(2);
  if (flat) {
    const int64_t heads = c.integer("num_heads", 0);
    if (heads < 1) c.bad("data of rank 3 without num_heads", "num_heads");
    data = c.transposed(c.reshaped(x, {x.extent(0), x.extent(1), heads, x.extent(2) / heads}),
                        {0, 2, 1, 3});
  }
  if (c.has(3)) {
    const auto taken = [&](const Value& cache) {
      return c("take", {cache, c.cast(c.input(3), int_type(32))}, {{"axis", "0"}});
    };
    cosine = taken(cosine);
    sine = taken(sine);
  }
  const Value turned = c("rotary_embedding", {data, cosine, sine},
                         {{"interleaved", text(c.flag("interleaved", false))},
                          {"rotary_dim", text(c.integer("rotary_embedding_dim", 0))}});
  if (!flat) return {turned};
  return {c.reshaped(c.transposed(turned, {0, 2, 1, 3}), x.shape())};
}

// Q, K, V (b, heads, s, d), or (b, s, heads * d); then a mask and the keys and
// values of before.
Values attention(Call& c) {
  const bool flat = c.input(0).rank() == 3;
  for (std::string_view window : {"left_window_size", "right_window_size"}) {
    if (c.knows(window) && c.integer(window, -1) >= 0) c.unsupported("a sliding window");
  }
  if (c.has(6)) c.unsupported("nonpad_kv_seqlen");
  if (c.wants(3)) c.unsupported("the output qk_matmul_output");
  const auto heads = [&](size_t k, std::string_view count) {
    const Value& x = c.input(k);
    if (!flat) return x;
    const int64_t n = c.integer(count);
    if (n < 1 || x.extent(2) % n != 0)
      c.bad(text(n) + " heads of " + text(x.shape()), "a divisor of the last extent");
    return c.transposed(c.reshaped(x, {x.extent(0), x.extent(1), n, x.extent(2) / n}),
                        {0, 2, 1, 3});
  };
  const Value query = heads(0, "q_num_heads");
  Value key = heads(1, "kv_num_heads"), value = heads(2, "kv_num_heads");
  int64_t before = 0;
  if (c.has(4) && c.has(5)) {
    before = c.input(4).extent(2);
    key = c("concatenate", {c.input(4), key}, {{"axis", "2"}});
    value = c("concatenate", {c.input(5), value}, {{"axis", "2"}});
  }
  Values inputs{query, key, value};
  if (c.has(3)) {
    Value mask = c.input(3);
    if (mask.shape().back() != key.extent(2) && mask.shape().back() != 1)
      c.unsupported("a mask of fewer keys");
    inputs.push_back(mask.dtype().is_bool() ? mask : c.cast(mask, query.dtype()));
  }
  Value result = c("scaled_dot_product_attention", inputs,
                   {{"scale", text(c.real("scale", 0))},
                    {"softcap", text(c.real("softcap", 0))},
                    {"is_causal", text(c.flag("is_causal", false))},
                    {"causal_offset", text(before)},
                    {"use_mask", text(c.has(3))}});
  if (flat) {
    const Value turned = c.transposed(result, {0, 2, 1, 3});
    result = c.reshaped(turned,
                        {turned.extent(0), turned.extent(1), turned.extent(2) * turned.extent(3)});
  }
  return {result, key, value};
}

}  // namespace

std::vector<Converter> network_converters() {
  const auto of_loss = [](std::string_view op) { return [op](Call& c) { return loss(c, op); }; };
  constexpr std::string_view kNorm = "axis:int epsilon:float stash_type:int";
  constexpr std::string_view kLoss = "ignore_index:int reduction:string";
  constexpr std::string_view kLstm =
      "activation_alpha:floats activation_beta:floats activations:strings "
      "clip:float "
      "direction:string hidden_size:int input_forget:int";
  constexpr std::string_view kGru =
      "activation_alpha:floats activation_beta:floats activations:strings "
      "clip:float "
      "direction:string hidden_size:int linear_before_reset:int";
  constexpr std::string_view kRnn =
      "activation_alpha:floats activation_beta:floats activations:strings "
      "clip:float "
      "direction:string hidden_size:int";
  constexpr std::string_view kLstm14 =
      "activation_alpha:floats activation_beta:floats activations:strings "
      "clip:float "
      "direction:string hidden_size:int input_forget:int layout:int";
  constexpr std::string_view kGru14 =
      "activation_alpha:floats activation_beta:floats activations:strings "
      "clip:float "
      "direction:string hidden_size:int layout:int linear_before_reset:int";
  constexpr std::string_view kRnn14 =
      "activation_alpha:floats activation_beta:floats activations:strings "
      "clip:float "
      "direction:string hidden_size:int layout:int";
  return {
      with_numbers("Elu", 1, "alpha:float", "elu", {{"alpha", 1}}),
      with_numbers("Selu", 1, "alpha:float gamma:float", "selu",
                   {{"alpha", 1.67326319217681884765625}, {"gamma", 1.05070102214813232421875}}),
      with_numbers("Celu", 12, "alpha:float", "celu", {{"alpha", 1}}),
      with_numbers("ThresholdedRelu", 10, "alpha:float", "thresholded_relu", {{"alpha", 1}}),
      with_numbers("Shrink", 9, "bias:float lambd:float", "shrink", {{"bias", 0}, {"lambd", 0.5}}),
      with_numbers("HardSigmoid", 1, "alpha:float beta:float", "hard_sigmoid",
                   {{"alpha", 0.2F}, {"beta", 0.5}}),
      {"Gelu", 20, 1, 1, "approximate:string", gelu},
      {"HardSwish", 14, 1, 1, "", same("hard_swish")},
      {"Mish", 18, 1, 1, "", same("mish")},
      {"Softplus", 1, 1, 1, "", same("softplus")},
      {"Softsign", 1, 1, 1, "", same("softsign")},
      {"Swish", 24, 1, 1, "alpha:float", swish},
      {"Hardmax", 1, 1, 1, "axis:int", flat_hardmax},
      {"Hardmax", 13, 1, 1, "axis:int", hardmax},
      {"LayerNormalization", 17, 2, 3, kNorm, layer_norm},
      {"RMSNormalization", 23, 2, 2, kNorm, rms_norm},
      {"InstanceNormalization", 1, 3, 3, "epsilon:float", instance_norm},
      {"GroupNormalization", 18, 3, 3, "epsilon:float num_groups:int", group_norm},
      {"GroupNormalization", 21, 3, 3, "epsilon:float num_groups:int stash_type:int", group_norm},
      {"LpNormalization", 1, 1, 1, "axis:int p:int", lp_normalization},
      {"MeanVarianceNormalization", 9, 1, 1, "axes:ints", mean_variance},
      {"Einsum", 12, 1, kAny, "equation:string", einsum},
      {"QuantizeLinear", 10, 2, 3, "", quantize},
      {"QuantizeLinear", 13, 2, 3, "axis:int", quantize},
      {"QuantizeLinear", 19, 2, 3, "axis:int saturate:int", quantize},
      {"QuantizeLinear", 21, 2, 3, "axis:int block_size:int output_dtype:int saturate:int",
       quantize},
      {"QuantizeLinear", 23, 2, 3,
       "axis:int block_size:int output_dtype:int precision:int saturate:int", quantize},
      {"DequantizeLinear", 10, 2, 3, "", dequantize},
      {"DequantizeLinear", 13, 2, 3, "axis:int", dequantize},
      {"DequantizeLinear", 21, 2, 3, "axis:int block_size:int", dequantize},
      {"DequantizeLinear", 23, 2, 3, "axis:int block_size:int output_dtype:int", dequantize},
      {"DynamicQuantizeLinear", 11, 1, 1, "", dynamic_quantize},
      {"MatMulInteger", 10, 2, 4, "", matmul_integer},
      {"QLinearMatMul", 10, 8, 8, "", qlinear_matmul},
      {"LSTM", 1, 3, 8, kLstm, lstm},
      {"LSTM", 14, 3, 8, kLstm14, lstm},
      {"GRU", 1, 3, 6, kGru, gru},
      {"GRU", 14, 3, 6, kGru14, gru},
      {"RNN", 1, 3, 6, kRnn, rnn},
      {"RNN", 14, 3, 6, kRnn14, rnn},
      {"NegativeLogLikelihoodLoss", 12, 2, 3, kLoss, of_loss("nll_loss")},
      {"SoftmaxCrossEntropyLoss", 12, 2, 3, kLoss, of_loss("softmax_cross_entropy")},
      {"Attention", 23, 3, 6,
       "is_causal:int kv_num_heads:int q_num_heads:int "
       "qk_matmul_output_mode:int scale:float "
       "softcap:float softmax_precision:int",
       attention},
      {"Attention", 24, 3, 7,
       "is_causal:int kv_num_heads:int q_num_heads:int "
       "qk_matmul_output_mode:int scale:float "
       "softcap:float softmax_precision:int",
       attention},
      {"Attention", 25, 3, 7,
       "is_causal:int kv_num_heads:int left_window_size:int q_num_heads:int "
       "qk_matmul_output_mode:int right_window_size:int scale:float "
       "softcap:float "
       "softmax_precision:int",
       attention},
      {"RotaryEmbedding", 23, 3, 4, "interleaved:int num_heads:int rotary_embedding_dim:int",
       rotary},
  };
}

}  // namespace tw::graph::onnx
