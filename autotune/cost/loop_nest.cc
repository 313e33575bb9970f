// SPDX-License-Identifier: Apache-2.0
#include "autotune/cost/loop_nest.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "autotune/cost/index_sum.h"
#include "autotune/cost/math_cost.h"
#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/visit.h"
#include "schedule/te/ragged_length.h"

namespace tw::autotune {
namespace {

// How far an index spreads while the loops from depth d inwards run: (greatest - least), by depth.
using Spread = std::vector<int64_t>;

constexpr double kIntegerProducts = 2;  // vector operations that multiply integers

class IndexModel {
 public:
  void push(const Var& var, int64_t extent) {
    extents_.push_back(extent);
    vars_.push_back(var);
  }
  void pop() {
    vars_.pop_back();
    extents_.pop_back();
  }
  size_t depth() const { return extents_.size(); }
  // Halfway through its loop; nothing for what is none.
  Expr middle(const Var& variable) const {
    const size_t depth = depth_of(variable);
    return depth == extents_.size() ? Expr() : make_const(int_type(64), extents_[depth] / 2);
  }

  // Nothing for what is no loop's variable, or that of a loop of one iteration.
  LoopSet loop_of(const Expr& variable) const {
    const size_t depth = depth_of(variable);
    return depth < extents_.size() && extents_[depth] > 1 ? loop_bit(depth) : 0;
  }

  Spread spread(const IndexSum& sum) const {
    Spread total(extents_.size() + 1, 0);
    for (const IndexSum::Term& t : sum.terms) {
      const int64_t times = std::abs(t.coefficient);
      if (t.of) {
        add(times, digit_spread(t), total);
      } else if (is<Variable>(t.atom)) {
        const size_t depth = depth_of(t.atom);
        if (depth == extents_.size()) continue;
        for (size_t d = 0; d <= depth; ++d) total[d] += times * (extents_[depth] - 1);
      } else if (is<Min>(t.atom) || is<Max>(t.atom)) {
        add(times, greater_spread(t.atom), total);
      }
    }
    return total;
  }

  // By how much the index moves when a loop steps, times `scale`, added to `strides` by loop. A
  // quotient that steps once every so often counts as moving.
  void add_strides(const IndexSum& sum, int64_t scale, std::vector<int64_t>& strides) const {
    for (const IndexSum::Term& t : sum.terms) {
      const int64_t times = scale * t.coefficient;
      if (t.of == nullptr) {
        if (const size_t depth = depth_of(t.atom); depth < strides.size()) strides[depth] += times;
      } else if (t.divisor == 1) {
        add_strides(*t.of, times, strides);
      } else if (crosses(t)) {
        std::vector<int64_t> inside(strides.size(), 0);
        add_strides(*t.of, 1, inside);
        for (size_t i = 0; i < strides.size(); ++i) strides[i] += inside[i] != 0 ? times : 0;
      }
    }
  }

 private:
  static void add(int64_t times, const Spread& more, Spread& total) {
    for (size_t d = 0; d < total.size(); ++d) total[d] += times * more[d];
  }

  // The loop of the variable; their number for what is none.
  size_t depth_of(const Expr& variable) const {
    size_t depth = vars_.size();
    for (size_t l = 0; l < vars_.size(); ++l) {
      if (vars_[l].get() == variable.get()) depth = l;
    }
    return depth;
  }

  // Whether the sum goes from one multiple of the digit's divisor to another.
  bool crosses(const IndexSum::Term& digit) const {
    return spread(*digit.of)[0] + digit.of->constant >= digit.divisor;
  }

  Spread digit_spread(const IndexSum::Term& digit) const {
    Spread s = spread(*digit.of);
    if (digit.divisor > 1) {
      const bool moves = s[0] + digit.of->constant >= digit.divisor;
      for (int64_t& x : s) x = moves ? (x + digit.divisor - 1) / digit.divisor : 0;
    }
    if (digit.modulus > 0) {
      for (int64_t& x : s) x = std::min(x, digit.modulus - 1);
    }
    return s;
  }

  Spread greater_spread(const Expr& min_or_max) const {
    const bool is_min = is<Min>(min_or_max);
    const Spread a = spread(index_sum(is_min ? as<Min>(min_or_max)->a : as<Max>(min_or_max)->a));
    Spread b = spread(index_sum(is_min ? as<Min>(min_or_max)->b : as<Max>(min_or_max)->b));
    for (size_t i = 0; i < b.size(); ++i) b[i] = std::max(a[i], b[i]);
    return b;
  }

