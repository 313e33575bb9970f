// SPDX-License-Identifier: Apache-2.0
// Recurrent layers as ONNX has them, unrolled: a step is nodes of products and of elements, of one
// shape in all steps, so that all steps are calls of the same kernels.
#include <algorithm>
#include <array>

#include "graph/ops/arithmetic.h"
#include "graph/ops/families.h"

namespace tw::graph {
namespace {

struct Cell {
  std::string_view name, doc;
  int64_t gates;   // rows of the weights, in hidden sizes
  bool has_state;  // beside the output, a state c
};

// Inputs by what they are; those that a node lacks are none.
struct Inputs {
  static constexpr size_t kData = 0, kWeight = 1, kRecurrence = 2;
  std::optional<size_t> bias, lengths, hidden, state, peephole;

  Inputs(const AttributeValues& a, const Cell& cell) {
    size_t next = 3;
    const auto place = [&](std::string_view flag) {
      return a.flag(flag) ? std::optional(next++) : std::nullopt;
    };
    bias = place("use_bias");
    lengths = place("use_sequence_lens");
    hidden = place("use_initial_h");
    if (!cell.has_state) return;
    state = place("use_initial_c");
    peephole = place("use_peephole");
  }
};

int64_t directions_of(const AttributeValues& a) {
  return a.text("direction") == "bidirectional" ? 2 : 1;
}

void infer_recurrent(ShapeInference& s, const Cell& cell) {
  const AttributeValues& a = s.attributes();
  const std::string& direction = a.text("direction");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    s.fail(fmt::format("direction '{}'", direction), "forward, reverse or bidirectional");
  }
  const int64_t hidden = a.integer("hidden_size"), d = directions_of(a);
  if (hidden < 1) s.fail(fmt::format("hidden_size is {}", hidden), "1 or more");
  s.narrow_input(Inputs::kData, Shape::of_rank(3));
  s.narrow_input(Inputs::kWeight, Shape({d, cell.gates * hidden, s.input(0)[2]}));
  s.narrow_input(Inputs::kData, Shape({kUnknown, kUnknown, s.input(1)[2]}));
  s.narrow_input(Inputs::kRecurrence, Shape({d, cell.gates * hidden, hidden}));
  const Inputs in(a, cell);
  const auto learn_batch = [&](int64_t batch) {
    s.narrow_input(0, Shape({kUnknown, batch, kUnknown}));
  };
  if (in.bias) s.narrow_input(*in.bias, Shape({d, 2 * cell.gates * hidden}));
  if (in.lengths) {
    s.narrow_input(*in.lengths, Shape({s.input(0)[1]}));
    learn_batch(s.input(*in.lengths)[0]);
  }
  for (const auto& k : {in.hidden, in.state}) {
    if (!k) continue;
    s.narrow_input(*k, Shape({d, s.input(0)[1], hidden}));
    learn_batch(s.input(*k)[1]);
  }
  if (in.peephole) s.narrow_input(*in.peephole, Shape({d, 3 * hidden}));
  s.narrow_output(0, Shape({s.input(0)[0], d, s.input(0)[1], hidden}));
  s.narrow_input(0, Shape({s.output(0)[0], s.output(0)[2], kUnknown}));
  for (size_t k = 1; k < s.num_outputs(); ++k) {
    s.narrow_output(k, Shape({d, s.input(0)[1], hidden}));
    learn_batch(s.output(k)[1]);
  }
}

// All but lengths have one type; lengths are integers.
void infer_recurrent_type(TypeInference& t, const Cell& cell) {
  const Inputs in(t.attributes(), cell);
  KnownType type;
  for (size_t k = 0; k < t.num_inputs() && !type; ++k) {
    if (in.lengths != k) type = t.input(k);
  }
  for (size_t k = 0; k < t.num_outputs() && !type; ++k) type = t.output(k);
  for (size_t k = 0; k < t.num_inputs(); ++k) {
    if (in.lengths != k) t.narrow_input(k, type);
  }
  for (size_t k = 0; k < t.num_outputs(); ++k) t.narrow_output(k, type);
}

// One layer in one direction.
class Unrolled {
 public:
  Unrolled(const Arithmetic& n, const Cell& cell, const std::vector<int64_t>& data,
           int64_t direction, bool backward)
      : n_(n),
        a_(n.attributes()),
        in_(a_, cell),
        steps_(data[0]),
        batch_(data[1]),
        width_(data[2]),
        hidden_(a_.integer("hidden_size")),
        gates_(cell.gates),
        direction_(direction),
        backward_(backward) {
    weight_ = own(Inputs::kWeight);
    recurrence_ = own(Inputs::kRecurrence);
  }

