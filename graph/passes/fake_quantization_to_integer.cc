// SPDX-License-Identifier: Apache-2.0
// FakeQuantizationToInteger: operators between dequantize and quantize become operators of the
// integers themselves. What stands for floats moves towards the outputs, rule by rule:
//
//   conv2d(dequantize(x), dequantize(w))   →  dequantize(conv2d_integer(x, w), x_scale * w_scale)
//   dense, matmul, batch_matmul            →  the same of matmul_integer
//   max_pool2d(dequantize(x))              →  dequantize(max_pool2d(x)), and what else moves
//   elements quantize(relu(x))                      →  max(quantize(x), zero_point)
//   quantize(dequantize(x))                →  x, where both say the same
//   quantize(dequantize(sums))             →  requantize(sums, scale / quantize's scale)
//   quantize(concatenate(dequantize(x), …))  →  concatenate(quantize(dequantize(x)), …)
//   matmul_integer(x, w), both uint8       →  the same with w as int8: instructions want one sign
//
// Products and their sums are exact, in int32. Scales are not below 0, as ONNX says.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "graph/dtypes.h"
#include "graph/op.h"
#include "graph/ops/common.h"
#include "graph/pass.h"
#include "graph/rewrite.h"

namespace tw::graph {
namespace {

// What a dequantize node reads.
struct Quantized {
  Entry data, scale;
  std::optional<Entry> zero_point = {};
  DType type = {};
  int64_t axis = 0;      // counted from the first dimension
  bool uniform = false;  // one scale for all elements
  bool same_scale(const Quantized& other) const {
    return scale == other.scale && zero_point == other.zero_point && type == other.type;
  }
};

struct Convolution {
  std::string_view floating, integer, layout, kernel_layout;
  size_t spatial;
};
constexpr Convolution kConvolutions[] = {
    {"conv1d", "conv1d_integer", "NCW", "OIW", 1},
    {"conv2d", "conv2d_integer", "NCHW", "OIHW", 2},
    {"conv3d", "conv3d_integer", "NCDHW", "OIDHW", 3},
};

// Operators whose elements are elements of their inputs, the greatest of some or in other places,
// whatever the type.
constexpr std::string_view kMoves[] = {
    "max_pool1d", "max_pool2d", "max_pool3d",  "global_max_pool2d", "reshape",    "flatten",
    "transpose",  "squeeze",    "expand_dims", "strided_slice",     "concatenate"};

bool is_byte(DType type) { return type.is_integer() && type.bits == 8; }

bool is_uniform(const Shape& shape) {
  return shape.known() && (shape.rank() == 0 || (shape.rank() == 1 && shape[0] == 1));
}

AttributeValues values_of(const Node& node) {
  return {node.op->attributes, node.attributes, node.name};
}

class Integers {
 public:
  explicit Integers(const Graph& graph)
      : index_(graph),
        shapes_(list_of<Shape>(graph, "shape", index_.num_entries())),
        types_(list_of<int64_t>(graph, "dtype", index_.num_entries())) {}

  Replacement operator()(size_t id, const NodeRef& node) {
    if (node->is_variable() || node->function) return std::nullopt;
    id_ = id;
    const std::string_view op = node->op->name;
    if (op == "dequantize") learn(node);
    if (op == "quantize") return quantize(node);
    if (op == "dense") return dense(node);
    if (op == "matmul" || op == "batch_matmul") return product(node);
    if (std::ranges::find(kMoves, op) != std::end(kMoves)) return move(node);
    if (op == "matmul_integer" ||
        std::ranges::find(kConvolutions, op, &Convolution::integer) != std::end(kConvolutions)) {
      return integers_with_sign(node);
    }
    const auto* conv = std::ranges::find(kConvolutions, op, &Convolution::floating);
    return conv == std::end(kConvolutions) ? std::nullopt : convolution(node, *conv);
  }

 private:
  // Of an input of the node as it was in the graph.
  size_t entry_of(size_t input) const {
    return index_.entry_id(index_.nodes()[id_]->inputs[input]);
  }
  const Shape& shape(size_t input) const { return shapes_[entry_of(input)]; }
  KnownType type(size_t input) const {
    return type_of_number(static_cast<int>(types_[entry_of(input)]));
  }
  const Quantized* find(const Entry& e) const {
    const auto known = known_.find(e.node.get());
    return known == known_.end() ? nullptr : &known->second;
  }

