// SPDX-License-Identifier: Apache-2.0
// What the code generators of this folder compute of an operator. Their pattern tables ask before
// anything goes to them, and their builders before they build, so that neither takes what the other
// does not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/codegen.h"

namespace tw::vendor {

struct Fact {
  std::string_view op;  // empty: of all operators
  bool (*holds)(const Region&, const Composite&, const Step&);
  const char* wants;
};

// Why not all of these facts hold; empty: they do.
inline std::string refusal(std::span<const Fact> facts, const Region& region, const Composite& c) {
  for (const Step& s : c.steps) {
    for (const Fact& f : facts) {
      if ((f.op.empty() || f.op == s.op) && !f.holds(region, c, s))
        return s.op + " '" + s.node + "' is not of " + f.wants;
    }
  }
  return "";
}

inline void require(std::span<const Fact> facts, const Region& region) {
  for (const Composite& c : region.composites) {
    const std::string why = refusal(facts, region, c);
    if (!why.empty()) throw std::runtime_error(why);
  }
}

namespace facts {

inline constexpr size_t kNone = ~size_t{0};

inline const std::vector<int64_t>& shape(const Region& r, size_t v) { return r.values[v].shape; }
inline size_t rank(const Region& r, size_t v) { return shape(r, v).size(); }

template <class Holds>
bool of_all_values(const Region& r, const Step& s, Holds holds) {
  const auto of = [&](size_t v) { return holds(r.values[v]); };
  return std::ranges::all_of(s.inputs, of) && std::ranges::all_of(s.outputs, of);
}
inline bool float32(const Region& r, const Composite&, const Step& s) {
  return of_all_values(r, s, [](const Value& v) { return v.dtype == "float32"; });
}
inline bool elements(const Region& r, const Composite&, const Step& s) {
  return of_all_values(r, s, [](const Value& v) { return v.elements() > 0; });
}

// Whether one of the composite's own steps gives the value.
inline bool is_inside(const Composite& c, size_t value) {
  return std::ranges::any_of(c.steps, [&](const Step& s) {
    return std::ranges::find(s.outputs, value) != s.outputs.end();
  });
}

inline bool images(const Region&, const Composite&, const Step& s) {
  return s.text("layout") == "NCHW";
}
inline bool images_and_weights(const Region&, const Composite&, const Step& s) {
  return s.text("layout") == "NCHW" && s.text("kernel_layout") == "OIHW";
}
inline bool matrices(const Region& r, const Composite&, const Step& s) {
  return rank(r, s.inputs[0]) == 2 && rank(r, s.inputs[1]) == 2;
}

// ---- of oneDNN

inline bool few_dimensions(const Region& r, const Composite&, const Step& s) {
  return of_all_values(r, s, [](const Value& v) { return v.shape.size() <= 12; });
}
inline bool matrices_and_batches(const Region& r, const Composite&, const Step& s) {
  return rank(r, s.inputs[0]) >= 2 && rank(r, s.inputs[1]) >= 2;
}
inline bool channels(const Region& r, const Composite&, const Step& s) {
  const auto n = static_cast<int64_t>(rank(r, s.inputs[0]));
  const int64_t axis = s.integer("axis");
  return n >= 2 && n <= 5 && (axis < 0 ? axis + n : axis) == 1;
}
// Of a normalization nobody reads the statistics.
inline bool first_output(const Region& r, const Composite&, const Step& s) {
  return std::all_of(s.outputs.begin() + 1, s.outputs.end(), [&](size_t v) {
    const auto has = [v](const std::vector<size_t>& list) {
      return std::ranges::find(list, v) != list.end();
    };
    return !has(r.outputs) && std::ranges::none_of(r.composites, [&](const Composite& c) {
      return std::ranges::any_of(c.steps, [&](const Step& other) { return has(other.inputs); });
    });
  });
}
// Behind a convolution it goes into the weights.
inline bool constants(const Region& r, const Composite& c, const Step& s) {
  const Step& first = c.steps.front();
  const auto are_constant = [&](const std::vector<size_t>& inputs) {
    return std::all_of(inputs.begin() + 1, inputs.end(),
                       [&](size_t v) { return r.values[v].constant != nullptr; });
  };
  return first.op != "conv2d" || (are_constant(first.inputs) && are_constant(s.inputs));
}
// Behind a normalization there is no other activation.
inline bool relu_behind(const Region&, const Composite& c, const Step&) {
  return c.steps.front().op != "batch_norm" || c.steps.back().op != "clip";
}
inline bool interval(const Region&, const Composite&, const Step& s) {
  return s.real("a_min") <= s.real("a_max");
}
// A layer norm's own additions are of vectors.
inline bool residual(const Region& r, const Composite& c, const Step& s) {
  if (c.steps.front().op == "mean") return true;
  const size_t a = s.inputs[0], b = s.inputs[1];
  return shape(r, a) == shape(r, b) && (c.steps.size() == 1 || is_inside(c, a) != is_inside(c, b));
}
// Windows without gaps, of which those that begin behind the image count too where others do; the
// mean over padding is of windows that lie within it.
inline bool windows(const Region&, const Composite&, const Step& s) {
  const bool gaps = std::ranges::any_of(s.tuple("dilation"), [](int64_t d) { return d != 1; });
  const bool ceil = s.flag("ceil_mode");
  if (s.text("layout") != "NCHW" || gaps || (ceil && s.text("ceil_rule") != "tvm")) return false;
  return s.op != "avg_pool2d" || !ceil || !s.flag("count_include_pad");
}

// (x - mean) / sqrt(mean of its square + epsilon) over the last dimension, with a scale and a shift
// where they follow.
struct LayerNorm {
  size_t x, out;
  double epsilon = 0;
  std::vector<size_t> vectors = {};  // scale, shift
};
inline std::optional<LayerNorm> layer_norm_of(const Region& r, const Composite& c) {
  LayerNorm norm{.x = c.steps.front().inputs[0], .out = c.steps.back().outputs[0]};
  const auto last = static_cast<int64_t>(rank(r, norm.x)) - 1;
  if (last < 0) return std::nullopt;
  const int64_t extent = shape(r, norm.x).back();
  size_t normal = kNone;  // value, once it is divided
  for (const Step& s : c.steps) {
    if (s.op == "mean") {
      const auto& axis = s.tuple("axis");
      const bool of_last = axis.size() == 1 && (axis[0] == last || axis[0] == -1);
      if (!of_last || !s.flag("keepdims") || s.flag("exclude")) return std::nullopt;
    } else if (s.op == "__add_scalar__") {
      norm.epsilon = s.real("scalar");
    } else if (s.op.ends_with("_div")) {
      normal = s.outputs[0];
    } else if (std::ranges::find(s.inputs, normal) != s.inputs.end()) {
      const size_t v = s.inputs[s.inputs[0] == normal ? 1 : 0];
      const bool is_vector =
          rank(r, v) > 0 && shape(r, v).back() == extent && r.values[v].elements() == extent;
      if (is_inside(c, v) || !is_vector) return std::nullopt;
      norm.vectors.push_back(v);
      normal = s.outputs[0];
    }
  }
  const bool whole = c.steps.size() == 7 + norm.vectors.size() && norm.vectors.size() <= 2;
  return whole ? std::optional(norm) : std::nullopt;
}
inline bool last_dimension(const Region& r, const Composite& c, const Step&) {
  return layer_norm_of(r, c).has_value();
}

}  // namespace facts

inline constexpr const char *kFloats = "float32", *kNotEmpty = "tensors that have elements",
                            *kPlainImages = "images in NCHW and weights in OIHW";

inline constexpr Fact kOpenblasFacts[] = {
    {"", facts::float32, kFloats},
    {"", facts::elements, kNotEmpty},
    {"matmul", facts::matrices, "matrices"},
};

inline constexpr Fact kCSourceFacts[] = {
    {"", facts::float32, kFloats},
    {"conv2d", facts::images_and_weights, kPlainImages},
};

inline constexpr Fact kOneDnnFacts[] = {
    {"", facts::float32, kFloats},
    {"", facts::elements, kNotEmpty},
    {"", facts::few_dimensions, "at most 12 dimensions"},
    {"conv2d", facts::images_and_weights, kPlainImages},
    {"matmul", facts::matrices_and_batches, "matrices, or batches of them"},
    {"batch_norm", facts::channels, "2 to 5 dimensions with channels in the second"},
    {"batch_norm", facts::first_output, "one output that is read"},
    {"batch_norm", facts::constants, "constants, behind a convolution of constant weights"},
    {"batch_norm", facts::relu_behind, "a relu behind it, where anything is"},
    {"elemwise_add", facts::residual, "two values of one shape, of which one is a residual"},
    {"broadcast_add", facts::residual, "two values of one shape, of which one is a residual"},
    {"clip", facts::interval, "an interval"},
    {"max_pool2d", facts::windows, "windows of NCHW that oneDNN has"},
    {"avg_pool2d", facts::windows, "windows of NCHW that oneDNN has"},
    {"global_max_pool2d", facts::images, "images in NCHW"},
    {"global_avg_pool2d", facts::images, "images in NCHW"},
    {"mean", facts::last_dimension, "a layer norm over the last dimension"},
};

}  // namespace tw::vendor
