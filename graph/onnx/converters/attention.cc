// SPDX-License-Identifier: Apache-2.0
// What transformers are made of.
#include <algorithm>
#include <cmath>

#include "graph/onnx/converter.h"

namespace tw::graph::onnx {
namespace {

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

// Q, K, V (b, heads, s, d), or (b, s, heads * d); then a mask, the keys and values of before, and
// how many keys of each of the batch there are.
class Attention {
 public:
  explicit Attention(Call& c) : c_(c), flat_(c.input(0).rank() == 3) {
    query_ = heads(0, "q_num_heads");
    key_ = heads(1, "kv_num_heads");
    value_ = heads(2, "kv_num_heads");
    if (c.has(4) != c.has(5)) c.bad("keys or values of before alone", "both");
    if (c.has(4)) {
      if (c.has(6)) c.bad("keys of before and nonpad_kv_seqlen", "one of them");
      before_ = c.input(4).extent(2);
      key_ = c("concatenate", {c.input(4), key_}, {{"axis", "2"}});
      value_ = c("concatenate", {c.input(5), value_}, {{"axis", "2"}});
    }
    rows_ = query_.extent(2);
    columns_ = key_.extent(2);
    causal_ = c.flag("is_causal", false);
  }

  Values outputs() {
    // What the operator knows by itself is left to it.
    const bool plain = !c_.has(6) && !has_window() && !c_.wants(3);
    const Value mask = plain ? given_mask() : whole_mask();
    Values inputs{query_, key_, value_};
    if (mask) inputs.push_back(mask);
    Value result = c_("scaled_dot_product_attention", inputs,
                      {{"scale", text(c_.real("scale", 0))},
                       {"softcap", text(c_.real("softcap", 0))},
                       {"is_causal", text(plain && causal_)},
                       {"causal_offset", text(before_)},
                       {"use_mask", text(static_cast<bool>(mask))}});
    if (flat_) {
      const Value turned = c_.transposed(result, {0, 2, 1, 3});
      result = c_.reshaped(
          turned, {turned.extent(0), turned.extent(1), turned.extent(2) * turned.extent(3)});
    }
    Values all{result, key_, value_};
    if (c_.wants(3)) all.push_back(products(mask));
    return all;
  }

 private:
  Value heads(size_t k, std::string_view count) {
    const Value& x = c_.input(k);
    if (!flat_) return x;
    const int64_t n = c_.integer(count);
    if (n < 1 || x.extent(2) % n != 0)
      c_.bad(text(n) + " heads of " + text(x.shape()), "a divisor of the last extent");
    return c_.transposed(c_.reshaped(x, {x.extent(0), x.extent(1), n, x.extent(2) / n}),
                         {0, 2, 1, 3});
  }

  int64_t window(std::string_view name) const { return c_.knows(name) ? c_.integer(name, -1) : -1; }
  bool has_window() const {
    return window("left_window_size") >= 0 || window("right_window_size") >= 0;
  }
  // What is added to scores for a mask: numbers as they are, or 0 for True.
  Value added(const Value& mask) { return c_("_mask_scores", {mask, query_}); }

  // The mask of the model, of as many keys as there are: none is behind its end.
  Value given_mask() {
    if (!c_.has(3)) return {};
    Value mask = c_.input(3);
    if (!mask.dtype().is_bool()) mask = c_.cast(mask, query_.dtype());
    const int64_t missing = columns_ - mask.shape().back();
    if (missing <= 0 || mask.shape().back() == 1) return mask;
    std::vector<std::vector<int64_t>> width(static_cast<size_t>(mask.rank()), {0, 0});
    width.back() = {0, missing};
    return c_("pad", {added(mask)}, {{"pad_width", text(width)}, {"pad_value", "-inf"}});
  }