  void learn(const NodeRef& node) {
    const AttributeValues a = values_of(*node);
    const auto rank = shape(0).has_rank() ? static_cast<int64_t>(shape(0).rank()) : 0;
    if (!shape(0).has_rank() || !shape(1).known() || !type(0) || type(1) != float_type(32) ||
        a.integer("block_size") != 0) {
      return;
    }
    const int64_t axis = a.integer("axis");
    Quantized q{.data = node->inputs[0],
                .scale = node->inputs[1],
                .type = *type(0),
                .axis = axis < 0 ? axis + rank : axis,
                .uniform = is_uniform(shape(1))};
    if (a.flag("use_zero_point")) q.zero_point = node->inputs[2];
    known_[node.get()] = q;
    kept_.push_back(node);
  }

  // A node that stands for floats, in the place of `node`.
  Entry dequantize(const Node& node, Quantized q) {
    std::vector<Entry> inputs{q.data, q.scale};
    if (q.zero_point) inputs.push_back(*q.zero_point);
    const Entry result = make_call(
        "dequantize", node.name + "_dequantize", std::move(inputs),
        {{"axis", fmt::format("{}", q.axis)}, {"use_zero_point", q.zero_point ? "True" : "False"}});
    known_[result.node.get()] = std::move(q);
    kept_.push_back(result.node);
    return result;
  }

  // uint8 as int8, each and the zero point 128 less.
  static Quantized with_sign(const Node& node, Quantized q) {
    if (q.type != uint_type(8)) return q;
    const auto shifted = [&](const Entry& e) {
      const Entry whole = make_call("cast", node.name + "_whole", {e}, {{"dtype", "int32"}});
      const Entry less =
          make_call("__add_scalar__", node.name + "_less", {whole}, {{"scalar", "-128"}});
      return make_call("cast", node.name + "_signed", {less}, {{"dtype", "int8"}});
    };
    q.type = int_type(8);
    q.data = shifted(q.data);
    q.zero_point = q.zero_point
                       ? shifted(*q.zero_point)
                       : make_call("full", node.name + "_zero_point", {},
                                   {{"shape", "(1,)"}, {"fill_value", "-128"}, {"dtype", "int8"}});
    return q;
  }

  // Two factors of bytes, of which one at least has a sign, as instructions want it.
  struct Factors {
    Quantized a, b;
    Entry scale;
  };
  std::optional<Factors> factors_of(const NodeRef& node) const {
    const Quantized *a = find(node->inputs[0]), *b = find(node->inputs[1]);
    if (a == nullptr || b == nullptr || !is_byte(a->type) || !is_byte(b->type) || !a->uniform) {
      return std::nullopt;
    }
    return Factors{*a, a->type == uint_type(8) ? with_sign(*node, *b) : *b,
                   make_call("broadcast_mul", node->name + "_scale", {a->scale, b->scale})};
  }

  // The same of an operator that computes with integers already.
  Replacement integers_with_sign(const NodeRef& node) const {
    if (type(0) != uint_type(8) || type(1) != uint_type(8)) return std::nullopt;
    const bool product = node->op->name == "matmul_integer";
    const AttributeValues a = values_of(*node);
    const char* const flag = product ? "use_rhs_zero_point" : "use_weight_zero_point";
    Quantized b{.data = node->inputs[1], .type = uint_type(8)};
    if (a.flag(flag)) b.zero_point = node->inputs.back();
    b = with_sign(*node, b);
    std::vector<Entry> inputs{node->inputs[0], b.data};
    if (a.flag(product ? "use_lhs_zero_point" : "use_data_zero_point")) {
      inputs.push_back(node->inputs[2]);
    }
    inputs.push_back(*b.zero_point);
    Attributes attributes(node->attributes);
    attributes.set(flag, "True");
    return {{make_call(node->op->name, node->name, std::move(inputs), std::move(attributes))}};
  }

