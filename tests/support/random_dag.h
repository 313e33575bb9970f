// SPDX-License-Identifier: Apache-2.0
// Random programs of several operations: reductions behind and beside each other, producers that
// several read, diamonds, several outputs. Matrices, or images in planes; integers or floats, kept
// so small that sums are exact or far from the ends of their type.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "ir/expr.h"
#include "schedule/te/text.h"
#include "schedule/topi/topi.h"
#include "tests/support/random_ir.h"

namespace tw::test {

class RandomDag {
 public:
  enum class Family : uint8_t { Matrices, Images };

  explicit RandomDag(Random& random) : random_(random) {}

  te::Program make(Family family) {
    type_ = random_.chance(50) ? int_type(32) : float_type(32);
    nodes_.clear();
    if (family == Family::Matrices) {
      add(input({size(24), size(40)}));
    } else {
      add(input({size(2), size(6), random_.between(3, 9), random_.between(3, 14)}));
    }
    const int64_t steps = random_.between(3, 9);
    for (int64_t k = 0; k < steps; ++k) {
      const Node& x = pick();
      switch (x.shape.size()) {
        case 4:
          grow_image(x);
          break;
        case 2:
          grow_matrix(x);
          break;
        default:
          add(elementwise(x));
      }
    }
    return te::make_program(outputs());
  }

 private:
  using Tensor = te::Tensor;
  using Shape = std::vector<int64_t>;
  struct Node {
    Tensor tensor;
    Shape shape;
    double most;  // absolute value
  };
  static constexpr double kInput = 8, kLimit = 1 << 20;

  int64_t size(int64_t most) {
    return random_.chance(30) ? std::min<int64_t>(most, int64_t{1} << random_.between(0, 5))
                              : random_.between(1, most);
  }
  static std::vector<Expr> exprs(const Shape& shape) {
    std::vector<Expr> result;
    for (int64_t e : shape) result.emplace_back(static_cast<int>(e));
    return result;
  }
  Expr number(double value) const {
    return type_.is_float() ? Expr(make_const_float(type_, value)) : Expr(static_cast<int>(value));
  }
  Node input(const Shape& shape) {
    const bool constant = random_.chance(30);
    return {te::placeholder(exprs(shape), type_, "A" + std::to_string(names_++), constant), shape,
            kInput};
  }
  Node add(Node node) {
    nodes_.push_back(node);
    return node;
  }
  // Late ones more often; of a shape, if one is given.
  Node pick() { return nodes_[position()]; }
  size_t position() {
    const auto last = static_cast<int64_t>(nodes_.size()) - 1;
    return static_cast<size_t>(std::max(random_.between(0, last), random_.between(0, last)));
  }
  // Another of that shape, at times a new input.
  Node like(const Shape& shape) {
    std::vector<size_t> same;
    for (size_t k = 0; k < nodes_.size(); ++k) {
      if (nodes_[k].shape == shape) same.push_back(k);
    }
    if (same.empty() || random_.chance(15)) return input(shape);
    return nodes_[random_.pick(same)];
  }
  Node small(const Node& x, double limit = kLimit) {
    if (x.most <= limit) return x;
    const Tensor t = te::compute(exprs(x.shape), [&](const std::vector<Var>& i) {
      const Expr value = x.tensor(std::vector<Expr>(i.begin(), i.end()));
      return min(max(value, number(-kInput)), number(kInput));
    });
    return {t, x.shape, kInput};
  }

  Node unary(const Node& x) {
    switch (random_.between(0, type_.is_float() ? 5 : 3)) {
      case 0:
        return {topi::nn::relu(x.tensor), x.shape, x.most};
      case 1: {
        const Node s = small(x, 1000);
        return {topi::multiply(s.tensor, s.tensor), x.shape, s.most * s.most};
      }
      case 2:
        return {topi::add(x.tensor, number(3)), x.shape, x.most + 3};
      case 3:
        return {topi::multiply(x.tensor, number(-2)), x.shape, 2 * x.most};
      case 4:
        return {topi::tanh(x.tensor), x.shape, 1};
      default:
        return {topi::sigmoid(x.tensor), x.shape, 1};
    }
  }
  Node binary(const Node& a, const Node& b, const Shape& shape) {
    switch (random_.between(0, 3)) {
      case 0: {
        const Node x = small(a, 1000), y = small(b, 1000);
        return {topi::multiply(x.tensor, y.tensor), shape, x.most * y.most};
      }
      case 1:
        return {topi::maximum(a.tensor, b.tensor), shape, std::max(a.most, b.most)};
      case 2:
        return {topi::subtract(a.tensor, b.tensor), shape, a.most + b.most};
      default:
        return {topi::add(a.tensor, b.tensor), shape, a.most + b.most};
    }
  }
  // With another of its shape, with one that is broadcast to it, or alone.
  Node elementwise(const Node& x) {
    const Node a = small(x);
    if (random_.chance(40)) return unary(a);
    if (random_.chance(70) || a.shape.empty()) return binary(a, small(like(a.shape)), a.shape);
    Shape part = a.shape;
    for (int64_t& e : part) {
      if (random_.chance(50)) e = 1;
    }
    return binary(a, small(like(part)), a.shape);
  }
  Node reduced(const Node& x, int axis, bool keep) {
    const Node a = small(x, 4096);
    const auto extent = a.shape[static_cast<size_t>(axis)];
    Shape shape = a.shape;
    if (keep) {
      shape[static_cast<size_t>(axis)] = 1;
    } else {
      shape.erase(shape.begin() + axis);
    }
    if (random_.chance(40)) return {topi::max(a.tensor, {axis}, keep), shape, a.most};
    return {topi::sum(a.tensor, {axis}, keep), shape, a.most * static_cast<double>(extent)};
  }
  // Of the rows of `x`, by other rows or columns.
  Node product(const Node& x, int64_t columns) {
    const Node a = small(x, 64);
    const int64_t depth = a.shape[1];
    const bool rows = random_.chance(40);
    const Node b = small(like(rows ? Shape{columns, depth} : Shape{depth, columns}), 64);
    return {topi::nn::matmul(a.tensor, b.tensor, {}, type_, false, rows),
            {a.shape[0], columns},
            a.most * b.most * static_cast<double>(depth)};
  }

