// SPDX-License-Identifier: Apache-2.0
#include "schedule/te/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "ir/arithmetic/analyzer.h"
#include "ir/expr.h"
#include "ir/visit.h"
#include "runtime/error.h"
#include "schedule/te/evaluation.h"
#include "schedule/te/writer.h"

namespace tw::te {
namespace {

// Computes row after row, so that the depth of a run does not grow with the number of rows.
class ScanEvaluator : public PointEvaluator {
 public:
  ScanEvaluator(Evaluation& run, const ScanNode& op) {
    for (int k = 0; k < op.num_outputs(); ++k) {
      const auto part = [&](const std::vector<Tensor>& tensors) {
        const Tensor& t = tensors[static_cast<size_t>(k)];
        return &run.tensor(t.op().get(), t.value_index());
      };
      outputs_.push_back({.stored = &run.tensor(&op, k),
                          .init = part(op.inits),
                          .update = part(op.updates),
                          .state = part(op.states)});
      states_.push_back(std::make_unique<StateReader>(*this, static_cast<size_t>(k)));
      outputs_.back().state->producer = states_.back().get();
    }
  }

  void compute(int64_t flat, int value_index) override {
    const auto k = static_cast<size_t>(value_index);
    const int64_t row = flat / outputs_[k].stored->strides[0];
    for (; rows_ < row; ++rows_) {
      for (size_t j = 0; j < outputs_.size(); ++j) {
        const int64_t stride = outputs_[j].stored->strides[0];
        for (int64_t i = 0; i < stride; ++i) element(j, rows_ * stride + i);
      }
    }
    element(k, flat);
  }

 private:
  struct Output {
    TensorState *stored, *init, *update, *state;
  };
  // A state has the elements of the rows that are complete.
  struct StateReader : PointEvaluator {
    StateReader(ScanEvaluator& s, size_t output) : scan(s), k(output) {}
    void compute(int64_t flat, int) override {
      const Output& out = scan.outputs_[k];
      if (flat / out.stored->strides[0] >= scan.rows_) return;
      for (int lane = 0; lane < out.stored->lanes; ++lane)
        out.state->set(flat, lane, out.stored->read(flat, lane));
    }
    ScanEvaluator& scan;
    size_t k;
  };

  void element(size_t k, int64_t flat) {
    const Output& out = outputs_[k];
    if (out.stored->known[out.stored->place(flat, 0)]) return;
    TensorState& from =
        flat / out.stored->strides[0] < out.init->shape[0] ? *out.init : *out.update;
    for (int lane = 0; lane < out.stored->lanes; ++lane)
      out.stored->set(flat, lane, from.read(flat, lane));
  }

  std::vector<Output> outputs_;
  std::vector<std::unique_ptr<StateReader>> states_;
  int64_t rows_ = 0;  // complete ones
};

// Which positions of tensors depend on each other: sets of (tensor's operation, dimension), joined
// where one is read at the position of another, and with `anywhere` where it is not.
class Positions {
 public:
  using Place = std::pair<const Producer*, size_t>;
  void join(const Place& a, const Place& b) { above_[root(number(a))] = root(number(b)); }
  void lose(const Place& a) { above_[root(number(a))] = root(0); }
  bool is_lost(const Place& a) { return root(number(a)) == root(0); }
  int set_of(const Place& a) { return root(number(a)); }