  static std::vector<Entry> inputs_of(const Factors& f) {
    std::vector<Entry> inputs{f.a.data, f.b.data};
    for (const Quantized* q : {&f.a, &f.b}) {
      if (q->zero_point) inputs.push_back(*q->zero_point);
    }
    return inputs;
  }

  // Sums of products along the channels of dimension `axis`, and the bias where there is one; it
  // is integers of the sums' scale where it was quantized, as quantizers do it.
  Replacement floats_of(const NodeRef& node, const Factors& f, Entry sums, int64_t axis,
                        size_t behind) {
    const auto aligned = [&](const Entry& e, std::string_view name) {
      if (behind == 0) return e;
      return make_call("expand_dims", node->name + std::string(name), {e},
                       {{"axis", "1"}, {"num_newaxis", fmt::format("{}", behind)}});
    };
    const bool has_bias = node->inputs.size() > 2;
    const Quantized* bias = has_bias ? find(node->inputs[2]) : nullptr;
    if (bias != nullptr && bias->type == int_type(32)) {
      const Entry whole =
          make_call("quantize", node->name + "_bias", {node->inputs[2], f.scale},
                    {{"out_dtype", "int32"}, {"axis", "0"}, {"use_zero_point", "False"}});
      sums = make_call("broadcast_add", node->name + "_biased",
                       {sums, aligned(whole, "_bias_of_channels")});
    }
    const Entry floats = dequantize(*node, {.data = sums,
                                            .scale = f.scale,
                                            .type = int_type(32),
                                            .axis = axis,
                                            .uniform = f.b.uniform});
    if (!has_bias || (bias != nullptr && bias->type == int_type(32))) return {{floats}};
    return {{make_call("broadcast_add", node->name + "_biased",
                       {floats, aligned(node->inputs[2], "_bias_of_channels")})}};
  }

  Replacement convolution(const NodeRef& node, const Convolution& c) {
    const AttributeValues a = values_of(*node);
    const auto f = factors_of(node);
    if (!f || !(f->b.uniform || f->b.axis == 0) || !a.is_none("out_dtype") ||
        a.text("layout") != c.layout || a.text("kernel_layout") != c.kernel_layout) {
      return std::nullopt;
    }
    Attributes attributes(node->attributes);
    for (const char* name : {"layout", "kernel_layout", "out_dtype", "use_bias"}) {
      attributes.erase(name);
    }
    attributes.set("use_data_zero_point", f->a.zero_point ? "True" : "False");
    attributes.set("use_weight_zero_point", f->b.zero_point ? "True" : "False");
    const Entry sums =
        make_call(c.integer, node->name + "_integer", inputs_of(*f), std::move(attributes));
    return floats_of(node, *f, sums, 1, c.spatial);
  }

  Entry integer_product(const NodeRef& node, const Factors& f, bool transpose_b) const {
    return make_call("matmul_integer", node->name + "_integer", inputs_of(f),
                     {{"transpose_b", transpose_b ? "True" : "False"},
                      {"use_lhs_zero_point", f.a.zero_point ? "True" : "False"},
                      {"use_rhs_zero_point", f.b.zero_point ? "True" : "False"}});
  }

  Replacement dense(const NodeRef& node) {
    const auto f = factors_of(node);
    if (!f || !(f->b.uniform || f->b.axis == 0) || !values_of(*node).is_none("out_dtype") ||
        shape(0).rank() < 2) {
      return std::nullopt;
    }
    const auto last = static_cast<int64_t>(shape(0).rank()) - 1;
    return floats_of(node, *f, integer_product(node, *f, true), last, 0);
  }

  Replacement product(const NodeRef& node) {
    const AttributeValues a = values_of(*node);
    const auto f = factors_of(node);
    if (!f || a.flag("transpose_a") || !a.is_none("out_dtype")) return std::nullopt;
    const size_t left = shape(0).rank(), right = shape(1).rank();
    if (left < 2 || right < 2) return std::nullopt;
    const bool turned = a.flag("transpose_b");
    if (!f->b.uniform && (right != 2 || f->b.axis != (turned ? 0 : 1))) return std::nullopt;
    const auto last = static_cast<int64_t>(std::max(left, right)) - 1;
    return floats_of(node, *f, integer_product(node, *f, turned), last, 0);
  }