  std::vector<int64_t> extents_;
  std::vector<Var> vars_;
};

// What loops that were fused walk through, in as few dimensions as memory sees: [p/w, p%w] of a
// tensor, and p/w*w + p%w, are p. Expressions that are computed no more go into `gone`.
std::vector<IndexSum> rejoined(const std::vector<Expr>& indices, std::vector<int64_t>& extents,
                               std::vector<Expr>& gone) {
  std::vector<IndexSum> sums;
  for (const Expr& index : indices) {
    int divisions = 0;
    sums.push_back(index_sum(index, &divisions));
    if (divisions > sums.back().digits()) gone.push_back(index);
  }
  for (size_t k = sums.size(); k-- > 1;) {
    const int outer = sums[k - 1].digits(), inner = sums[k].digits();
    if (outer == 0 || inner == 0) continue;
    IndexSum both = joined(sums[k - 1], extents[k], sums[k]);
    if (both.digits() >= outer + inner) continue;
    gone.push_back(indices[k - 1]);
    gone.push_back(indices[k]);
    sums[k - 1] = std::move(both);
    extents[k - 1] *= extents[k];
    sums.erase(sums.begin() + static_cast<std::ptrdiff_t>(k));
    extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(k));
  }
  return sums;
}

// What a realized (or argument) buffer looks like.
struct BufferShape {
  std::vector<int64_t> extents;
  bool is_local = false;
  size_t depth = 0;  // loops outside
};

bool compares_floats(const Expr& comparison) {
  bool found = false;
  for_each_expr(comparison, [&](const Expr& e) { found |= e.dtype().is_float(); });
  return found;
}

int64_t constant_or_one(const Expr& e) { return as_const_int(e).value_or(1); }

void extend(Box& box, Box::Step step) {
  if (step.count == 1) return;
  if (box.steps.empty() && step.bytes <= box.run) {
    box.run = (step.count - 1) * step.bytes + box.run;
  } else {
    box.steps.push_back(step);
  }
}

// Of the boxes by depth; loops outside of one move it by `strides` elements.
void align(std::vector<Box>& boxes, const std::vector<int64_t>& strides, int element_bytes) {
  auto outside = static_cast<int64_t>(kLineBytes);  // buffers begin with a line
  for (size_t d = 0; d < boxes.size(); ++d) {
    if (d > 0) outside = std::gcd(outside, strides[d - 1] * element_bytes);
    int64_t common = outside;
    for (const Box::Step& s : boxes[d].steps) {
      common = std::gcd(common, static_cast<int64_t>(s.bytes));
    }
    boxes[d].alignment = double(common);
  }
}

// All reads of one tensor. What memory sees is their union, so they are one access.
struct Reads {
  ProducerRef producer;
  int value_index;
  std::vector<const std::vector<Expr>*> indices;
};

// The reads of a value, in order of appearance, but for those of `self`, the tensor stored to.
class ReadsOfValue : public Visitor {
 public:
  explicit ReadsOfValue(const Producer* self) : self_(self) {}
  std::vector<Reads> reads;
  bool of_itself = false;

 protected:
  using Visitor::on;
  void on(const ProducerLoad& load) override {
    Visitor::on(load);
    if (load.producer.get() == self_) {
      of_itself = true;
      return;
    }
    auto known = std::ranges::find_if(reads, [&](const Reads& r) {
      return r.producer.same_as(load.producer) && r.value_index == load.value_index;
    });
    if (known == reads.end()) {
      reads.push_back({load.producer, load.value_index, {}});
      known = reads.end() - 1;
    }
    known->indices.push_back(&load.indices);
  }

 private:
  const Producer* self_;
};

class NestWalk : public Visitor {
 public:
  explicit NestWalk(const Producers& cold) : cold_(cold) {}
  std::vector<NestStatement> statements;

 protected:
  using Visitor::on;