 private:
  int number(const Place& a) {
    const auto [it, added] = numbers_.emplace(a, static_cast<int>(above_.size()));
    if (added) above_.push_back(it->second);
    return it->second;
  }
  int root(int n) const {
    while (above_[static_cast<size_t>(n)] != n) n = above_[static_cast<size_t>(n)];
    return n;
  }
  std::map<Place, int> numbers_;
  std::vector<int> above_ = {0};
};

bool contains(const std::vector<Tensor>& list, const Tensor& t) {
  return std::ranges::find(list, t) != list.end();
}

[[noreturn]] void misfit(ErrorCode code, const std::string& name, std::string what,
                         std::string legal) {
  raise({.code = code, .what = std::move(what), .stage = name, .legal = std::move(legal)});
}

std::string shape_text(const std::vector<Expr>& shape) {
  std::string text;
  for (const Expr& e : shape) text += (text.empty() ? "" : ", ") + to_string(e);
  return "[" + text + "]";
}

// Whether it is computed element by element, so that it can store into the scan's memory.
bool is_computed_in_place(const Tensor& t) {
  return !t.op()->is_placeholder() && t.op()->parts().empty() &&
         t.op()->data_axes().size() == t.shape().size();
}

// BadArgument for parts that cannot store into memory of their own in the scan.
void check_in_place(const std::string& name, const std::vector<Tensor>& inits,
                    const std::vector<Tensor>& updates) {
  std::vector<Tensor> seen;
  for (const auto* list : {&inits, &updates}) {
    for (const Tensor& t : *list) {
      if (!is_computed_in_place(t) || contains(seen, t)) {
        misfit(ErrorCode::BadArgument, name,
               fmt::format("'{}' is {}", t.name(),
                           contains(seen, t) ? "two of its parts" : "not computed by elements"),
               "a compute of its own for each part, such as a copy");
      }
      seen.push_back(t);
    }
  }
}

void check_parts(const std::string& name, const std::vector<Tensor>& inits,
                 const std::vector<Tensor>& updates, const std::vector<Tensor>& states,
                 Analyzer& analyzer) {
  if (updates.empty() || inits.size() != updates.size() || states.size() != updates.size()) {
    misfit(ErrorCode::BadArgument, name,
           fmt::format("{} tensors to begin with, {} updates and {} states", inits.size(),
                       updates.size(), states.size()),
           "one of each for every state");
  }
  const auto equal_extents = [&](const Expr& a, const Expr& b) {
    return analyzer.can_prove(a == cast(a.dtype(), b));
  };
  for (size_t k = 0; k < updates.size(); ++k) {
    const Tensor &init = inits[k], &update = updates[k], &state = states[k];
    const std::vector<Expr> shape = state.shape();
    if (!state.op()->is_placeholder() || is_constant(state)) {
      misfit(ErrorCode::BadArgument, name, fmt::format("state '{}' is computed", state.name()),
             "a placeholder of its own for each state");
    }
    if (std::count(states.begin(), states.end(), state) > 1) {
      misfit(ErrorCode::BadArgument, name, fmt::format("state '{}' stands twice", state.name()),
             "a placeholder of its own for each state");
    }
    if (shape.empty()) {
      misfit(ErrorCode::BadShape, name, fmt::format("state '{}' has rank 0", state.name()),
             "a first dimension that is time");
    }
    for (const auto& [t, what] :
         {std::pair(&init, "begins with"), std::pair(&update, "is updated by")}) {
      if (t->dtype() != state.dtype()) {
        misfit(ErrorCode::TypeMismatch, name,
               fmt::format("state '{}' of {} {} '{}' of {}", state.name(), to_string(state.dtype()),
                           what, t->name(), to_string(t->dtype())),
               "equal element types");
      }
      const std::vector<Expr> other = t->shape();
      bool fits = other.size() == shape.size();
      for (size_t d = t == &init ? 1 : 0; d < shape.size() && fits; ++d)
        fits = equal_extents(shape[d], other[d]);
      fits = fits && (t != &init || equal_extents(inits[0].shape()[0], other[0]));
      if (fits) continue;
      misfit(ErrorCode::BadShape, name,
             fmt::format("state '{}' of shape {} {} '{}' of shape {}", state.name(),
                         shape_text(shape), what, t->name(), shape_text(other)),
             "equal shapes; of what it begins with only the first extent is less, the number of "
             "rows that are given, which is the same for all states");
    }
    const auto rows = as_const_int(init.shape()[0]), all = as_const_int(shape[0]);
    if (rows && all && *rows > *all) {
      misfit(ErrorCode::BadShape, name, fmt::format("{} rows of {} are given", *rows, *all),
             "fewer rows than the state has");
    }
  }
}

// What no other part of the scan stores, or a copy.
std::vector<Tensor> in_place(const std::vector<Tensor>& tensors, const std::vector<Tensor>& taken,
                             const char* suffix) {
  std::vector<Tensor> result;
  for (const Tensor& t : tensors) {
    const bool own = is_computed_in_place(t) && !contains(taken, t) && !contains(result, t);
    const auto copy = [&](const std::vector<Var>& i) {
      return t(std::vector<Expr>(i.begin(), i.end()));
    };
    result.push_back(own ? t : compute(t.shape(), copy, t.name() + suffix));
  }
  return result;
}

}  // namespace

FixPoint fix_point(const std::vector<Tensor>& updates, const std::vector<Tensor>& states) {
  // The operations between states and updates.
  std::unordered_set<const Producer*> body;
  std::vector<Operation> order;
  for (const Operation& op : operations(updates)) {
    const auto is_state = [&](const Tensor& t) { return contains(states, t); };
    const std::vector<Tensor> inputs = op->input_tensors();
    const bool inside = std::ranges::any_of(
        inputs, [&](const Tensor& t) { return is_state(t) || body.contains(t.op().get()); });
    if (!inside) continue;
    body.insert(op.get());
    order.push_back(op);
  }
  Positions positions;
  for (size_t k = 0; k < updates.size(); ++k) {
    for (size_t d = 1; d < states[k].shape().size(); ++d)
      positions.join({updates[k].op().get(), d}, {states[k].op().get(), d});
  }
  for (const Operation& op : order) {
    const std::vector<IterVar>& axes = op->data_axes();
    for (const Expr& body_of : op->evaluated()) {
      for_each_expr(body_of, [&](const Expr& e) {
        const ProducerLoad* load = as<ProducerLoad>(e);
        if (!load) return;
        const Producer* read = load->producer.get();
        const auto is_it = [&](const Tensor& t) { return t.op().get() == read; };
        if (!body.contains(read) && std::ranges::none_of(states, is_it)) return;
        for (size_t d = 0; d < load->indices.size(); ++d) {
          const Expr& index = load->indices[d];
          const Variable* v = index.defined() ? as<Variable>(index) : nullptr;
          size_t axis = 0;
          while (axis < axes.size() && axes[axis]->var.get() != v) ++axis;
          if (op->parts().empty() && axis < axes.size()) {
            positions.join({read, d}, {op.get(), axis});
          } else {
            positions.lose({read, d});
          }
        }
      });
    }
  }
  // Dimensions of one tensor that depend on each other are those of a transposition.
  for (const Tensor& state : states) {
    const size_t rank = state.shape().size();
    for (size_t d = 1; d < rank; ++d) {
      for (size_t other = 1; other < d; ++other) {
        const Producer* op = state.op().get();
        if (positions.set_of({op, d}) == positions.set_of({op, other})) positions.lose({op, d});
      }
    }
  }
  FixPoint result;
  for (const Tensor& state : states) {
    result.fixed.emplace_back();
    result.group.emplace_back();
    for (size_t d = 1; d < state.shape().size(); ++d) {
      result.fixed.back().push_back(!positions.is_lost({state.op().get(), d}));
      result.group.back().push_back(positions.set_of({state.op().get(), d}));
    }
  }
  return result;
}

Range ScanNode::computed(const IterVar& axis, const Range& needed) const {
  const bool part =
      std::ranges::any_of(fixed, [&](const IterVar& a) { return a->var.same_as(axis->var); });
  return part ? needed : axis->domain;
}

std::vector<Part> ScanNode::parts() const {
  std::vector<Part> result;
  for (int k = 0; k < num_outputs(); ++k) {
    const auto at = static_cast<size_t>(k);
    result.push_back({inits[at], k, Part::Role::Init});
    result.push_back({updates[at], k, Part::Role::Update});
    result.push_back({states[at], k, Part::Role::State});
  }
  return result;
}

std::vector<Expr> ScanNode::evaluated() const {
  std::vector<Expr> reads;
  for (const bool first : {true, false}) {
    for (size_t k = 0; k < updates.size(); ++k) {
      const Tensor& t = first ? inits[k] : updates[k];
      std::vector<Expr> indices;
      for (const IterVar& a : axes[k]) indices.push_back(a->var);
      if (first) indices[0] = Expr();
      reads.push_back(make(ProducerLoad{
          .producer = t.op(), .value_index = t.value_index(), .indices = std::move(indices)}));
    }
  }
  return reads;
}

// All rows, also those of the beginning.
std::vector<Range> ScanNode::realized(int value_index, const DomainMap& domains) const {
  const auto k = static_cast<size_t>(value_index);
  const Expr rows = output_shape(value_index)[0];
  std::vector<Range> bounds = {{make_zero(rows.dtype()), rows}};
  for (size_t d = 1; d < axes[k].size(); ++d) bounds.push_back(domains.at(axes[k][d]->var));
  return bounds;
}

// The stages of its parts do all that there is to do.
Stmt ScanNode::update(const VarMap&, std::vector<Expr>&) const { return {}; }

Operation ScanNode::with_reads(const ReadRewrite& f) const {
  auto* node = new ScanNode(*this);
  const Operation result(node);
  node->serial = next_serial();
  const std::vector<Expr> reads = evaluated();
  for (size_t k = 0; k < reads.size(); ++k) {
    const Expr next = f(*as<ProducerLoad>(reads[k]));
    if (!next.defined()) continue;
    const ProducerLoad* load = as<ProducerLoad>(next);
    TW_CHECK(load != nullptr, "a part of a scan that is not stored");
    const auto* producer = as_op<OperationNode>(load->producer);
    const Tensor t(Operation(producer), load->value_index);
    (k < inits.size() ? node->inits[k] : node->updates[k - inits.size()]) = t;
  }
  check_in_place(name, node->inits, node->updates);
  return result;
}

Operation ScanNode::with_axes(const std::string& new_name, const AxisReplacement& with) const {
  auto* node = new ScanNode(*this);
  const Operation result(node);
  node->serial = next_serial();
  node->name = new_name;
  const auto replace = [&](IterVar& a) {
    for (const auto& [old_axis, new_axis] : with) {
      if (old_axis->var.same_as(a->var)) {
        a = new_axis;
        return;
      }
    }
  };
  replace(node->time);
  for (IterVar& a : node->all_axes) replace(a);
  for (IterVar& a : node->fixed) replace(a);
  for (auto& list : node->axes) {
    for (IterVar& a : list) replace(a);
  }
  return result;
}

void ScanNode::write(Writer& out) const {
  out.put("scan(init=");
  out.tensors(inits);
  out.put(", update=");
  out.tensors(updates);
  out.put(", state=");
  out.tensors(states);
  if (inputs.empty()) return;
  out.put(", inputs=");
  out.tensors(inputs);
}

std::unique_ptr<PointEvaluator> ScanNode::evaluator(Evaluation& run) const {
  return std::make_unique<ScanEvaluator>(run, *this);
}

Operation scan_op(std::string name, std::vector<Tensor> inits, std::vector<Tensor> updates,
                  std::vector<Tensor> states, std::vector<Tensor> inputs, std::string tag,
                  Attributes attributes) {
  Analyzer analyzer;
  check_parts(name, inits, updates, states, analyzer);
  check_in_place(name, inits, updates);
  auto* node = new ScanNode;
  const Operation op(node);
  const Expr rows = states[0].shape()[0], first = cast(rows.dtype(), inits[0].shape()[0]);
  for (const Tensor& state : states) {
    if (analyzer.can_prove(state.shape()[0] == cast(state.shape()[0].dtype(), rows))) continue;
    misfit(ErrorCode::BadShape, name,
           fmt::format("state '{}' has {} rows and '{}' {}", states[0].name(), to_string(rows),
                       state.name(), to_string(state.shape()[0])),
           "states of equally many rows");
  }
  node->time = IterVar({first, analyzer.simplify(rows - first)}, Var(name + ".idx", rows.dtype()),
                       IterKind::Ordered);
  node->all_axes.push_back(node->time);
  const FixPoint analysis = fix_point(updates, states);
  std::map<int, IterVar> of_group;
  for (size_t k = 0; k < states.size(); ++k) {
    std::vector<IterVar>& own = node->axes.emplace_back(1, node->time);
    const std::vector<Expr> shape = states[k].shape();
    for (size_t d = 1; d < shape.size(); ++d) {
      const bool fixed = analysis.fixed[k][d - 1];
      const int group = analysis.group[k][d - 1];
      const auto known = of_group.find(group);
      if (fixed && known != of_group.end() &&
          analyzer.can_prove(known->second->domain.extent ==
                             cast(known->second->domain.extent.dtype(), shape[d]))) {
        own.push_back(known->second);
        continue;
      }
      const IterVar axis({make_zero(shape[d].dtype()), shape[d]},
                         Var(fmt::format("{}.{}.i{}", name, k, d), shape[d].dtype()),
                         IterKind::Opaque);
      own.push_back(axis);
      node->all_axes.push_back(axis);
      if (!fixed) continue;
      // Of unequal extents all are computed whole.
      if (known == of_group.end()) {
        of_group.emplace(group, axis);
        node->fixed.push_back(axis);
      } else {
        std::erase_if(node->fixed,
                      [&](const IterVar& a) { return a->var.same_as(known->second->var); });
      }
    }
  }
  node->name = std::move(name);
  node->inits = std::move(inits);
  node->updates = std::move(updates);
  node->states = std::move(states);
  node->inputs = std::move(inputs);
  node->tag = std::move(tag);
  node->attributes = std::move(attributes);
  return op;
}

std::vector<Tensor> scan(const std::vector<Tensor>& init, const std::vector<Tensor>& update,
                         const std::vector<Tensor>& state, const std::vector<Tensor>& inputs,
                         const std::string& name, const std::string& tag,
                         const Attributes& attributes) {
  for (const auto* list : {&init, &update, &state, &inputs}) {
    for (const Tensor& t : *list) TW_CHECK(t.defined(), "an undefined tensor in a scan");
  }
  const std::vector<Tensor> updates = in_place(update, {}, ".update");
  return scan_op(name, in_place(init, updates, ".init"), updates, state, inputs, tag, attributes)
      .outputs();
}

}  // namespace tw::te
