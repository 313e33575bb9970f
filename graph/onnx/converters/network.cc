// SPDX-License-Identifier: Apache-2.0
// Layers of networks: nonlinearities, normalizations, recurrent layers and losses.
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

// The mean and the inverse deviation that a layer norm divides by, for its gradient.
Values layer_statistics(Call& c, const std::vector<int64_t>& axes) {
  // stash_type: the type of a floating number of ONNX, in which they are.
  const Value x = c.cast(c.input(0), c.dtype("stash_type", 1));
  const Attributes of_groups{{"axis", text(axes)}, {"keepdims", "True"}};
  const Value mean = c("mean", {x}, of_groups), distance = c("broadcast_sub", {x, mean});
  const Value variance = c("mean", {c("elemwise_mul", {distance, distance})}, of_groups);
  const Value shifted =
      c("__add_scalar__", {variance}, {{"scalar", text(c.real("epsilon", 1e-5F))}});
  return {mean, c("__pow_scalar__", {shifted}, {{"scalar", "-0.5"}})};
}

Values layer_norm(Call& c) {
  const Value& x = c.input(0);
  const std::vector<int64_t> axes = from_axis(c, x.rank());
  Values inputs{x, over(c, c.input(1), x, axes.size())};
  if (c.has(2)) inputs.push_back(over(c, c.input(2), x, axes.size()));
  Values outputs{c("layer_norm", inputs,
                   {{"axis", text(axes)},
                    {"epsilon", text(c.real("epsilon", 1e-5F))},
                    {"center", text(c.has(2))}})};
  if (!c.wants(1) && !c.wants(2)) return outputs;
  for (Value& v : layer_statistics(c, axes)) outputs.push_back(v);
  return outputs;
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
      {"LSTM", 1, 3, 8, kLstm, lstm},
      {"LSTM", 14, 3, 8, kLstm14, lstm},
      {"GRU", 1, 3, 6, kGru, gru},
      {"GRU", 14, 3, 6, kGru14, gru},
      {"RNN", 1, 3, 6, kRnn, rnn},
      {"RNN", 14, 3, 6, kRnn14, rnn},
      {"NegativeLogLikelihoodLoss", 12, 2, 3, kLoss, of_loss("nll_loss")},
      {"SoftmaxCrossEntropyLoss", 12, 2, 3, kLoss, of_loss("softmax_cross_entropy")},
  };
}

}  // namespace tw::graph::onnx
