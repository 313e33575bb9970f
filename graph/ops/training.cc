// SPDX-License-Identifier: Apache-2.0
// What training needs beside gradients: losses, and random numbers.
#include "graph/ops/arithmetic.h"
#include "graph/ops/families.h"
#include "ir/expr.h"
#include "schedule/topi/common.h"

namespace tw::graph {
namespace {

constexpr AttributeSpec kSeed{"seed", AttributeType::Int, "0",
                              "numbers are the same for the same seed and shape"};

// Philox 2x32 with ten rounds (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3"): the
// counter is an element's position and the upper half of the seed, the key its lower half.
Expr philox(const Expr& position, int64_t seed) {
  const DType word = uint_type(32), pair = uint_type(64);
  const auto number = [&](DType type, uint64_t v) {
    return make_const(type, static_cast<int64_t>(v));
  };
  const auto bits_of = static_cast<uint64_t>(seed);
  auto key = static_cast<uint32_t>(bits_of);
  Expr left = tw::cast(word, position), right = number(word, bits_of >> 32);
  for (int round = 0; round < 10; ++round) {
    const Expr product = tw::cast(pair, left) * number(pair, 0xD256D193U);
    const Expr high = tw::cast(word, call("shift_right", {product, number(pair, 32)}));
    const Expr mixed = call("bitwise_xor", {call("bitwise_xor", {high, right}), number(word, key)});
    right = left * number(word, 0xD256D193U);
    left = mixed;
    key += 0x9E3779B9U;
  }
  return left;
}

// 24 bits of it, the digits of a float, in [0, 1).
std::vector<te::Tensor> compute_random(const AttributeValues& a, Tensors in) {
  const DType type = float_type(32), word = uint_type(32);
  const std::vector<Expr> shape = in[0].shape();
  return {te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        Expr position = 0;
        for (size_t d = 0; d < shape.size(); ++d) position = position * shape[d] + i[d];
        const Expr bits =
            call("shift_right", {philox(position, a.integer("seed")), make_const(word, 8)});
        return tw::cast(type, bits) * make_const_float(type, 1.0 / (1 << 24));
      },
      "T_random", topi::kElementwise)};
}

// Kept elements are larger by as much as others are dropped.
Entries expand_dropout(const NodeRef& node, std::span<const Shape>) {
  const Arithmetic n(node);
  const AttributeValues a = n.attributes();
  const double rate = a.real("rate");
  const Entry& x = n.input(0);
  const Entry uniform =
      n("random_uniform_like", {x}, {{"seed", fmt::format("{}", a.integer("seed"))}});
  // Not below the rate, so that a rate of 0 keeps all and one of 1 none.
  const Entry kept = n("cast_like", {n.rsub(1, n.below(uniform, rate)), x});
  const double factor = rate < 1 ? 1 / (1 - rate) : 0;
  return {n.mul(n.mul(x, kept), factor), kept};
}

void infer_dropout(ShapeInference& s) {
  same_shape(s);
  const double rate = s.attributes().real("rate");
  if (!(rate >= 0 && rate <= 1)) s.fail(fmt::format("rate is {}", rate), "from 0 to 1");
}

// 1 where the class of an element is that position along dimension 1, else 0.
std::vector<te::Tensor> compute_classes(const AttributeValues& a, Tensors in) {
  const te::Tensor& labels = in[0];
  const DType type = labels.dtype();
  return {te::compute(
      in[1].shape(),
      [&](const std::vector<Var>& i) {
        std::vector<Expr> position = topi::to_exprs(i);
        position.erase(position.begin() + 1);
        const Expr label = labels(position);
        const Expr is = label == tw::cast(type, i[1]);
        const Expr ignored =
            label == saturating_cast(type, make_const(int_type(64), a.integer("ignore_index")));
        return tw::cast(in[1].dtype(), is && !ignored);
      },
      "T_classes", topi::kBroadcast)};
}

// (n, c, …) without its classes.
Shape without_classes(const Shape& shape) {
  if (!shape.has_rank() || shape.rank() < 2) return {};
  std::vector<int64_t> extents = *shape.extents;
  extents.erase(extents.begin() + 1);
  return extents;
}

void infer_classes(ShapeInference& s) {
  second_shape(s);
  if (s.input(1).has_rank() && s.input(1).rank() < 2) {
    s.fail(fmt::format("shape {}", to_string(s.input(1))), "(n, c, …)");
  }
  s.narrow_input(0, without_classes(s.input(1)));
}

void infer_loss(ShapeInference& s) {
  const std::string& reduction = s.attributes().text("reduction");
  if (reduction != "mean" && reduction != "sum" && reduction != "none") {
    s.fail(fmt::format("reduction '{}'", reduction), "mean, sum or none");
  }
  const Shape& data = s.input(0);
  if (data.has_rank() && data.rank() < 2)
    s.fail(fmt::format("shape {}", to_string(data)), "(n, c, …)");
  s.narrow_input(1, without_classes(data));
  if (s.input(1).has_rank() && s.input(1).rank() > 0) {
    std::vector<int64_t> all = *s.input(1).extents;
    all.insert(all.begin() + 1, kUnknown);
    s.narrow_input(0, all);
  }
  if (s.num_inputs() > 2) {
    s.narrow_input(2, Shape({extent(s.input(0), 1)}));
    if (s.input(0).has_rank()) {
      Shape known = Shape::of_rank(s.input(0).rank());
      (*known.extents)[1] = s.input(2)[0];
      s.narrow_input(0, known);
    }
  }
  s.narrow_output(0, reduction == "none" ? s.input(1) : Shape(std::vector<int64_t>{}));
}