  void on(const For& op) override {
    const int64_t extent = extent_of(op);
    index_.push(op.var, extent);
    loops_.push_back(
        {.extent = extent, .kind = op.for_kind, .id = next_id_++, .auto_unroll_max_step = unroll_});
    visit(op.body);
    loops_.pop_back();
    index_.pop();
  }
  void on(const AttrStmt& op) override {
    const int64_t unroll = unroll_;
    const bool nontemporal = nontemporal_;
    const std::string intrin = intrin_;
    if (op.key == attr::kAutoUnrollMaxStep) unroll_ = constant_or_one(op.value);
    if (op.key == attr::kStoreNontemporal) nontemporal_ = constant_or_one(op.value) != 0;
    if (op.key == attr::kTensorIntrin) {
      intrin_ = as<StringImm>(op.value)->value;
      intrin_depth_ = loops_.size();
    }
    visit(op.body);
    unroll_ = unroll;
    nontemporal_ = nontemporal;
    intrin_ = intrin;
  }
  void on(const Realize& op) override {
    const bool in_registers = op.scope == "local" || op.scope == attr::kTileScope;
    BufferShape shape{.is_local = in_registers, .depth = loops_.size()};
    for (const Range& r : op.bounds) shape.extents.push_back(constant_or_one(r.extent));
    shapes_[{op.producer.get(), op.value_index}] = std::move(shape);
    visit(op.body);
  }
  void on(const Prefetch& op) override {
    if (op.for_write) {
      fetched_.insert(op.producer.get());
      return;
    }
    double instructions = 1;
    for (const NestLoop& l : loops_) instructions *= double(l.extent);
    for (size_t d = 0; d < op.bounds.size(); ++d) {
      const bool last = d + 1 == op.bounds.size();
      const DType type = op.producer->output_dtype(op.value_index);
      const int64_t elements = kLineBytes / (type.element_bytes() * type.lanes);
      const int64_t step = last ? std::max<int64_t>(elements, 1) : 1;
      instructions *= std::ceil(double(constant_or_one(op.bounds[d].extent)) / double(step));
    }
    read_ahead_[op.producer.get()] += instructions;
  }
  void on(const Provide& op) override {
    NestStatement s{.loops = loops_,
                    .dtype = op.value.dtype(),
                    .intrin = intrin_,
                    .intrin_depth = intrin_.empty() ? 0 : intrin_depth_};
    std::vector<Expr> free;  // positions that cost nothing
    s.accesses.push_back(access(op.producer, op.value_index, {&op.indices}, true, free));
    ReadsOfValue value(op.producer.get());
    value.visit(op.value);
    for (const Reads& r : value.reads) {
      s.accesses.push_back(access(r.producer, r.value_index, r.indices, false, free));
    }
    for (size_t l = 0; l < s.loops.size(); ++l) {
      s.loops[l].reduces = value.of_itself && s.accesses[0].strides[l] == 0;
    }
    count_all(op.value, false, free, s);
    for (const OperationGroup& g : s.groups) s.operations += g.counts;
    s.is_init = value.reads.empty();
    s.nontemporal = nontemporal_;
    for (size_t k = 1; k < s.accesses.size(); ++k) {
      Access& a = s.accesses[k];
      a.is_cold = cold_.contains(a.producer);
      const auto ahead = read_ahead_.find(a.producer);
      if (ahead == read_ahead_.end()) continue;
      a.is_fetched = true;
      s.prefetched |= a.is_cold;
      s.prefetches += std::exchange(ahead->second, 0);
    }
    s.prefetched |= fetched_.contains(op.producer.get());
    statements.push_back(std::move(s));
  }

 private:
  int64_t extent_of(const For& op) const {
    if (const auto known = as_const_int(op.extent)) return std::max<int64_t>(1, *known);
    const auto middle = [this](const Var& v) { return index_.middle(v); };
    return te::expected_length(op.extent, middle, te::elements_along(op.body, op.var));
  }
  // Adds the operations of the expression to those of the statement, and gives the loops that its
  // value changes with. `position`: whether the expression says where something is, and not what;
  // so do indices and comparisons of them.
  LoopSet count_all(const Expr& e, bool position, const std::vector<Expr>& free,
                    NestStatement& s) const {
    const auto is_free = [&](const Expr& f) { return f.same_as(e); };
    if (position && std::ranges::any_of(free, is_free)) return loops_of(e);
    position = position || e.dtype().is_bool();
    const bool below = position || is<ProducerLoad>(e);
    if (is<Variable>(e)) return index_.loop_of(e);
    LoopSet loops = 0;
    std::vector<LoopSet> of_products;
    for_each_operand(e, [&](const Expr& o) {
      const LoopSet of_operand = count_all(o, below, free, s);
      if (is<Mul>(o)) of_products.push_back(of_operand);
      loops |= of_operand;
    });
    if (const ProducerLoad* load = as<ProducerLoad>(e)) {
      // A sum so far changes in every iteration.
      return load->producer.get() == s.accesses[0].producer ? s.all_loops() : loops;
    }
    if (loops == 0) return loops;
    OperationCounts& counts = group_of(loops, s);
    count(e, !position, counts);
    // A product that is computed once for several sums is no part of them.
    if (is<Add>(e) && e.dtype().is_float() && std::ranges::count(of_products, loops) > 0) {
      counts.fused += 1;
    }
    return loops;
  }

