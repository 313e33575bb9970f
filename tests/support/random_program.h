// SPDX-License-Identifier: Apache-2.0
// Random small te programs over int32, the same for the same seed: element-wise, broadcast, shape
// changes, windows, padding, strides, gathers, reductions (conditional, tuple, to rank 0, of
// another length for each element), several outputs, extents that do not divide, symbolic extents.
// Values are bounded so that nothing overflows, whatever the order of a reduction.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/expr.h"
#include "schedule/te/extern.h"
#include "schedule/te/operation.h"
#include "schedule/te/start.h"
#include "schedule/te/text.h"
#include "tests/support/odd_reducer.h"
#include "tests/support/random_ir.h"

namespace tw::test {

struct RandomProgramOptions {
  int least_operations = 1, most_operations = 5;
  int64_t most_elements = 300;  // of one tensor
  bool symbolic = true;         // some programs have an extent that is a variable
  int empty_percent = 0;        // extents that are 0
  int scan_percent = 0;         // operations that are scans or externs
  int several_percent = 0;      // operations of several outputs, of which some may stay unused
  int odd_percent = 0;          // reductions whose terms have an order, or no identity
  bool vectors = false;         // elements are vectors, of one width in a program
};

struct ProgramCase {
  te::Program program;
  std::vector<std::pair<Var, int64_t>> scalars;  // values of the symbolic extents
};

class RandomProgram {
 public:
  explicit RandomProgram(Random& random, RandomProgramOptions options = {})
      : random_(random), options_(options), symbol_("n") {}

  ProgramCase make() {
    if (options_.symbolic && random_.chance(15)) symbol_value_ = random_.between(1, 9);
    if (options_.vectors) type_ = int_type(32, random_.pick<int>({2, 3, 4, 8}));
    const int64_t wanted = random_.between(options_.least_operations, options_.most_operations);
    for (int tries = 0; computed_ < wanted && tries < 200; ++tries) step();
    if (computed_ == 0) elementwise();
    std::vector<te::Tensor> outputs;
    for (const Node& node : nodes_) {
      if (node.is_input || is_dropped(node, outputs)) continue;
      if (!node.is_read || random_.chance(10)) outputs.push_back(node.tensor);
    }
    ProgramCase result{.program = te::make_program(outputs), .scalars = {}};
    if (symbol_value_) result.scalars.emplace_back(symbol_, symbol_value_);
    return result;
  }

 private:
  // An extent as the program has it and as the test runs it.
  struct Extent {
    Expr expr;
    int64_t value;
  };
  using Shape = std::vector<Extent>;
  struct Node {
    te::Tensor tensor;
    Shape shape;
    int64_t bound;  // no element is larger in absolute value
    bool is_input = false;
    bool is_read = false;
  };
  static constexpr int64_t kBound = int64_t{1} << 28;

  // One of several outputs that nobody wants, beside another that somebody does.
  bool is_dropped(const Node& node, const std::vector<te::Tensor>& outputs) {
    if (node.is_read || options_.several_percent == 0 || !random_.chance(60)) return false;
    const auto& op = node.tensor.op();
    const auto of_it = [&](const te::Tensor& t) { return t.op().same_as(op); };
    return std::ranges::any_of(outputs, of_it) ||
           std::ranges::any_of(nodes_, [&](const Node& n) { return n.is_read && of_it(n.tensor); });
  }

  std::string fresh_name() { return "T" + std::to_string(names_++); }
  static Extent constant(int64_t v) { return {make_const(int_type(32), v), v}; }
  Extent some_extent() {
    if (symbol_value_ && random_.chance(40)) return {symbol_, symbol_value_};
    if (options_.empty_percent > 0 && random_.chance(options_.empty_percent)) return constant(0);
    static const std::vector<int64_t> extents = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13};
    return constant(random_.pick(extents));
  }
  static int64_t elements(const Shape& shape) {
    int64_t n = 1;
    for (const Extent& e : shape) n *= e.value;
    return n;
  }
  static std::vector<Expr> exprs(const Shape& shape) {
    std::vector<Expr> result;
    for (const Extent& e : shape) result.push_back(e.expr);
    return result;
  }
  static bool same(const Shape& a, const Shape& b) {
    if (a.size() != b.size()) return false;
    for (size_t d = 0; d < a.size(); ++d) {
      const bool symbolic = !is_const(a[d].expr) || !is_const(b[d].expr);
      if (symbolic ? !a[d].expr.same_as(b[d].expr) : a[d].value != b[d].value) return false;
    }
    return true;
  }