  Replacement move(const NodeRef& node) {
    std::vector<Entry> inputs;
    const Quantized* first = find(node->inputs[0]);
    for (const Entry& e : node->inputs) {
      const Quantized* q = find(e);
      if (q == nullptr || !q->uniform || !q->same_scale(*first)) return std::nullopt;
      inputs.push_back(q->data);
    }
    Quantized moved = *first;
    moved.data = make_call(node->op->name, node->name + "_integer", std::move(inputs),
                           Attributes(node->attributes));
    moved.axis = 0;
    return {{dequantize(*node, std::move(moved))}};
  }

  // What quantize makes of floats that are integers times a scale; nothing where it has to divide.
  std::optional<Entry> requantized(const NodeRef& node, const Quantized& q) const {
    const AttributeValues a = values_of(*node);
    const bool has_zero_point = a.flag("use_zero_point");
    const std::optional<Entry> zero_point =
        has_zero_point ? std::optional(node->inputs[2]) : std::nullopt;
    const Quantized wanted{
        .scale = node->inputs[1], .zero_point = zero_point, .type = a.dtype("out_dtype")};
    if (q.uniform && q.same_scale(wanted)) return q.data;
    if (q.type != int_type(32) || q.zero_point || wanted.type.bits > 16) return std::nullopt;
    std::vector<Entry> inputs{
        q.data, make_call("broadcast_div", node->name + "_factor", {q.scale, node->inputs[1]})};
    if (zero_point) inputs.push_back(*zero_point);
    return make_call("requantize", node->name + "_requantize", std::move(inputs),
                     {{"out_dtype", to_string(wanted.type)},
                      {"axis", fmt::format("{}", q.axis)},
                      {"use_zero_point", has_zero_point ? "True" : "False"}});
  }

  // Parts of several scales are brought to that of the whole where they are computed, so that bytes
  // are joined.
  Replacement quantize_parts(const NodeRef& node, const Node& whole) const {
    std::vector<Entry> parts;
    for (const Entry& part : whole.inputs) {
      const Quantized* q = find(part);
      if (q == nullptr) return std::nullopt;
      if (const auto integers = requantized(node, *q)) {
        parts.push_back(*integers);
        continue;
      }
      std::vector<Entry> inputs(node->inputs);
      inputs[0] = part;
      parts.push_back(make_call("quantize", fmt::format("{}_part{}", node->name, parts.size()),
                                std::move(inputs), Attributes(node->attributes)));
    }
    return {{make_call("concatenate", node->name + "_parts", std::move(parts),
                       Attributes(whole.attributes))}};
  }

  Replacement quantize(const NodeRef& node) const {
    const AttributeValues a = values_of(*node);
    if (!is_uniform(shape(1)) || type(1) != float_type(32) || a.integer("block_size") != 0) {
      return std::nullopt;
    }
    const Entry& floats = node->inputs[0];
    if (floats.node->op != nullptr && floats.node->op->name == "concatenate") {
      return quantize_parts(node, *floats.node);
    }
    const bool relu = floats.node->op != nullptr && floats.node->op->name == "relu" &&
                      (shape(1).rank() == 0 || (shape(0).has_rank() && shape(0).rank() > 0));
    const Entry& inner = relu ? floats.node->inputs[0] : floats;
    const Quantized* q = find(inner);
    if (q == nullptr) return std::nullopt;
    const auto result = requantized(node, *q);
    if (!result) return std::nullopt;
    if (!relu) return {{*result}};
    if (!a.flag("use_zero_point")) return {{make_call("relu", node->name + "_relu", {*result})}};
    return {{make_call("broadcast_max", node->name + "_relu", {*result, node->inputs[2]})}};
  }

  const GraphIndex index_;
  const std::vector<Shape>& shapes_;
  const std::vector<int64_t>& types_;
  std::unordered_map<const Node*, Quantized> known_;  // look-ups only
  std::vector<NodeRef> kept_;  // so that no other node has the address of one of these
  size_t id_ = 0;
};

}  // namespace

Graph fake_quantization_to_integer(Graph graph) {
  Integers integers(graph);
  return rewrite(graph, [&](size_t id, const NodeRef& node) { return integers(id, node); });
}

}  // namespace tw::graph