void infer_loss_type(TypeInference& t) {
  t.equate(0, 0);
  if (t.num_inputs() > 2) {
    t.equate_inputs(0, 2);
  }
}

// Each element's class is a mask over classes: what is read there once more is a sum over it, which
// has a gradient as any other.
Entries expand_nll_loss(const NodeRef& node, std::span<const Shape> shapes) {
  const Arithmetic n(node);
  const AttributeValues a = n.attributes();
  const size_t rank = n.ranked(shapes, 0).rank();
  Entry weights = n("_classes", {n.input(1), n.input(0)},
                    {{"ignore_index", fmt::format("{}", a.integer("ignore_index"))}});
  if (n.num_inputs() > 2) {
    const Entry own = rank == 2 ? n.input(2)
                                : n("expand_dims", {n.input(2)},
                                    {{"axis", "1"}, {"num_newaxis", fmt::format("{}", rank - 2)}});
    weights = n.mul(weights, own);
  }
  const Attributes classes{{"axis", "1"}};
  const Entry losses = n("negative", {n("sum", {n.mul(n.input(0), weights)}, classes)});
  const std::string& reduction = a.text("reduction");
  if (reduction == "none") return {losses};
  const Entry total = n("sum", {losses});
  if (reduction == "sum") return {total};
  return {n("elemwise_div", {total, n("sum", {weights})})};
}

Entries expand_cross_entropy(const NodeRef& node, std::span<const Shape>) {
  const Arithmetic n(node);
  Entries inputs = node->inputs;
  inputs[0] = n("log_softmax", {inputs[0]}, {{"axis", "1"}});
  return {n("nll_loss", inputs, Attributes(node->attributes))};
}

Op loss(std::string_view name, std::string_view data, std::string_view doc) {
  using enum AttributeType;
  return {.name = name,
          .doc = doc,
          .inputs = {{"data", data},
                     {"labels", "(n, …): integers, the class of each element"},
                     {"weights", "(c,): how much a class counts", "use_weights"}},
          .attributes = {{"reduction", Text, "mean",
                          "mean, the sum divided by that of the weights; sum; or none, (n, …)"},
                         {"ignore_index", Int, "-100", "elements of this class do not count"},
                         {"use_weights", Bool, "False", "whether there are weights"}},
          .infer_shape = infer_loss,
          .infer_type = infer_loss_type};
}

}  // namespace

std::vector<Op> training_ops() {
  using enum AttributeType;
  Op nll = loss("nll_loss", "(n, c, …), floating: logarithms of probabilities",
                "-data at each element's class, times the weight of that class.");
  nll.expand = expand_nll_loss;
  nll.rounds_once = true;
  Op entropy = loss("softmax_cross_entropy", "(n, c, …), floating: scores",
                    "nll_loss of log_softmax over classes.");
  entropy.expand = expand_cross_entropy;
  entropy.rounds_once = true;
  return {
      {.name = "random_uniform_like",
       .doc =
           "float32 numbers from 0 to below 1, for each element of data one, by a counter: those "
           "of Philox 2x32-10.",
       .inputs = {{"data", "any shape and type"}},
       .attributes = {kSeed},
       .infer_shape = same_shape,
       .infer_type = [](TypeInference& t) { t.narrow_output(0, float_type(32)); },
       .pattern = Pattern::ElementWise,
       .compute = compute_random,
       .gradient = flat_gradient},
      {.name = "dropout_training",
       .doc =
           "data with a share of elements, chosen by Philox 2x32-10, set to 0, and others larger "
           "by as much. Further output: 1 where an element is kept, else 0.",
       .inputs = {{"data", "any shape, floating"}},
       .attributes = {{"rate", Float, "0.5", "the share of elements that is dropped, from 0 to 1"},
                      kSeed},
       .num_outputs = [](const AttributeValues&) { return 2; },
       .infer_shape = infer_dropout,
       .infer_type = same_type,
       .expand = expand_dropout},
      {.name = "_classes",
       .doc = "1 where an element has the class of that position, else 0; of ignored ones 0.",
       .inputs = {{"labels", "(n, …), integers"}, {"like", "(n, c, …)"}},
       .attributes = {{"ignore_index", Int, "-100", "a class that is none"}},
       .infer_shape = infer_classes,
       .infer_type = [](TypeInference& t) { t.narrow_output(0, t.input(1)); },
       .pattern = Pattern::Broadcast,
       .compute = compute_classes,
       .gradient = flat_gradient},
      std::move(nll),
      std::move(entropy),
  };
}

}  // namespace tw::graph