  Node& input(const Shape& shape) {
    for (Node& node : nodes_) {
      if (node.is_input && same(node.shape, shape) && random_.chance(50)) return node;
    }
    bool constant = random_.chance(40);
    for (const Extent& extent : shape) constant = constant && is_const(extent.expr);
    nodes_.push_back(
        {te::placeholder(exprs(shape), type_, "A" + std::to_string(names_++), constant), shape, 8,
         true});
    return nodes_.back();
  }
  // A tensor to read, mostly one that was computed. Copies: the list grows while nodes are in use.
  Node source(int least_rank = 0, int most_rank = 3) {
    std::vector<size_t> fitting;
    for (size_t k = 0; k < nodes_.size(); ++k) {
      const int rank = static_cast<int>(nodes_[k].shape.size());
      if (rank < least_rank || rank > most_rank) continue;
      // Recent tensors that nobody reads yet make deeper graphs.
      for (int weight = nodes_[k].is_read || nodes_[k].is_input ? 1 : 4; weight > 0; --weight)
        fitting.push_back(k);
    }
    if (fitting.empty() || random_.chance(10)) {
      Shape shape;
      const int64_t rank = random_.between(least_rank, std::min(most_rank, 3));
      for (int64_t d = 0; d < rank; ++d) shape.push_back(some_extent());
      while (elements(shape) > options_.most_elements) {
        std::max_element(shape.begin(), shape.end(),
                         [](auto& a, auto& b) { return a.value < b.value; })[0] = constant(2);
      }
      return read(input(shape));
    }
    return read(nodes_[random_.pick(fitting)]);
  }
  Node read(Node& node) {
    node.is_read = true;
    return node;
  }
  Node matching(const Shape& shape) {
    std::vector<size_t> fitting;
    for (size_t k = 0; k < nodes_.size(); ++k) {
      if (same(nodes_[k].shape, shape)) fitting.push_back(k);
    }
    return read(fitting.empty() || random_.chance(20) ? input(shape)
                                                      : nodes_[random_.pick(fitting)]);
  }
  bool fits(const Shape& shape, int64_t bound) const {
    return elements(shape) <= options_.most_elements && bound < kBound &&
           std::all_of(
               shape.begin(), shape.end(),
               [&](const Extent& e) { return e.value >= (options_.empty_percent ? 0 : 1); });
  }
  void add(const std::vector<te::Tensor>& tensors, const Shape& shape, int64_t bound) {
    for (const te::Tensor& t : tensors) nodes_.push_back({t, shape, bound});
    ++computed_;
  }
  template <class F>
  void compute(const Shape& shape, int64_t bound, F f) {
    if (!fits(shape, bound)) return;
    add({te::compute(exprs(shape), f, fresh_name())}, shape, bound);
  }
  static std::vector<Expr> indices(const std::vector<Var>& v) { return {v.begin(), v.end()}; }

  void step() {
    if (options_.scan_percent > 0 && random_.chance(options_.scan_percent)) {
      return random_.chance(70) ? scan() : statements();
    }
    if (options_.several_percent > 0 && random_.chance(options_.several_percent)) {
      return random_.chance(50) ? several_outputs() : tuple_reduce();
    }
    switch (random_.between(0, 15)) {
      case 0:
      case 1:
        return elementwise();
      case 2:
      case 3:
        return binary();
      case 4:
        return broadcast();
      case 5:
        return permute();
      case 6:
        return flatten();
      case 7:
      case 8:
        return window();
      case 9:
        return pad();
      case 10:
        return random_.chance(50) ? stride() : copies();
      case 11:
        return random_.chance(50) ? gather() : several_outputs();
      case 12:
        return reduce_one();
      case 13:
        return random_.chance(50) ? contract() : ragged();
      case 14:
        return convolve();
      default:
        return tuple_reduce();
    }
  }

