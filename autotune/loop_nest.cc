// SPDX-License-Identifier: Apache-2.0
#include "autotune/loop_nest.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "ir/arithmetic/analyzer.h"
#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/visit.h"

namespace tw::autotune {
namespace {

// How far an index spreads while the loops from depth d inwards run: (greatest - least), by depth.
using Spread = std::vector<int64_t>;

// An index as a sum: coefficient * atom, where an atom is a loop variable, or whatever is not a
// sum.
struct Term {
  Expr atom;
  int64_t coefficient;
};
struct Sum {
  std::vector<Term> terms;
  int64_t constant = 0;
};

void add_to(Sum& sum, const Expr& e, int64_t scale) {
  if (auto value = as_const_int(e)) {
    sum.constant += scale * *value;
  } else if (const Add* add = as<Add>(e)) {
    add_to(sum, add->a, scale);
    add_to(sum, add->b, scale);
  } else if (const Sub* sub = as<Sub>(e)) {
    add_to(sum, sub->a, scale);
    add_to(sum, sub->b, -scale);
  } else if (const Cast* cast = as<Cast>(e)) {
    add_to(sum, cast->value, scale);
  } else if (const Mul* mul = as<Mul>(e); mul && as_const_int(mul->b)) {
    add_to(sum, mul->a, scale * *as_const_int(mul->b));
  } else if (mul && as_const_int(mul->a)) {
    add_to(sum, mul->b, scale * *as_const_int(mul->a));
  } else {
    sum.terms.push_back({e, scale});
  }
}

Sum sum_of(const Expr& e) {
  Sum sum;
  add_to(sum, e, 1);
  return sum;
}

// An index divided by a constant: `whole` divides evenly, `rest` is what is left.
struct Division {
  int64_t divisor;
  Sum whole, rest;
};
Division divide(const Expr& numerator, const Expr& divisor) {
  Division d{.divisor = std::max<int64_t>(1, std::abs(as_const_int(divisor).value_or(1)))};
  const Sum sum = sum_of(numerator);
  for (const Term& t : sum.terms) {
    if (t.coefficient % d.divisor == 0) {
      d.whole.terms.push_back({t.atom, t.coefficient / d.divisor});
    } else {
      d.rest.terms.push_back(t);
    }
  }
  d.rest.constant = ((sum.constant % d.divisor) + d.divisor) % d.divisor;
  return d;
}

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

  Spread spread(const Sum& sum) const {
    Spread total(extents_.size() + 1, 0);
    for (const Term& t : sum.terms) {
      const int64_t times = std::abs(t.coefficient);
      if (is<Variable>(t.atom)) {
        const size_t depth = depth_of(t.atom);
        if (depth == extents_.size()) continue;
        for (size_t d = 0; d <= depth; ++d) total[d] += times * (extents_[depth] - 1);
        continue;
      }
      const Spread s = atom_spread(t.atom);
      for (size_t d = 0; d < total.size(); ++d) total[d] += times * s[d];
    }
    return total;
  }

  // By how much the index moves when a loop steps, times `scale`, added to `strides` by loop. A
  // quotient that steps once every so often counts as moving.
  void add_strides(const Sum& sum, int64_t scale, std::vector<int64_t>& strides) const {
    for (const Term& t : sum.terms) add_atom_strides(t.atom, scale * t.coefficient, strides);
  }

 private:
  // The loop of the variable; their number for what is none.
  size_t depth_of(const Expr& variable) const {
    size_t depth = vars_.size();
    for (size_t l = 0; l < vars_.size(); ++l) {
      if (vars_[l].get() == variable.get()) depth = l;
    }
    return depth;
  }

  // Of what is no variable.
  Spread atom_spread(const Expr& atom) const {
    Spread s(extents_.size() + 1, 0);
    if (const FloorDiv* div = as<FloorDiv>(atom)) {
      const Division d = divide(div->a, div->b);
      s = spread(d.whole);
      const Spread rest = spread(d.rest);
      // What is left crosses a boundary only where it outgrows the divisor.
      const bool aligned = rest[0] + d.rest.constant < d.divisor;
      for (size_t i = 0; i < s.size() && !aligned; ++i) {
        s[i] += (rest[i] + d.divisor - 1) / d.divisor;
      }
    } else if (const FloorMod* mod = as<FloorMod>(atom)) {
      const Division d = divide(mod->a, mod->b);
      s = spread(d.rest);
      for (int64_t& x : s) x = std::min(x, d.divisor - 1);
    } else if (is<Min>(atom) || is<Max>(atom)) {
      const Expr& a = is<Min>(atom) ? as<Min>(atom)->a : as<Max>(atom)->a;
      const Expr& b = is<Min>(atom) ? as<Min>(atom)->b : as<Max>(atom)->b;
      const Spread x = spread(sum_of(a)), y = spread(sum_of(b));
      for (size_t i = 0; i < s.size(); ++i) s[i] = std::max(x[i], y[i]);
    }
    return s;
  }