  LoopSet loops_of(const Expr& e) const {
    LoopSet loops = 0;
    for_each_expr(e, [&](const Expr& part) {
      if (is<Variable>(part)) loops |= index_.loop_of(part);
    });
    return loops;
  }

  static OperationCounts& group_of(LoopSet loops, NestStatement& s) {
    auto group = std::ranges::find(s.groups, loops, &OperationGroup::loops);
    if (group == s.groups.end()) group = s.groups.insert(group, {.loops = loops});
    return group->counts;
  }

  // Integers of results are computed as floats are, a product in two steps; those of positions move
  // out of loops.
  static void count(const Expr& e, bool of_results, OperationCounts& c) {
    const bool floating = e.dtype().is_float();
    switch (e->kind) {
      case NodeKind::Add:
      case NodeKind::Sub:
        (floating || of_results ? c.add : c.integer) += 1;
        break;
      case NodeKind::Mul:
        if (floating || of_results) {
          c.multiply += floating ? 1 : kIntegerProducts;
        } else {
          c.integer += 1;
        }
        break;
      case NodeKind::Div:
        (floating ? c.divide : c.integer) += 1;
        break;
      case NodeKind::FloorDiv:
      case NodeKind::FloorMod:
      case NodeKind::Mod:
        c.integer += 1;
        break;
      case NodeKind::Min:
      case NodeKind::Max:
        c.compare += 1;
        break;
      case NodeKind::Equal:
      case NodeKind::NotEqual:
      case NodeKind::Less:
      case NodeKind::LessEqual:
      case NodeKind::Greater:
      case NodeKind::GreaterEqual:
        (compares_floats(e) ? c.compare : c.condition) += 1;
        break;
      case NodeKind::Select:
        c.select += 1;
        break;
      case NodeKind::Cast:
        c.convert += 1;
        break;
      case NodeKind::Call: {
        const Call* call = as<Call>(e);
        // The loads of if_then_else are masked, or not made.
        if (call->name == "saturating_cast") {
          c.convert += 1;
        } else if (call->name == "if_then_else") {
          c.guarded += 1;
        } else if (call->name != "likely") {
          const MathCost cost = math_cost(call->name, e.dtype());
          c.math += 1;
          c.expanded += cost.operations > 0 ? 1 : 0;
          c.expanded_operations += cost.operations;
          c.expanded_divide += cost.divisions;
        }
        break;
      }
      default:
        break;
    }
  }

  BufferShape shape_of(const ProducerRef& producer, int value_index) const {
    if (auto it = shapes_.find({producer.get(), value_index}); it != shapes_.end()) {
      return it->second;
    }
    BufferShape shape;
    for (const Expr& e : producer->output_shape(value_index)) {
      shape.extents.push_back(constant_or_one(e));
    }
    return shape;
  }