  void elementwise() {
    const Node a = source();
    const int64_t kind = random_.between(0, 5), c = random_.between(1, 5);
    const DType narrow = random_.pick<DType>({int_type(8), uint_type(8), int_type(16)});
    const int64_t bound = kind == 0 ? a.bound * c + 1 : a.bound + c + 16;
    compute(a.shape, bound, [&](const std::vector<Var>& i) -> Expr {
      const Expr v = a.tensor(indices(i));
      const auto k = [&](int64_t value) { return make_const(int_type(32), value); };
      switch (kind) {
        case 0:
          return v * k(c) + 1;
        case 1:
          return max(v, k(-c));
        case 2:
          return select(v > 0, v, 0 - v);
        case 3:
          return floor_mod(v, k(c + 1));
        case 4:
          return cast(type_, saturating_cast(narrow, v * k(7) - 60));
        default:
          return i.empty() ? v + k(c) : select(floor_mod(i[0], k(2)) == 0, v, v + k(c));
      }
    });
  }
  void binary() {
    const Node a = source(), b = matching(a.shape);
    const int64_t kind = random_.between(0, 4);
    compute(a.shape, a.bound + b.bound, [&](const std::vector<Var>& i) -> Expr {
      const Expr x = a.tensor(indices(i)), y = b.tensor(indices(i));
      switch (kind) {
        case 0:
          return x + y;
        case 1:
          return x - y;
        case 2:
          return max(x, y);
        case 3:
          return floor_div(x, y);
        default:
          return floor_mod(x, y);
      }
    });
  }
  void broadcast() {
    const Node a = source(1, 3);
    Shape row = {a.shape.back()};
    if (random_.chance(20)) row.clear();
    const Node b = matching(row);
    compute(a.shape, a.bound + b.bound, [&](const std::vector<Var>& i) -> Expr {
      return a.tensor(indices(i)) +
             (row.empty() ? b.tensor(std::vector<Expr>{}) : b.tensor(i.back()));
    });
  }
  void permute() {
    const Node a = source(1, 3);
    const bool reverse = a.shape.size() == 1 || random_.chance(30);
    Shape shape = a.shape;
    if (!reverse) std::rotate(shape.begin(), shape.begin() + 1, shape.end());
    compute(shape, a.bound, [&](const std::vector<Var>& i) -> Expr {
      std::vector<Expr> at = indices(i);
      if (reverse) {
        at[0] = a.shape[0].expr - 1 - at[0];
      } else {
        std::rotate(at.begin(), at.end() - 1, at.end());
      }
      return a.tensor(at);
    });
  }
  void flatten() {
    if (random_.chance(50)) {
      const Node a = source(2, 2);
      const Extent all = {a.shape[0].expr * a.shape[1].expr, a.shape[0].value * a.shape[1].value};
      compute({all}, a.bound, [&](const std::vector<Var>& i) -> Expr {
        if (is_zero(a.shape[1].expr)) return a.tensor(0, 0);  // nothing divides by 0
        return a.tensor(floor_div(i[0], a.shape[1].expr), floor_mod(i[0], a.shape[1].expr));
      });
    } else {
      const Node a = source(1, 1);
      const int64_t inner = random_.between(2, 4);
      if (!is_const(a.shape[0].expr) || a.shape[0].value % inner != 0) return;
      compute({constant(a.shape[0].value / inner), constant(inner)}, a.bound,
              [&](const std::vector<Var>& i) -> Expr {
                return a.tensor(i[0] * static_cast<int>(inner) + i[1]);
              });
    }
  }
  void window() {
    const Node a = source(1, 3);
    const size_t d =
        static_cast<size_t>(random_.between(0, static_cast<int64_t>(a.shape.size()) - 1));
    const int64_t reach = random_.between(1, 3);
    Shape shape = a.shape;
    shape[d] = {a.shape[d].expr - static_cast<int>(reach), a.shape[d].value - reach};
    compute(shape, a.bound * 3, [&](const std::vector<Var>& i) -> Expr {
      std::vector<Expr> first = indices(i), middle = first, last = first;
      middle[d] = middle[d] + static_cast<int>(reach / 2);
      last[d] = last[d] + static_cast<int>(reach);
      return a.tensor(first) + a.tensor(middle) - a.tensor(last);
    });
  }
  void pad() {
    const Node a = source(1, 2);
    const int before = static_cast<int>(random_.between(0, 3)),
              after = static_cast<int>(random_.between(0, 3));
    Shape shape = a.shape;
    for (Extent& e : shape) e = {e.expr + (before + after), e.value + before + after};
    compute(shape, a.bound, [&](const std::vector<Var>& i) -> Expr {
      Expr inside = make_bool(true);
      std::vector<Expr> at;
      for (size_t d = 0; d < i.size(); ++d) {
        inside = inside && i[d] >= before && i[d] < a.shape[d].expr + before;
        at.push_back(i[d] - before);
      }
      return if_then_else(inside, a.tensor(at), make_const(type_, 7));
    });
  }
  void stride() {
    const Node a = source(1, 2);
    const int by = static_cast<int>(random_.between(2, 3)),
              first = static_cast<int>(random_.between(0, 1));
    if (a.shape[0].value <= first) return;
    Shape shape = a.shape;
    shape[0] = {floor_div(a.shape[0].expr - first + (by - 1), Expr(by)),
                (a.shape[0].value - first + by - 1) / by};
    compute(shape, a.bound, [&](const std::vector<Var>& i) -> Expr {
      std::vector<Expr> at = indices(i);
      at[0] = at[0] * by + first;
      return a.tensor(at);
    });
  }
  // Of each element of a dimension, or of the dimension as a whole.
  void copies() {
    const Node a = source(1, 2);
    const auto d =
        static_cast<size_t>(random_.between(0, static_cast<int64_t>(a.shape.size()) - 1));
    const int times = static_cast<int>(random_.between(2, 4));
    const Extent once = a.shape[d];
    if (elements(a.shape) * times > options_.most_elements || is_zero(once.expr)) return;
    Shape shape = a.shape;
    shape[d] = {once.expr * times, once.value * times};
    const bool of_each = random_.chance(50);
    compute(shape, a.bound, [&](const std::vector<Var>& i) -> Expr {
      std::vector<Expr> at = indices(i);
      at[d] = of_each ? floor_div(at[d], Expr(times)) : floor_mod(at[d], once.expr);
      return a.tensor(at);
    });
  }
  void gather() {
    if (type_.is_vector()) return;  // which are no indices
    const Node a = source(1, 2), which = source(1, 1);
    if (a.shape[0].value == 0) return;
    Shape shape = a.shape;
    shape[0] = which.shape[0];
    compute(shape, a.bound, [&](const std::vector<Var>& i) -> Expr {
      std::vector<Expr> at = indices(i);
      at[0] = max(min(which.tensor(i[0]), a.shape[0].expr - 1), Expr(0));
      return a.tensor(at);
    });
  }
  void several_outputs() {
    const Node a = source(0, 2);
    if (!fits(a.shape, a.bound * 2 + 1)) return;
    const auto f = [&](const std::vector<Var>& i) {
      const Expr v = a.tensor(indices(i));
      return std::vector<Expr>{v + 1, v * 2};
    };
    add(te::compute_many(exprs(a.shape), f, fresh_name()), a.shape, a.bound * 2 + 1);
  }