  struct Result {
    Entry outputs;        // (steps, batch, hidden)
    Entry hidden, state;  // (batch, hidden)
  };

  template <class Step>
  Result run(const Step& step) {
    Entry h = initial(in_.hidden), c = initial(in_.state);
    const std::vector<Entry> xs = split(projected(), 0, steps_);
    std::vector<Entry> outputs(static_cast<size_t>(steps_));
    for (int64_t k = 0; k < steps_; ++k) {
      const int64_t t = backward_ ? steps_ - 1 - k : k;
      const Entry x = n_.reshape(xs[static_cast<size_t>(t)], {batch_, gates_ * hidden_});
      const auto [next_h, next_c] = step(x, h, c);
      Entry output = next_h;
      if (in_.lengths) {
        // What is behind the end of a sequence keeps the state, and gives 0.
        const Entry there = before_end(t), gone = n_.rsub(1, there);
        output = n_.mul(next_h, there);
        h = n_.add(output, n_.mul(h, gone));
        if (next_c.node) c = n_.add(n_.mul(next_c, there), n_.mul(c, gone));
      } else {
        h = next_h;
        c = next_c;
      }
      outputs[static_cast<size_t>(t)] = n_("expand_dims", {output}, {{"axis", "0"}});
    }
    const Entry joined =
        outputs.size() == 1 ? outputs[0] : n_("concatenate", outputs, {{"axis", "0"}});
    return {joined, h, c};
  }

  // h · Rᵀ + its bias of gates from first up to last, (batch, (last - first) * hidden).
  Entry recurrent(const Entry& h, int64_t first, int64_t last) const {
    const bool all = first == 0 && last == gates_;
    const Entry rows =
        all ? recurrence_ : n_.slice(recurrence_, 0, first * hidden_, last * hidden_);
    const Entry product = n_("matmul", {h, rows}, {{"transpose_b", "True"}});
    return in_.bias ? n_.add(product, bias(1, first, last)) : product;
  }

  // The gates from first on, which stand side by side.
  std::vector<Entry> parts(const Entry& gates, int64_t count) const {
    return split(gates, 1, count);
  }

  // A vector of the peepholes: those of the gates i, o, f.
  std::optional<Entry> peephole(int64_t k) const {
    if (!in_.peephole) return std::nullopt;
    return n_.slice(own(*in_.peephole), 0, k * hidden_, (k + 1) * hidden_);
  }

  Entry clipped(const Entry& x) const {
    const double clip = a_.real("clip");
    if (clip == 0) return x;
    return n_("clip", {x}, {{"a_min", Arithmetic::text(-clip)}, {"a_max", Arithmetic::text(clip)}});
  }
  Entry sigmoid(const Entry& x) const { return n_("sigmoid", {clipped(x)}); }
  Entry tanh(const Entry& x) const { return n_("tanh", {clipped(x)}); }
  const Arithmetic& n() const { return n_; }
  const AttributeValues& attributes() const { return a_; }

 private:
  // The part of an input that is this direction's.
  Entry own(size_t k) const {
    const Entry& whole = n_.input(k);
    const Entry part =
        directions_of(a_) == 1 ? whole : n_.slice(whole, 0, direction_, direction_ + 1);
    return n_("squeeze", {part}, {{"axis", "0"}});
  }

  Entry bias(int64_t which, int64_t first, int64_t last) const {
    const int64_t begin = which * gates_ * hidden_;
    return n_.slice(own(*in_.bias), 0, begin + first * hidden_, begin + last * hidden_);
  }

  std::vector<Entry> split(const Entry& e, int axis, int64_t count) const {
    if (count == 1) return {e};
    const Entry first =
        n_("split", {e},
           {{"indices_or_sections", fmt::format("{}", count)}, {"axis", fmt::format("{}", axis)}});
    return entries_of(first.node);
  }