  void add_atom_strides(const Expr& atom, int64_t scale, std::vector<int64_t>& strides) const {
    if (is<Variable>(atom)) {
      if (const size_t depth = depth_of(atom); depth < strides.size()) strides[depth] += scale;
    } else if (const FloorDiv* div = as<FloorDiv>(atom)) {
      const Division d = divide(div->a, div->b);
      add_strides(d.whole, scale, strides);
      if (spread(d.rest)[0] + d.rest.constant < d.divisor) return;
      std::vector<int64_t> rest(strides.size(), 0);
      add_strides(d.rest, 1, rest);
      for (size_t i = 0; i < strides.size(); ++i) strides[i] += rest[i] != 0 ? scale : 0;
    } else if (const FloorMod* mod = as<FloorMod>(atom)) {
      add_strides(divide(mod->a, mod->b).rest, scale, strides);
    }
  }

  std::vector<int64_t> extents_;
  std::vector<Var> vars_;
};

int divisions(const Expr& e) {
  int n = 0;
  for_each_expr(e, [&](const Expr& x) { n += is<FloorDiv>(x) || is<FloorMod>(x) ? 1 : 0; });
  return n;
}

bool has_division(const Expr& e) { return divisions(e) > 0; }

// What loops that were fused walk through, in as few dimensions as memory sees: [p/w, p%w] of a
// tensor, and p/w*w + p%w, are p. Gives the expressions that are computed no more.
std::vector<Expr> rejoin_fused(std::vector<Expr>& indices, std::vector<int64_t>& extents,
                               Analyzer& analyzer) {
  std::vector<Expr> gone;
  const auto replace = [&](Expr& index, const Expr& by) {
    gone.push_back(index);
    index = by;
  };
  for (Expr& index : indices) {
    if (divisions(index) < 2) continue;
    const Expr simpler = analyzer.canonical_simplify(index);
    if (divisions(simpler) < divisions(index)) replace(index, simpler);
  }
  for (size_t k = indices.size(); k-- > 1;) {
    Expr &outer = indices[k - 1], &inner = indices[k];
    if (divisions(outer) == 0 || divisions(inner) == 0) continue;
    const Expr row = make_const(outer.dtype(), extents[k]);
    const Expr joined = analyzer.canonical_simplify(outer * row + inner);
    if (divisions(joined) >= divisions(outer) + divisions(inner)) continue;
    gone.push_back(inner);
    replace(outer, joined);
    extents[k - 1] *= extents[k];
    indices.erase(indices.begin() + static_cast<std::ptrdiff_t>(k));
    extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(k));
  }
  return gone;
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

// Loops outside move the box by `strides` elements.
void align(Box& box, const std::vector<int64_t>& strides, size_t depth, int element_bytes) {
  auto common = static_cast<int64_t>(kLineBytes);  // buffers begin with a line
  for (size_t l = 0; l < depth; ++l) common = std::gcd(common, strides[l] * element_bytes);
  for (const Box::Step& s : box.steps) common = std::gcd(common, static_cast<int64_t>(s.bytes));
  box.alignment = double(common);
}

// Nodes by identity.
class ExprSet {
 public:
  void add_all(const Expr& root) {
    for_each_expr(root, [this](const Expr& e) { nodes_.push_back(e.get()); });
    sorted_ = false;
  }
  bool contains(const Expr& e) {
    if (!sorted_) std::ranges::sort(nodes_);
    sorted_ = true;
    return std::ranges::binary_search(nodes_, e.get());
  }

 private:
  std::vector<const ExprBase*> nodes_;
  bool sorted_ = true;
};

class NestWalk : public Visitor {
 public:
  std::vector<NestStatement> statements;

 protected:
  using Visitor::on;