  // 0, 1, … along dimension d of four.
  Value positions(int64_t count, size_t d) {
    std::vector<int64_t> numbers(static_cast<size_t>(count)), shape(4, 1);
    for (size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<int64_t>(k);
    shape[d] = count;
    return c_.constant(array_of(numbers, shape, int_type(32)));
  }

  // The mask of the model and all else that says which keys a query sees: how many there are, the
  // order of time, and a window around the query.
  Value whole_mask() {
    const Value column = positions(columns_, 3);
    const Value counts =
        c_.has(6) ? c_.reshaped(c_.cast(c_.input(6), int_type(32)), {-1, 1, 1, 1}) : Value();
    Values conditions;
    if (counts) conditions.push_back(c_("broadcast_less", {column, counts}));
    if (causal_ || has_window()) in_window(column, counts, conditions);
    Value mask = given_mask();
    for (const Value& holds : conditions) {
      const Value more = added(c_.cast(holds, bool_type()));
      mask = mask ? c_("broadcast_add", {mask.dtype().is_bool() ? added(mask) : mask, more}) : more;
    }
    return mask;
  }

  // What the order of time and a window ask of the keys at `column`.
  void in_window(const Value& column, const Value& counts, Values& conditions) {
    const auto number = [&](int64_t n) {
      return c_.constant(static_cast<double>(n), int_type(32), {1, 1, 1, 1});
    };
    // A query stands behind the keys of before, or among the last of those that there are.
    const Value first = counts ? c_("broadcast_add", {counts, number(-rows_)}) : number(before_);
    const Value ahead =
        c_("broadcast_sub", {column, c_("broadcast_add", {positions(rows_, 2), first})});
    const int64_t left = window("left_window_size"), right = window("right_window_size");
    if (causal_) conditions.push_back(c_("broadcast_less_equal", {ahead, number(0)}));
    if (left >= 0) conditions.push_back(c_("broadcast_greater_equal", {ahead, number(-left)}));
    if (right >= 0) conditions.push_back(c_("broadcast_less_equal", {ahead, number(right)}));
  }

  // The products of queries and keys, as far as the model wants them computed.
  Value products(const Value& mask) {
    const int64_t mode = c_.integer("qk_matmul_output_mode", 0);
    if (mode < 0 || mode > 3) c_.bad("qk_matmul_output_mode " + text(mode), "0 to 3");
    const int64_t shared = key_.extent(1) > 0 ? query_.extent(1) / key_.extent(1) : 1;
    const Value keys =
        shared == 1 ? key_ : c_("repeat", {key_}, {{"repeats", text(shared)}, {"axis", "1"}});
    const double given = c_.real("scale", 0);
    const double scale =
        given != 0 ? given
                   : 1 / std::sqrt(static_cast<double>(std::max<int64_t>(query_.extent(3), 1)));
    Value scores =
        c_("batch_matmul", {c_("__mul_scalar__", {query_}, {{"scalar", text(scale)}}), keys},
           {{"transpose_b", "True"}});
    if (const double cap = c_.real("softcap", 0); cap != 0) {
      scores = c_("tanh", {c_("__mul_scalar__", {scores}, {{"scalar", text(1 / cap)}})});
      scores = c_("__mul_scalar__", {scores}, {{"scalar", text(cap)}});
    }
    if (mode < 2 || !mask) return mode == 3 ? c_("softmax", {scores}) : scores;
    const Value bias = mask.dtype().is_bool() ? added(mask) : mask;
    scores = c_("broadcast_add", {scores, bias});
    return mode == 3 ? shares(scores) : scores;
  }

  // A softmax that gives zeros for rows without any key.
  Value shares(const Value& scores) {
    const Value best = c_("max", {scores}, {{"axis", "-1"}, {"keepdims", "True"}});
    const Value nothing =
        c_("broadcast_equal", {best, c_("full_like", {best}, {{"fill_value", "-inf"}})});
    const Value zeros = c_("zeros_like", {scores});
    const Value safe = c_("where", {nothing, zeros, scores});
    return c_("where", {nothing, zeros, c_("softmax", {safe})});
  }

  Call& c_;
  const bool flat_;
  Value query_, key_, value_;
  int64_t before_ = 0, rows_ = 0, columns_ = 0;
  bool causal_ = false;
};

Values attention(Call& c) { return Attention(c).outputs(); }

}  // namespace

std::vector<Converter> attention_converters() {
  constexpr std::string_view kAttributes =
      "is_causal:int kv_num_heads:int q_num_heads:int qk_matmul_output_mode:int scale:float "
      "softcap:float softmax_precision:int";
  return {
      {"Attention", 23, 3, 6, kAttributes, attention},
      {"Attention", 24, 3, 7, kAttributes, attention},
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