  // X · Wᵀ and its bias for all steps at once: (steps * batch, gates * hidden).
  Entry projected() const {
    const Entry rows = n_.reshape(n_.input(Inputs::kData), {steps_ * batch_, width_});
    const Entry product = n_("matmul", {rows, weight_}, {{"transpose_b", "True"}});
    return in_.bias ? n_.add(product, bias(0, 0, gates_)) : product;
  }

  Entry initial(const std::optional<size_t>& k) const {
    if (k) return own(*k);
    // Zeros of the type of the data.
    const Entry zeros = n_("zeros", {}, {{"shape", tuple_text({batch_, hidden_})}});
    return n_("cast_like", {zeros, n_.input(0)});
  }

  // 1 where step t is before the end of a sequence, else 0: (batch, 1).
  Entry before_end(int64_t t) const {
    const Entry lengths = n_("cast_like", {n_.input(*in_.lengths), n_.input(0)});
    return n_("expand_dims", {n_.above(lengths, static_cast<double>(t))}, {{"axis", "1"}});
  }

  const Arithmetic& n_;
  AttributeValues a_;
  Inputs in_;
  int64_t steps_, batch_, width_, hidden_, gates_, direction_;
  bool backward_;
  Entry weight_, recurrence_;
};

using States = std::pair<Entry, Entry>;

// Gates i, o, f, c: c' = f c + i tanh(c gate), h' = o tanh(c').
States lstm_step(const Unrolled& u, const Entry& x, const Entry& h, const Entry& c) {
  const Arithmetic& n = u.n();
  const std::vector<Entry> gates = u.parts(n.add(x, u.recurrent(h, 0, 4)), 4);
  const auto with_state = [&](const Entry& gate, const Entry& state, int64_t k) {
    const std::optional<Entry> peephole = u.peephole(k);
    return peephole ? n.add(gate, n.mul(state, *peephole)) : gate;
  };
  const Entry i = u.sigmoid(with_state(gates[0], c, 0));
  const Entry f =
      u.attributes().flag("input_forget") ? n.rsub(1, i) : u.sigmoid(with_state(gates[2], c, 2));
  const Entry next = n.add(n.mul(f, c), n.mul(i, u.tanh(gates[3])));
  const Entry o = u.sigmoid(with_state(gates[1], next, 1));
  return {n.mul(o, n("tanh", {next})), next};
}

// Gates z, r, h: h' = (1 - z) tanh(h gate) + z h.
States gru_step(const Unrolled& u, const Entry& x, const Entry& h, const Entry&) {
  const Arithmetic& n = u.n();
  const std::vector<Entry> from_x = u.parts(x, 3);
  Entry z, r, candidate;
  if (u.attributes().flag("linear_before_reset")) {
    const std::vector<Entry> from_h = u.parts(u.recurrent(h, 0, 3), 3);
    z = u.sigmoid(n.add(from_x[0], from_h[0]));
    r = u.sigmoid(n.add(from_x[1], from_h[1]));
    candidate = u.tanh(n.add(from_x[2], n.mul(r, from_h[2])));
  } else {
    const std::vector<Entry> from_h = u.parts(u.recurrent(h, 0, 2), 2);
    z = u.sigmoid(n.add(from_x[0], from_h[0]));
    r = u.sigmoid(n.add(from_x[1], from_h[1]));
    candidate = u.tanh(n.add(from_x[2], u.recurrent(n.mul(r, h), 2, 3)));
  }
  return {n.add(n.mul(n.rsub(1, z), candidate), n.mul(z, h)), {}};
}

States rnn_step(const Unrolled& u, const Entry& x, const Entry& h, const Entry&) {
  const Entry sum = u.n().add(x, u.recurrent(h, 0, 1));
  const std::string& activation = u.attributes().text("activation");
  return {u.n()(activation, {u.clipped(sum)}), {}};
}

Entries expand_recurrent(const NodeRef& node, std::span<const Shape> shapes, const Cell& cell,
                         States (*step)(const Unrolled&, const Entry&, const Entry&,
                                        const Entry&)) {
  const Arithmetic n(node);
  const std::vector<int64_t>& data = n.known(shapes, 0);
  if (data[0] == 0) n.fail("a sequence of no steps", "one step or more");
  const bool reverse = n.attributes().text("direction") == "reverse";
  std::vector<Unrolled::Result> results;
  for (int64_t d = 0; d < directions_of(n.attributes()); ++d) {
    Unrolled u(n, cell, data, d, reverse || d == 1);
    results.push_back(
        u.run([&](const Entry& x, const Entry& h, const Entry& c) { return step(u, x, h, c); }));
  }
  // Directions are a dimension of their own, before that of the batch.
  const auto joined = [&](Entry Unrolled::Result::* part, const char* axis) {
    std::vector<Entry> parts;
    for (const Unrolled::Result& r : results) {
      parts.push_back(n("expand_dims", {r.*part}, {{"axis", axis}}));
    }
    return parts.size() == 1 ? parts[0] : n("concatenate", parts, {{"axis", axis}});
  };
  Entries outputs{joined(&Unrolled::Result::outputs, "1"), joined(&Unrolled::Result::hidden, "0")};
  if (cell.has_state) outputs.push_back(joined(&Unrolled::Result::state, "0"));
  return outputs;
}

Op recurrent(const Cell& cell,
             States (*step)(const Unrolled&, const Entry&, const Entry&, const Entry&)) {
  using enum AttributeType;
  Op op{.name = cell.name,
        .doc = cell.doc,
        .inputs = {{"data", "(s, b, k), floating: s steps"},
                   {"weight", "(d, gates * h, k), with d directions and h = hidden_size"},
                   {"recurrence", "(d, gates * h, h)"},
                   {"bias", "(d, 2 * gates * h): that of weight, then that of recurrence",
                    "use_bias"},
                   {"sequence_lens", "(b,), integers: how many steps each sequence has",
                    "use_sequence_lens"},
                   {"initial_h", "(d, b, h); else 0", "use_initial_h"}},
        .attributes = {{"hidden_size", Int, {}, "h"},
                       {"direction", Text, "forward", "forward, reverse or bidirectional"},
                       {"clip", Float, "0.0", "the limit of what gates are given; 0: none"},
                       {"use_bias", Bool, "True", "whether there is a bias"},
                       {"use_sequence_lens", Bool, "False", "whether there are sequence_lens"},
                       {"use_initial_h", Bool, "False", "whether there is an initial_h"}},
        .num_outputs = [count = cell.has_state ? 3 : 2](const AttributeValues&) { return count; },
        .infer_shape = [cell](ShapeInference& s) { infer_recurrent(s, cell); },
        .infer_type = [cell](TypeInference& t) { infer_recurrent_type(t, cell); }};
  op.expand = [cell, step](const NodeRef& node, std::span<const Shape> shapes) {
    return expand_recurrent(node, shapes, cell, step);
  };
  op.rounds_once = true;
  return op;
}

}  // namespace