  void grow_matrix(const Node& x) {
    const int64_t rows = x.shape[0], columns = x.shape[1];
    switch (random_.between(0, 9)) {
      case 0:
      case 1:
        add(product(x, random_.chance(50) ? columns : size(40)));
        return;
      case 2:
      case 3: {  // products that meet
        const int64_t width = random_.chance(50) ? columns : size(40);
        const Node other = random_.chance(50) ? x : input({rows, size(30)});
        Node a = product(x, width), b = product(other, width);
        if (random_.chance(40)) a = elementwise(a);
        if (random_.chance(40)) b = elementwise(b);
        if (random_.chance(20)) add(b);
        add(binary(small(a, 1000), small(b, 1000), a.shape));
        return;
      }
      case 4:
        add(reduced(x, static_cast<int>(random_.between(0, 1)), random_.chance(60)));
        return;
      case 5: {  // less or times what its rows or columns come to
        const Node a = small(x);
        const Node r = reduced(a, static_cast<int>(random_.between(0, 1)), true);
        add(binary(a, small(r), a.shape));
        return;
      }
      case 6:
        add({topi::transpose(x.tensor, {1, 0}), {columns, rows}, x.most});
        return;
      default:
        add(elementwise(x));
    }
  }

  Node convolved(const Node& x, int64_t channels) {
    const Node a = small(x, 64);
    const int64_t window = random_.pick<int64_t>({1, 3}), from = a.shape[1];
    const Node w = input({channels, from, window, window});
    return {topi::nn::conv2d_nchw(a.tensor, w.tensor, {1}, {window / 2}, {1}, 1, type_),
            {a.shape[0], channels, a.shape[2], a.shape[3]},
            a.most * w.most * static_cast<double>(from * window * window)};
  }
  Node biased(const Node& x) {
    const Node a = small(x);
    const Node bias = input({a.shape[1]});
    return {topi::nn::relu(topi::nn::bias_add(a.tensor, bias.tensor)), a.shape, a.most + bias.most};
  }
  void grow_image(const Node& x) {
    switch (random_.between(0, 7)) {
      case 0:
        add(convolved(x, random_.chance(50) ? x.shape[1] : size(8)));
        return;
      case 1:
        add(biased(convolved(x, random_.chance(50) ? x.shape[1] : size(8))));
        return;
      case 2: {  // beside a shortcut, convolved or not
        const int64_t channels = random_.chance(50) ? x.shape[1] : size(8);
        Node a = biased(convolved(x, channels));
        if (random_.chance(60)) a = convolved(a, channels);
        const Node b = channels == x.shape[1] && random_.chance(50) ? x : convolved(x, channels);
        add(biased(binary(small(a, 1000), small(b, 1000), a.shape)));
        return;
      }
      case 3: {  // a channel each
        const Node a = small(x, 64), w = input({a.shape[1], 1, 3, 3});
        add({topi::nn::conv2d_nchw(a.tensor, w.tensor, {1}, {1}, {1}, int(a.shape[1]), type_),
             a.shape, a.most * w.most * 9});
        return;
      }
      case 4: {
        const Node a = small(x);
        const Node mean = reduced(reduced(a, 3, true), 2, true);
        add(binary(a, small(mean), a.shape));
        return;
      }
      case 5: {
        const Node a = small(x);
        Shape padded = a.shape;
        padded[2] += 1;
        padded[3] += 2;
        add({topi::nn::pad(a.tensor, {0, 0, 0, 1}, {0, 0, 1, 1}), padded, a.most});
        return;
      }
      default:
        add(elementwise(x));
    }
  }

  // What nobody reads, and at times what somebody does.
  std::vector<Tensor> outputs() {
    std::vector<Tensor> all, result;
    for (const Node& n : nodes_) all.push_back(n.tensor);
    for (const Tensor& t : all) {
      if (te::as_op<te::ComputeNode>(t.op()) == nullptr) continue;
      const bool read = std::ranges::any_of(te::operations(all), [&](const te::Operation& op) {
        const std::vector<Tensor> inputs = op->input_tensors();
        return std::ranges::find(inputs, t) != inputs.end();
      });
      const bool known = std::ranges::find(result, t) != result.end();
      if (!known && (!read || random_.chance(10))) result.push_back(t);
    }
    return result;
  }

  Random& random_;
  DType type_ = int_type(32);
  std::vector<Node> nodes_;
  int names_ = 0;
};

}  // namespace tw::test