  // What a reduction starts from, at times: another tensor of its shape.
  std::optional<Node> some_start(const Shape& shape) {
    if (!random_.chance(25)) return std::nullopt;
    return matching(shape);
  }
  static int64_t bound_of(const std::optional<Node>& start) { return start ? start->bound : 0; }
  static Expr at(const std::optional<Node>& start, const std::vector<Var>& i) {
    return start ? start->tensor(indices(i)) : Expr();
  }

  // The sum, or at times another reduction.
  Expr some_sum(const Expr& term, const std::vector<IterVar>& axes, const Expr& condition = {}) {
    if (options_.odd_percent == 0 || !random_.chance(options_.odd_percent))
      return te::sum(term, axes, condition);
    return te::reduce(odd_reducer(random_, type_), {term}, axes, condition)[0];
  }

  void reduce_one() {
    const Node a = source(1, 3);
    const size_t d =
        static_cast<size_t>(random_.between(0, static_cast<int64_t>(a.shape.size()) - 1));
    const int64_t kind = random_.between(0, 3);
    const int first = kind == 2 && a.shape[d].value > 1 && is_const(a.shape[d].expr) ? 1 : 0;
    Shape shape = a.shape;
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(d));
    const IterVar k = te::reduce_axis({first, a.shape[d].expr - first}, "k" + std::to_string(d));
    const std::optional<Node> start = some_start(shape);
    compute(shape,
            std::max<int64_t>(a.bound * a.shape[d].value, 16) + kOddIdentity + bound_of(start),
            [&](const std::vector<Var>& i) -> Expr {
              std::vector<Expr> of = indices(i);
              of.insert(of.begin() + static_cast<std::ptrdiff_t>(d), k.var());
              const Expr condition =
                  kind == 3 ? floor_mod(k.var() + (i.empty() ? Expr(0) : Expr(i[0])), Expr(2)) == 0
                            : Expr();
              return te::starting_from(some_sum(a.tensor(of), {k}, condition), at(start, i));
            });
  }
  void contract() {
    const Node a = source(2, 2);
    const Extent columns = some_extent();
    const Node b = matching({a.shape[1], columns});
    const IterVar k = te::reduce_axis({0, a.shape[1].expr}, "k");
    const bool largest = random_.chance(25) && a.shape[1].value > 0;
    const Shape shape = {a.shape[0], columns};
    const std::optional<Node> start = some_start(shape);
    const int64_t bound = a.bound * b.bound * a.shape[1].value + kOddIdentity + bound_of(start);
    compute(shape, bound, [&](const std::vector<Var>& i) -> Expr {
      const Expr term = a.tensor(i[0], k.var()) * b.tensor(k.var(), i[1]);
      return te::starting_from(largest ? te::max(term, {k}) : some_sum(term, {k}), at(start, i));
    });
  }
  // Sums that are longer for one row than for another: up to the diagonal, from it on, along it, or
  // as long as another tensor says.
  void ragged() {
    const Node a = source(1, 2);
    const Extent rows = some_extent(), terms = a.shape[0];
    if (terms.value == 0) return;
    Shape shape = a.shape;
    shape[0] = rows;
    const bool weighted = random_.chance(40);
    const Node weight = weighted ? matching({rows, terms}) : a, length = matching({rows});
    const std::optional<Node> start = some_start(shape);
    // Vectors say no length.
    const int64_t kind = random_.between(0, type_.is_vector() ? 2 : 4), by = random_.between(1, 3);
    const int64_t bound =
        a.bound * (weighted ? weight.bound : 1) * terms.value + kOddIdentity + bound_of(start);
    compute(shape, bound, [&](const std::vector<Var>& i) -> Expr {
      const Expr row = i[0], step = make_const(int_type(32), by), said = length.tensor(row);
      Expr min = 0, end = tw::min(row * step + 1, terms.expr);
      if (kind == 1) {
        min = row;
        end = terms.expr;
      } else if (kind == 2) {
        min = tw::max(row - step, Expr(0));
        end = tw::min(row + step, terms.expr);
      } else if (kind >= 3) {
        min = kind == 3 ? Expr(0) : floor_mod(said, terms.expr);
        end = tw::min(min + floor_mod(said, step + 3), terms.expr);
      }
      const IterVar k = te::reduce_axis({min, end - min}, "k");
      std::vector<Expr> of = indices(i);
      of[0] = k.var();
      Expr term = a.tensor(of);
      if (weighted) term = term * weight.tensor(row, k.var());
      return te::starting_from(some_sum(term, {k}), at(start, i));
    });
  }
  void convolve() {
    const int64_t rank = random_.between(1, 2);
    const Node a = source(static_cast<int>(rank), static_cast<int>(rank));
    const int by = static_cast<int>(random_.between(1, 2));
    Shape shape, kernel;
    std::vector<IterVar> axes;
    int64_t terms = 1;
    for (size_t d = 0; d < a.shape.size(); ++d) {
      const int size = static_cast<int>(random_.between(1, 3));
      if (a.shape[d].value < size) return;
      kernel.push_back(constant(size));
      shape.push_back(
          {floor_div(a.shape[d].expr - size, Expr(by)) + 1, (a.shape[d].value - size) / by + 1});
      axes.push_back(te::reduce_axis({0, size}, "r" + std::to_string(d)));
      terms *= size;
    }
    const Node w = matching(kernel);
    const std::optional<Node> start = some_start(shape);
    const int64_t bound = a.bound * w.bound * terms + kOddIdentity + bound_of(start);
    compute(shape, bound, [&](const std::vector<Var>& i) -> Expr {
      std::vector<Expr> point, of;
      for (size_t d = 0; d < i.size(); ++d) {
        point.push_back(i[d] * by + axes[d].var());
        of.push_back(axes[d].var());
      }
      return te::starting_from(some_sum(a.tensor(point) * w.tensor(of), axes), at(start, i));
    });
  }
  // Sum and sum of squares, or the largest element and its first place: the second reads what the
  // first replaces.
  void tuple_reduce() {
    const Node a = source(1, 2);
    const bool place = random_.chance(60);
    if (place ? a.shape.back().value == 0 : a.bound > 1000) return;
    const Shape shape(a.shape.begin(), a.shape.end() - 1);
    const std::optional<Node> start = some_start(shape);
    const int64_t bound = bound_of(start) + (place ? std::max<int64_t>(a.bound, 64)
                                                   : a.bound * a.bound * a.shape.back().value);
    if (!fits(shape, bound)) return;
    CommReducer reducer;
    for (const char* name : {"x", "y"}) {
      reducer.lhs.emplace_back(std::string(name) + "0", type_);
      reducer.rhs.emplace_back(std::string(name) + "1", type_);
    }
    const auto &l = reducer.lhs, &r = reducer.rhs;
    if (place) {
      const Expr keep = l[0] > r[0] || (l[0] == r[0] && l[1] < r[1]);
      reducer.result = {select(keep, l[0], r[0]), select(keep, l[1], r[1])};
      reducer.identity = {make_const(type_, -kBound), make_const(type_, 63)};
    } else {
      reducer.result = {l[0] + r[0], l[1] + r[1]};
      reducer.identity = {make_zero(type_), make_zero(type_)};
    }
    const IterVar k = te::reduce_axis({0, a.shape.back().expr}, "k");
    const auto f = [&](const std::vector<Var>& i) {
      std::vector<Expr> of = indices(i);
      of.push_back(k.var());
      const Expr v = a.tensor(of);
      std::vector<Expr> init;
      if (start) init = {at(start, i), place ? make_const(type_, 70) : at(start, i) + 1};
      const Expr second = place ? cast(type_, k.var()) : v * v;
      return te::starting_from(te::reduce(reducer, {v, second}, {k}), init);
    };
    add(te::compute_many(exprs(shape), f, fresh_name()), shape, bound);
  }

  // Statements that add up what an input has before each element, in memory of the output or in
  // place, and count the elements that are positive.
  void statements() {
    const Node x = source(1, 2);
    const int64_t bound = x.bound * std::max<int64_t>(elements(x.shape), 16);
    if (!fits(x.shape, bound)) return;
    const DType type = type_;
    if (type.is_vector()) return;  // they address scalars
    const bool in_place = random_.chance(40);
    const Var from = buffer_var("from", type), to = in_place ? from : buffer_var("to", type),
              count = buffer_var("count", type), i("i"), j("j");
    const auto load = [&](const Var& buffer, const Expr& at) {
      return tw::make(Load{.type = type, .buffer = buffer, .index = at});
    };
    const auto store = [](const Var& buffer, const Expr& value, const Expr& at) {
      return tw::make(Store{.buffer = buffer, .value = value, .index = at});
    };
    Expr size = 1;
    for (const Extent& e : x.shape) size = size * e.expr;
    const Stmt add_up = store(
        to, load(to, max(i - 1, Expr(0))) * (select(i > 0, Expr(1), Expr(0))) + load(from, i), i);
    const Stmt counted = tw::make(IfThenElse{.condition = load(from, j) > 0,
                                             .then_case = store(count, load(count, 0) + 1, 0)});
    const auto over = [&](const Var& var, const Stmt& body) {
      return tw::make(For{.var = var, .min = 0, .extent = size, .body = body});
    };
    // What is positive is counted before it is replaced.
    Stmt first = in_place ? Stmt() : store(to, 0, 0);
    if (x.shape.empty() || elements(x.shape) == 0) first = {};
    const te::Operation op = te::extern_op(
        {.name = fresh_name(),
         .inputs = {x.tensor},
         .outputs = {{exprs(x.shape), type}, {{}, type}},
         .memory = {from, to, count},
         .body = block({store(count, 0, 0), over(j, counted), first, over(i, add_up)})});
    nodes_.push_back({op.output(0), x.shape, bound});
    nodes_.push_back({op.output(1), {}, 1000});
    ++computed_;
  }

  // A recurrence over the rows of a matrix: one or two states, a cell of one or several operations,
  // columns that stay apart or meet, one or two rows to begin with.
  void scan() {
    const Node x = source(2, 2);
    if (!is_const(x.shape[0].expr) || x.shape[0].value < 2) return;
    const int back =
        static_cast<int>(random_.between(1, std::min<int64_t>(2, x.shape[0].value - 1)));
    const int states = static_cast<int>(random_.between(1, 2));
    const bool meet = random_.chance(50), through = random_.chance(50), given = random_.chance(30);
    const bool other = states == 2 && random_.chance(50);
    if (!fits(x.shape, 1000)) return;
    Shape first = {constant(back), x.shape[1]};
    std::vector<te::Tensor> state, init, update;
    const std::string name = fresh_name();
    for (int k = 0; k < states; ++k) {
      const std::string part = name + (k == 0 ? "a" : "b");
      state.push_back(te::placeholder(exprs(x.shape), type_, part + "s"));
      const auto begin = [&](const std::vector<Var>& i) -> Expr {
        return given ? x.tensor(i[0], i[1]) : cast(type_, Expr(i[1]) + k);
      };
      init.push_back(te::compute(exprs(first), begin, part + "i"));
    }
    for (int k = 0; k < states; ++k) {
      const std::string part = name + (k == 0 ? "a" : "b");
      const IterVar j = te::reduce_axis({0, x.shape[1].expr}, "j");
      const auto early = [&](size_t of, const Expr& t, const Expr& i) {
        return state[of](max(t - back, Expr(0)), i);
      };
      te::Tensor carried;
      if (meet || through) {
        carried = te::compute(
            exprs(x.shape),
            [&](const std::vector<Var>& i) -> Expr {
              return meet ? te::sum(early(size_t(k), i[0], j.var()), {j})
                          : early(size_t(k), i[0], i[1]) + 1;
            },
            part + "c");
      }
      update.push_back(te::compute(
          exprs(x.shape),
          [&](const std::vector<Var>& i) -> Expr {
            const Expr before =
                carried.defined() ? carried(i[0], i[1]) : early(size_t(k), i[0], i[1]);
            Expr value = before + x.tensor(i[0], i[1]);
            if (other) value = value - early(size_t(1 - k), i[0], i[1]);
            if (k == 1 && through) value = value + update[0](i[0], i[1]);
            return floor_mod(value, make_const(type_, 97));
          },
          part + "u"));
    }
    std::vector<te::Tensor> inputs;
    if (random_.chance(30)) inputs.push_back(x.tensor);
    add(te::scan(init, update, state, inputs, name), x.shape, std::max<int64_t>(97, x.bound + 16));
  }

  Random& random_;
  RandomProgramOptions options_;
  DType type_ = int_type(32);
  Var symbol_;
  int64_t symbol_value_ = 0;  // 0: no symbolic extent
  std::vector<Node> nodes_;
  int computed_ = 0;
  int names_ = 0;
};

inline ProgramCase random_program(Random& random, RandomProgramOptions options = {}) {
  return RandomProgram(random, options).make();
}

}  // namespace tw::test