std::vector<Op> recurrent_ops() {
  using enum AttributeType;
  Op lstm = recurrent({"lstm",
                       "Long short-term memory, gates in the order i, o, f, c; ONNX LSTM with its "
                       "usual activations. Outputs: (s, d, b, h), and the last h and c, (d, b, h).",
                       4, true},
                      lstm_step);
  lstm.inputs.push_back({"initial_c", "(d, b, h); else 0", "use_initial_c"});
  lstm.inputs.push_back({"peephole", "(d, 3 * h): for the gates i, o, f", "use_peephole"});
  lstm.attributes.push_back({"use_initial_c", Bool, "False", "whether there is an initial_c"});
  lstm.attributes.push_back({"use_peephole", Bool, "False", "whether there is a peephole"});
  lstm.attributes.push_back({"input_forget", Bool, "False", "whether f is 1 - i"});
  Op gru = recurrent({"gru",
                      "Gated recurrent units, gates in the order z, r, h; ONNX GRU with its usual "
                      "activations. Outputs: (s, d, b, h), and the last h, (d, b, h).",
                      3, false},
                     gru_step);
  gru.attributes.push_back(
      {"linear_before_reset", Bool, "False", "whether r multiplies the product with its bias"});
  Op rnn =
      recurrent({"rnn",
                 "A plain recurrent layer; ONNX RNN. Outputs: (s, d, b, h), and the last h, (d, "
                 "b, h).",
                 1, false},
                rnn_step);
  rnn.attributes.push_back({"activation", Text, "tanh", "an operator of elements: tanh, relu, …"});
  return {std::move(lstm), std::move(gru), std::move(rnn)};
}

}  // namespace tw::graph