  // `reads`: the indices of each read, or of the store. Those that cost nothing go into `free`.
  Access access(const ProducerRef& producer, int value_index,
                const std::vector<const std::vector<Expr>*>& reads, bool is_store,
                std::vector<Expr>& free) {
    BufferShape shape = shape_of(producer, value_index);
    const DType type = producer->output_dtype(value_index);
    std::vector<IndexSum> sums;
    if (reads.size() == 1) sums = rejoined(*reads[0], shape.extents, free);
    const size_t depths = index_.depth() + 1, rank = shape.extents.size();
    Access a{.producer = producer.get(),
             .is_store = is_store,
             .is_local = shape.is_local,
             .element = type.element(),
             .element_bytes = type.element_bytes() * type.lanes,
             .realize_depth = shape.depth};
    a.allocated_elements = 1;
    for (int64_t e : shape.extents) a.allocated_elements *= double(e);
    // What lies side by side: the innermost dimension, and where that is no more than a word the
    // next one with it.
    size_t outside = rank;  // dimensions
    int64_t row = a.element_bytes;
    while (outside > 0 && (outside == rank || row <= kWordBytes)) row *= shape.extents[--outside];
    a.row_bytes = double(row);
    for (auto* by_depth : {&a.elements, &a.rows, &a.lines, &a.pages}) by_depth->assign(depths, 0);
    for (size_t r = 0; r < reads.size(); ++r) {
      if (reads.size() > 1) {
        sums.clear();
        for (const Expr& index : *reads[r]) sums.push_back(index_sum(index));
      }
      std::vector<double> elements(depths, 1), rows(depths, 1);
      std::vector<Box> boxes(depths, Box{.run = double(a.element_bytes)});
      std::vector<int64_t> strides(index_.depth(), 0);
      int64_t stride = 1;
      for (size_t k = rank; k-- > 0;) {
        const IndexSum& index = sums[k];
        const Spread spread = index_.spread(index);
        for (size_t d = 0; d < depths; ++d) {
          const double extent = double(std::min(spread[d] + 1, shape.extents[k]));
          elements[d] *= extent;
          if (k < outside) rows[d] *= extent;
          extend(boxes[d], {.count = extent, .bytes = double(stride * a.element_bytes)});
        }
        index_.add_strides(index, stride, strides);
        stride *= shape.extents[k];
      }
      align(boxes, strides, a.element_bytes);
      for (size_t d = 0; d < depths; ++d) {
        a.elements[d] += elements[d];
        a.rows[d] += rows[d];
        a.lines[d] += boxes[d].lines();
        a.pages[d] += boxes[d].pages();
      }
      if (r > 0) continue;
      a.strides = strides;
      a.boxes = std::move(boxes);
    }
    const double most = a.allocated_elements * a.element_bytes;
    for (size_t d = 0; d < depths; ++d) {
      a.elements[d] = std::min(a.elements[d], a.allocated_elements);
      a.lines[d] = std::min(a.lines[d], std::ceil(most / kLineBytes));
      a.pages[d] = std::min(a.pages[d], std::ceil(most / kPageBytes));
    }
    for (size_t l = 0; l < a.strides.size(); ++l) {
      a.has_reuse |= a.strides[l] == 0 && loops_[l].extent > 1;
    }
    return a;
  }

  IndexModel index_;
  std::vector<NestLoop> loops_;
  std::map<std::pair<const Producer*, int>, BufferShape> shapes_;
  int64_t unroll_ = 0;
  bool nontemporal_ = false;
  const Producers& cold_;
  Producers fetched_;                             // for writing
  std::map<const Producer*, double> read_ahead_;  // instructions that no statement has counted
  std::string intrin_;
  size_t intrin_depth_ = 0;
  int next_id_ = 0;
};

}  // namespace

double Box::runs() const {
  double n = 1;
  for (const Step& s : steps) n *= s.count;
  return n;
}

double Box::lines() const {
  const double begins = std::ceil(run / alignment);  // places in it where a line may begin
  const double alone = runs() * (1 + (begins - 1) * alignment / kLineBytes);
  // Runs of less than a line share lines with those after them.
  double span = run;
  size_t k = 0;
  for (; k < steps.size() && steps[k].bytes < kLineBytes; ++k) {
    span += (steps[k].count - 1) * steps[k].bytes;
  }
  double outside = 1;
  for (; k < steps.size(); ++k) outside *= steps[k].count;
  return std::min(alone, outside * std::ceil(span / kLineBytes + 1));
}

double Box::pages() const {
  double span = run, n = 1;
  for (const Step& s : steps) {
    if (n == 1 && s.bytes < kPageBytes) {
      span += (s.count - 1) * s.bytes;
    } else if (n * std::max(span, kPageBytes) >= s.bytes) {
      span = s.count * s.bytes, n = 1;
    } else {
      n *= s.count;
    }
  }
  return n * std::max(1.0, span / kPageBytes);
}

double NestStatement::iterations() const {
  double n = 1;
  for (const NestLoop& l : loops) n *= double(l.extent);
  return n;
}

LoopSet NestStatement::all_loops() const {
  LoopSet all = 0;
  for (size_t l = 0; l < loops.size(); ++l) all |= loops[l].extent > 1 ? loop_bit(l) : 0;
  return all;
}

OperationCounts& OperationCounts::operator+=(const OperationCounts& o) {
  add += o.add, multiply += o.multiply, divide += o.divide, compare += o.compare;
  select += o.select, math += o.math, integer += o.integer, convert += o.convert;
  condition += o.condition, guarded += o.guarded, fused += o.fused;
  expanded += o.expanded, expanded_operations += o.expanded_operations;
  expanded_divide += o.expanded_divide;
  return *this;
}

std::vector<NestStatement> analyze_nest(const Stmt& stmt, const Producers& cold) {
  NestWalk walk(cold);
  walk.visit(stmt);
  return std::move(walk.statements);
}

}  // namespace tw::autotune