  void on(const For& op) override {
    const int64_t extent = std::max<int64_t>(1, constant_or_one(op.extent));
    index_.push(op.var, extent);
    loops_.push_back({.extent = extent, .kind = op.for_kind, .id = next_id_++});
    visit(op.body);
    loops_.pop_back();
    index_.pop();
  }
  void on(const AttrStmt& op) override {
    const int64_t unroll = unroll_;
    const size_t unroll_depth = unroll_depth_;
    const bool nontemporal = nontemporal_;
    const std::string intrin = intrin_;
    if (op.key == attr::kAutoUnrollMaxStep) {
      unroll_ = constant_or_one(op.value);
      unroll_depth_ = loops_.size();
    }
    if (op.key == attr::kStoreNontemporal) nontemporal_ = constant_or_one(op.value) != 0;
    if (op.key == attr::kTensorIntrin) {
      intrin_ = as<StringImm>(op.value)->value;
      intrin_depth_ = loops_.size();
    }
    visit(op.body);
    unroll_ = unroll;
    unroll_depth_ = unroll_depth;
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
    if (op.for_write) fetched_.insert(op.producer.get());
  }
  void on(const Provide& op) override {
    NestStatement s{.loops = loops_,
                    .auto_unroll_max_step = unroll_,
                    .auto_unroll_depth = unroll_depth_,
                    .dtype = op.value.dtype(),
                    .intrin = intrin_,
                    .intrin_depth = intrin_.empty() ? 0 : intrin_depth_};
    ExprSet free;  // positions that cost nothing
    s.accesses.push_back(access(op.producer, op.value_index, {op.indices}, true, free));
    // Reads of one tensor are one access: their union is what memory sees.
    std::vector<std::pair<ProducerRef, int>> order;
    std::map<std::pair<const Producer*, int>, std::vector<std::vector<Expr>>> reads;
    bool reads_itself = false;
    for_each_expr(op.value, [&](const Expr& e) {
      const ProducerLoad* load = as<ProducerLoad>(e);
      if (load == nullptr) return;
      if (load->producer.get() == op.producer.get()) {
        reads_itself = true;
        return;
      }
      auto& list = reads[{load->producer.get(), load->value_index}];
      if (list.empty()) order.emplace_back(load->producer, load->value_index);
      list.push_back(load->indices);
    });
    for (const auto& [producer, index] : order) {
      s.accesses.push_back(access(producer, index, reads[{producer.get(), index}], false, free));
    }
    ExprSet positions = positions_in(op.value);
    for_each_expr(op.value, [&](const Expr& e) {
      if (!free.contains(e)) count(e, !positions.contains(e), s.operations);
    });
    for (size_t l = 0; l < s.loops.size(); ++l) {
      s.loops[l].reduces = reads_itself && s.accesses[0].strides[l] == 0;
    }
    s.is_init = order.empty();
    s.nontemporal = nontemporal_;
    s.prefetched = fetched_.contains(op.producer.get());
    statements.push_back(std::move(s));
  }

 private:
  // Integers that say where something is, and not what: of indices and of comparisons of them.
  static ExprSet positions_in(const Expr& value) {
    ExprSet found;
    for_each_expr(value, [&](const Expr& e) {
      if (const ProducerLoad* load = as<ProducerLoad>(e)) {
        for (const Expr& index : load->indices) found.add_all(index);
      }
      if (e.dtype().is_bool()) found.add_all(e);
    });
    return found;
  }

  // Integers of results are computed as floats are, a product in two steps; those of positions move
  // out of loops.
  static void count(const Expr& e, bool of_results, OperationCounts& c) {
    const bool floating = e.dtype().is_float();
    switch (e->kind) {
      case NodeKind::Add:
      case NodeKind::Sub: {
        (floating || of_results ? c.add : c.integer) += 1;
        const Add* add = as<Add>(e);
        if (floating && add && (is<Mul>(add->a) || is<Mul>(add->b))) c.fused += 1;
        break;
      }
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
        } else if (call->name != "if_then_else" && call->name != "likely") {
          c.math += 1;
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

  Access access(const ProducerRef& producer, int value_index, std::vector<std::vector<Expr>> reads,
                bool is_store, ExprSet& free) {
    BufferShape shape = shape_of(producer, value_index);
    if (reads.size() == 1 && std::ranges::any_of(reads[0], has_division)) {
      for (const Expr& e : rejoin_fused(reads[0], shape.extents, analyzer())) free.add_all(e);
    }
    const size_t depths = index_.depth() + 1, rank = shape.extents.size();
    Access a{.producer = producer.get(),
             .is_store = is_store,
             .is_local = shape.is_local,
             .element = producer->output_dtype(value_index).element(),
             .element_bytes = producer->output_dtype(value_index).element_bytes(),
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
      const std::vector<Expr>& indices = reads[r];
      std::vector<double> elements(depths, 1), rows(depths, 1);
      std::vector<Box> boxes(depths, Box{.run = double(a.element_bytes)});
      std::vector<int64_t> strides(index_.depth(), 0);
      int64_t stride = 1;
      for (size_t k = rank; k-- > 0;) {
        const Sum index = sum_of(indices[k]);
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
      for (size_t d = 0; d < depths; ++d) {
        align(boxes[d], strides, d, a.element_bytes);
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

  // Made when it is first needed, since most indices divide nothing. It knows no variable.
  Analyzer& analyzer() {
    if (!analyzer_) analyzer_.emplace();
    return *analyzer_;
  }

  std::optional<Analyzer> analyzer_;
  IndexModel index_;
  std::vector<NestLoop> loops_;
  std::map<std::pair<const Producer*, int>, BufferShape> shapes_;
  int64_t unroll_ = 0;
  size_t unroll_depth_ = 0;
  bool nontemporal_ = false;
  std::set<const Producer*> fetched_;  // for writing; look-ups only
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

std::vector<NestStatement> analyze_nest(const Stmt& stmt) {
  NestWalk walk;
  walk.visit(stmt);
  return std::move(walk.statements);
}

}  // namespace tw::autotune
