// SPDX-License-Identifier: Apache-2.0
// Random operators as networks have them, small, of every element type, with sizes that seldom
// divide: products, convolutions, pooling, normalizations, reductions, moves, chains of broadcasts,
// and contractions that nobody named. A kind is a row of the table at the end.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/expr.h"
#include "schedule/te/text.h"
#include "schedule/topi/topi.h"
#include "tests/support/random_ir.h"

namespace tw::test {

class RandomWorkload {
 public:
  using Tensor = te::Tensor;
  struct Kind {
    std::string_view name;
    Tensor (RandomWorkload::*make)();
  };
  static std::span<const Kind> kinds();

  explicit RandomWorkload(Random& random) : random_(random) {}

  te::Program make(const Kind& kind) {
    Tensor result = (this->*kind.make)();
    if (random_.chance(20)) result = after(result);
    return te::make_program({result});
  }

 private:
  // Of operands and of sums.
  struct Types {
    DType a, b, sum;
  };
  Types product_types() {
    const DType f16 = float_type(16), bf16 = bfloat_type(16), f32 = float_type(32),
                f64 = float_type(64);
    const DType s8 = int_type(8), u8 = uint_type(8), s16 = int_type(16), s32 = int_type(32);
    return random_.pick<Types>({{f32, f32, f32},
                                {f32, f32, f32},
                                {f64, f64, f64},
                                {f16, f16, f16},
                                {f16, f16, f32},
                                {bf16, bf16, bf16},
                                {bf16, bf16, f32},
                                {f32, f32, f64},
                                {u8, s8, s32},
                                {s8, u8, s32},
                                {s8, s8, s32},
                                {u8, u8, s32},
                                {s16, s16, s32},
                                {s32, s32, s32}});
  }
  DType float_element() {
    return random_.pick<DType>(
        {float_type(32), float_type(32), float_type(64), float_type(16), bfloat_type(16)});
  }
  DType element() {
    if (random_.chance(60)) return float_element();
    return random_.pick<DType>({int_type(8), uint_type(8), int_type(32), int_type(64)});
  }
  // Mostly an odd size, at times one that divides.
  int64_t size(int64_t most) {
    if (random_.chance(25)) {
      std::vector<int64_t> powers = {1};
      while (powers.back() * 2 <= most) powers.push_back(powers.back() * 2);
      return random_.pick(powers);
    }
    return random_.between(1, most);
  }
  Tensor input(const std::vector<int64_t>& shape, DType type, bool constant = false) {
    std::vector<Expr> extents;
    for (int64_t extent : shape) extents.emplace_back(static_cast<int>(extent));
    return te::placeholder(extents, type, "A" + std::to_string(names_++), constant);
  }
  Tensor weights(const std::vector<int64_t>& shape, DType type) {
    return input(shape, type, random_.chance(50));
  }
  std::vector<int64_t> shape(int64_t least_rank, int64_t most_rank, int64_t most_elements) {
    std::vector<int64_t> result;
    const int64_t rank = random_.between(least_rank, most_rank);
    for (int64_t d = 0; d < rank; ++d) {
      const int64_t most = std::max<int64_t>(1, std::min<int64_t>(70, most_elements));
      result.push_back(size(rank > 2 ? std::min<int64_t>(most, 24) : most));
      most_elements /= result.back();
    }
    for (size_t d = result.size(); d-- > 1;)
      std::swap(result[d],
                result[static_cast<size_t>(random_.between(0, static_cast<int64_t>(d)))]);
    return result;
  }
  static std::vector<int64_t> constants(const std::vector<Expr>& shape) {
    std::vector<int64_t> result;
    for (const Expr& extent : shape) result.push_back(*as_const_int(simplify(extent)));
    return result;
  }
  std::vector<int> permutation(int rank) {
    std::vector<int> order(static_cast<size_t>(rank));
    for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int>(k);
    for (size_t k = order.size(); k-- > 1;)
      std::swap(order[k], order[static_cast<size_t>(random_.between(0, static_cast<int64_t>(k)))]);
    return order;
  }

  // What a network does with a result: shifts, rectifies, moves or narrows it.
  Tensor after(const Tensor& x) {
    switch (random_.between(0, 4)) {
      case 0:
        return topi::nn::relu(x);
      case 1:
        return x.rank() == 0 ? x
                             : topi::add(x, input({constants(x.shape()).back()}, x.dtype(),
                                                  random_.chance(50)));
      case 2:
        return x.rank() < 2 ? x : topi::transpose(x, permutation(x.rank()));
      case 3:
        if (x.dtype() == int_type(32)) return requantized(x);
        return topi::nn::relu(topi::add(x, x));
      default:
        return x.rank() == 0 ? x
                             : topi::sum(x, {static_cast<int>(random_.between(0, x.rank() - 1))});
    }
  }
  // Scaled to bytes, as after a product of bytes.
  Tensor requantized(const Tensor& x) {
    const Tensor scaled = topi::multiply(topi::cast(x, float_type(32)),
                                         Expr(make_const_float(float_type(32), 0x1p-5)));
    const DType type = random_.chance(50) ? int_type(8) : uint_type(8);
    return topi::saturating_cast(scaled, type);
  }

  Tensor matmul() {
    const Types t = product_types();
    const int64_t m = size(40), n = size(70), k = size(50);
    const bool ta = random_.chance(30), tb = random_.chance(40);
    const Tensor a = input(ta ? std::vector{k, m} : std::vector{m, k}, t.a);
    const Tensor b = weights(tb ? std::vector{n, k} : std::vector{k, n}, t.b);
    const Tensor bias = random_.chance(30) ? weights({n}, t.sum) : Tensor();
    return topi::nn::matmul(a, b, bias, t.sum, ta, tb);
  }
  Tensor batch_matmul() {
    const Types t = product_types();
    const int64_t batch = size(5), m = size(20), n = size(40), k = size(30);
    const bool ta = random_.chance(30), tb = random_.chance(50);
    const Tensor a = input(ta ? std::vector{batch, k, m} : std::vector{batch, m, k}, t.a);
    const Tensor b = weights(
        tb ? std::vector{random_.chance(80) ? batch : 1, n, k} : std::vector{batch, k, n}, t.b);
    return topi::nn::batch_matmul(a, b, t.sum, ta, tb);
  }
  Tensor conv2d() {
    const Types t = product_types();
    int64_t groups = random_.chance(60) ? 1 : random_.between(2, 4), each = size(6), out = size(10);
    if (random_.chance(25)) {
      groups = size(9);
      each = 1;
      out = random_.chance(80) ? 1 : 2;
    }
    const auto kernel = [&] { return random_.pick<int64_t>({1, 1, 2, 3, 3, 5, 7}); };
    const int64_t kh = kernel(), kw = random_.chance(70) ? kh : kernel();
    const int64_t dilation = random_.chance(75) ? 1 : random_.between(2, 3);
    const int64_t stride = random_.chance(60) ? 1 : random_.between(2, 3);
    // At times whole windows see nothing but padding.
    const int64_t most_padding = random_.chance(20) ? kh + 2 : kh / 2;
    std::vector<int64_t> padding = {random_.between(0, most_padding)};
    if (random_.chance(30))
      for (int k = 0; k < 3; ++k) padding.push_back(random_.between(0, most_padding));
    const int64_t least_h = (kh - 1) * dilation + 1, least_w = (kw - 1) * dilation + 1;
    const int64_t height = least_h + random_.between(0, 9),
                  width = least_w + random_.between(0, 14);
    if (groups == 1 && random_.chance(35)) {  // channels in blocks
      const int64_t c = size(6), f = size(20);
      const Tensor data = input({size(2), each, height, width, c}, t.a);
      const Tensor weight = weights({size(3), each, kh, kw, c, f}, t.b);
      return topi::nn::conv2d_nchwc(data, weight, {stride}, padding, {dilation}, t.sum);
    }
    const Tensor data = input({size(2), groups * each, height, width}, t.a);
    const Tensor weight = weights({groups * out, each, kh, kw}, t.b);
    const Tensor sums =
        topi::nn::conv2d_nchw(data, weight, {stride}, padding, {dilation}, groups, t.sum);
    if (random_.chance(60)) return sums;
    return topi::nn::relu(topi::nn::bias_add(sums, weights({groups * out}, t.sum)));
  }
  Tensor pool2d() {
    const bool average = random_.chance(50);
    const DType type = average ? float_element() : element();
    const int64_t kernel = random_.between(1, 4), stride = random_.between(1, 3),
                  dilation = random_.chance(80) ? 1 : 2, padding = random_.between(0, kernel / 2);
    const int64_t least = (kernel - 1) * dilation + 1;
    const Tensor data = input(
        {size(3), size(9), least + random_.between(0, 9), least + random_.between(0, 14)}, type);
    const auto kind = average ? topi::nn::PoolType::Average : topi::nn::PoolType::Max;
    if (random_.chance(10)) return topi::nn::global_pool(data, kind);
    const auto rounding = static_cast<topi::nn::Rounding>(random_.between(0, 2));
    return topi::nn::pool2d(data, {kernel}, {stride}, {dilation}, {padding}, kind, rounding,
                            random_.chance(50));
  }
  Tensor softmax() {
    const Tensor data = input(shape(1, 3, 1500), float_element());
    const int axis =
        random_.chance(60) ? -1 : static_cast<int>(random_.between(0, data.rank() - 1));
    return random_.chance(80) ? topi::nn::softmax(data, axis) : topi::nn::log_softmax(data, axis);
  }
  Tensor layer_norm() {
    const DType type = float_element();
    const Tensor data = input(shape(2, 3, 1500), type);
    const std::vector<int64_t> extents = constants(data.shape());
    const int axis = random_.chance(75) ? data.rank() - 1
                                        : static_cast<int>(random_.between(0, data.rank() - 1));
    const int64_t extent = extents[static_cast<size_t>(axis)];
    return topi::nn::layer_norm(data, weights({extent}, type), weights({extent}, type), {axis});
  }
  Tensor move() {
    const Tensor data = input(shape(2, 4, 4000), element());
    const Tensor moved = topi::transpose(data, permutation(data.rank()));
    switch (random_.between(0, 4)) {
      case 0:
        return topi::reshape(moved, {-1});
      case 1:
        return topi::concatenate({moved, topi::add(moved, moved)},
                                 static_cast<int>(random_.between(0, moved.rank() - 1)));
      case 2:
        return topi::add(moved, input(constants(moved.shape()), data.dtype()));
      default:
        return moved;
    }
  }
  Tensor reduction() {
    DType type = element();
    if (type.bits == 8) type = int_type(32);  // what is summed must not overflow
    const Tensor data = input(shape(1, 4, 4000), type);
    std::vector<int> axes = permutation(data.rank());
    axes.resize(static_cast<size_t>(random_.between(1, data.rank())));
    const bool keep = random_.chance(30);
    switch (random_.between(0, 6)) {
      case 0:
        return topi::max(data, axes, keep);
      case 1:
        return topi::min(data, axes, keep);
      case 2:
        return topi::argmax(data, axes, keep, random_.chance(50));
      case 3:
        return type.is_float() ? topi::mean(data, axes, keep) : topi::sum(data, axes, keep);
      default:
        return topi::sum(random_.chance(50) ? data : topi::multiply(data, data), axes, keep);
    }
  }
  Tensor broadcasts() {
    DType type = element();
    if (type.bits == 8) type = int_type(32);
    const Tensor first = input(shape(1, 4, 3000), type);
    const std::vector<int64_t> whole = constants(first.shape());
    Tensor result = first;
    for (int64_t steps = random_.between(1, 5); steps > 0; --steps) {
      std::vector<int64_t> other = whole;
      for (int64_t& extent : other) {
        if (random_.chance(50)) extent = 1;
      }
      other.erase(other.begin(),
                  other.begin() + random_.between(0, static_cast<int64_t>(other.size()) - 1));
      const Tensor operand = weights(other, type);
      const int64_t kind = random_.between(0, 3);
      result = kind == 0   ? topi::add(result, operand)
               : kind == 1 ? topi::subtract(operand, result)
               : kind == 2 ? topi::maximum(result, operand)
               : type.is_float() && random_.chance(50)
                   ? topi::tanh(topi::multiply(result, operand))
                   : topi::minimum(topi::add(result, first), operand);
    }
    return result;
  }
  // Sums over products of two or three tensors whose indices are drawn from a few letters.
  Tensor contraction() {
    const Types t = product_types();
    const int64_t letters = random_.between(2, 5);
    std::vector<int64_t> extents;
    for (int64_t points = 20000, k = 0; k < letters; ++k) {
      extents.push_back(size(std::max<int64_t>(1, std::min<int64_t>(points, k == 0 ? 40 : 20))));
      points /= extents.back();
    }
    std::vector<size_t> kept;
    std::vector<IterVar> reduced(extents.size());
    std::vector<IterVar> axes;
    for (size_t k = 0; k < extents.size(); ++k) {
      if (random_.chance(50)) {
        kept.push_back(k);
        continue;
      }
      reduced[k] = te::reduce_axis({0, static_cast<int>(extents[k])}, "r" + std::to_string(k));
      axes.push_back(reduced[k]);
    }
    const auto some = [&](bool all_reduced) {
      std::vector<size_t> letters_of;
      for (size_t k = 0; k < extents.size(); ++k) {
        if (random_.chance(60) || (all_reduced && reduced[k].defined())) letters_of.push_back(k);
      }
      if (letters_of.empty()) letters_of.push_back(0);
      for (size_t k = letters_of.size(); k-- > 1;)
        std::swap(letters_of[k],
                  letters_of[static_cast<size_t>(random_.between(0, static_cast<int64_t>(k)))]);
      return letters_of;
    };
    struct Operand {
      Tensor tensor;
      std::vector<size_t> letters;
    };
    std::vector<Operand> operands;
    for (int64_t count = random_.between(2, 3), k = 0; k < count; ++k) {
      Operand o{.tensor = {}, .letters = some(k == 0)};
      std::vector<int64_t> of;
      for (size_t l : o.letters) of.push_back(extents[l]);
      // A third factor of the wide type, so that integers do not overflow.
      o.tensor = k == 0 ? input(of, t.a) : weights(of, t.b);
      operands.push_back(o);
    }
    std::vector<Expr> out;
    for (size_t k : kept) out.emplace_back(static_cast<int>(extents[k]));
    return te::compute(
        out,
        [&](const std::vector<Var>& i) -> Expr {
          const auto read = [&](const Operand& o) {
            std::vector<Expr> at;
            for (size_t l : o.letters) {
              if (reduced[l].defined()) {
                at.emplace_back(reduced[l].var());
              } else {
                at.emplace_back(i[static_cast<size_t>(std::ranges::find(kept, l) - kept.begin())]);
              }
            }
            return cast(t.sum, o.tensor(at));
          };
          Expr term = read(operands[0]) * read(operands[1]);
          if (operands.size() == 3 && t.sum.is_float()) term = term * read(operands[2]);
          if (operands.size() == 3 && !t.sum.is_float()) term = term + read(operands[2]);
          return axes.empty() ? term : te::sum(term, axes);
        },
        "C");
  }

  Random& random_;
  int names_ = 0;
};

inline std::span<const RandomWorkload::Kind> RandomWorkload::kinds() {
  using R = RandomWorkload;
  static constexpr Kind table[] = {
      {"matmul", &R::matmul},
      {"batch_matmul", &R::batch_matmul},
      {"conv2d", &R::conv2d},
      {"pool2d", &R::pool2d},
      {"softmax", &R::softmax},
      {"layer_norm", &R::layer_norm},
      {"move", &R::move},
      {"reduction", &R::reduction},
      {"broadcasts", &R::broadcasts},
      {"contraction", &R::contraction},
  };
  return table;
}

}  // namespace tw::test
