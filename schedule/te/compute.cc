// SPDX-License-Identifier: Apache-2.0
#include "schedule/te/compute.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "runtime/error.h"
#include "schedule/te/check_body.h"
#include "schedule/te/evaluation.h"
#include "schedule/te/ragged.h"
#include "schedule/te/start.h"
#include "schedule/te/writer.h"

namespace tw::te {
namespace {

constexpr std::string_view kReductionPlace =
    "a reduction as the whole body; compute the rest of the expression in a second compute";

// The Reduce of a body, or null; BadReduction when one hides deeper in the expression.
const Reduce* root_reduction(const Expr& body, const std::string& name) {
  const Reduce* root = as<Reduce>(body);
  for_each_part(body, [&](const Expr& sub) {
    if (is<Reduce>(sub) && sub.get() != body.get()) {
      raise({.code = ErrorCode::BadReduction,
             .what =
                 root ? "a reduction inside another reduction" : "a reduction inside an expression",
             .stage = name,
             .legal = root ? "one reduction over all the axes, or two computes"
                           : std::string(kReductionPlace)});
    }
  });
  return root;
}

bool same_axes(const std::vector<IterVar>& a, const std::vector<IterVar>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].var().same_as(b[i].var())) return false;
  }
  return true;
}

// The reduce axes that all bodies share; empty when none reduces.
std::vector<IterVar> check_bodies(const std::vector<IterVar>& axis, const std::vector<Expr>& body,
                                  const std::string& name) {
  const auto bad = [&](std::string what, std::string legal) {
    raise({.code = ErrorCode::BadReduction,
           .what = std::move(what),
           .stage = name,
           .legal = std::move(legal)});
  };
  const Reduce* first = nullptr;
  for (size_t k = 0; k < body.size(); ++k) {
    const Reduce* reduce = root_reduction(body[k], name);
    if (k == 0) first = reduce;
    if ((reduce != nullptr) != (first != nullptr)) {
      bad("some outputs are reductions and some are not", "a compute for each kind");
    }
    if (!reduce) continue;
    if (reduce->source.size() != body.size()) {
      bad(fmt::format("{} outputs from a reduction over tuples of {}", body.size(),
                      reduce->source.size()),
          "compute_many with one output for each component of the reducer");
    }
    if (reduce->value_index != static_cast<int>(k)) {
      bad(fmt::format("output {} is component {} of its reduction", k, reduce->value_index),
          "the components of one reduction, in order");
    }
    if (!same_axes(reduce->axis, first->axis)) {
      bad("outputs reduce over different axes", "one set of reduce axes for all outputs");
    }
  }
  if (!first) return {};
  for (const IterVar& r : first->axis) {
    for (const IterVar& d : axis) {
      if (d.var().same_as(r.var())) {
        bad(fmt::format("axis '{}' is both a data axis and a reduce axis", r.name()),
            "axes made by reduce_axis");
      }
    }
    for (const IterVar& other : first->axis) {
      if (!uses(r->domain.min, other->var) && !uses(r->domain.extent, other->var)) continue;
      bad(fmt::format("the ends of axis '{}' depend on '{}', an axis of the same reduction",
                      r.name(), other.name()),
          fmt::format("ends that depend on axes of the compute; where= for what depends on '{}'",
                      other.name()));
    }
  }
  return first->axis;
}

// An axis of reductions that a body uses where no reduction gives it values.
void check_reduced(const Expr& body, const std::vector<IterVar>& axes, const std::string& name) {
  for (const Var& v : free_vars(body)) {
    const auto is_it = [&](const IterVar& a) { return a.var().same_as(v); };
    if (!v->reduces || std::ranges::any_of(axes, is_it)) continue;
    raise({.code = ErrorCode::UnboundVariable,
           .what = fmt::format("'{}' is an axis of reductions, and no reduction here is over it",
                               v.name()),
           .stage = name,
           .axis = v.name(),
           .legal = fmt::format("te.sum(…, axis={}), or an axis of the compute", v.name())});
  }
}

class ReadRewriter : public Mutator {
 public:
  explicit ReadRewriter(const ReadRewrite& f) : Mutator(Shared::Once), f_(f) {}

 protected:
  using Mutator::on;
  Expr on(const ProducerLoad& op, const Expr& self) override {
    const Expr read = Mutator::on(op, self);
    const Expr replaced = f_(*as<ProducerLoad>(read));
    return replaced.defined() ? replaced : read;
  }

 private:
  const ReadRewrite& f_;
};

// Which component of the reduction a body is.
size_t component(const Expr& body) { return static_cast<size_t>(as<Reduce>(body)->value_index); }

bool always(const Expr& condition) { return !condition.defined() || is_const_int(condition, 1); }

bool reads(const Expr& e) {
  bool found = false;
  for_each_expr(e, [&](const Expr& sub) { found |= is<ProducerLoad>(sub); });
  return found;
}

// A body, ready to be computed at any of its points.
class ComputeEvaluator : public PointEvaluator {
 public:
  ComputeEvaluator(Evaluation& run, const ComputeNode& op);
  void compute(int64_t flat, int value_index) override;

 private:
  struct ReduceLoop {
    Scalar* slot;
    Code min, extent;
  };
  void place(int64_t flat);
  void reduce_from(size_t depth);
  void combine();

  EvaluationCompiler compiler_;
  std::vector<TensorState*> outputs_;
  std::vector<Scalar*> axes_;
  std::vector<std::vector<Code>> bodies_;  // no reduction: of each output, of each lane
  // A reduction: of each lane of each component, one after the other
  std::vector<ReduceLoop> loops_;
  Code condition_;
  std::vector<Code> starts_, sources_, results_;
  std::vector<Scalar*> lhs_, rhs_;
  std::vector<Scalar> next_;
};

ComputeEvaluator::ComputeEvaluator(Evaluation& run, const ComputeNode& op) : compiler_(run) {
  for (int k = 0; k < op.num_outputs(); ++k) outputs_.push_back(&run.tensor(&op, k));
  for (const IterVar& a : op.axis) axes_.push_back(compiler_.slot(a.var()));
  if (!op.is_reduction()) {
    for (const Expr& e : op.body) {
      std::vector<Code>& lanes = bodies_.emplace_back();
      for (int lane = 0; lane < e.dtype().lanes; ++lane)
        lanes.push_back(compiler_.compile(e, lane));
    }
    return;
  }
  const Reduce* reduce = as<Reduce>(op.body[0]);
  for (const IterVar& r : reduce->axis) {
    loops_.push_back({.slot = compiler_.slot(r.var()),
                      .min = compiler_.compile(r->domain.min),
                      .extent = compiler_.compile(r->domain.extent)});
  }
  if (reduce->condition.defined()) condition_ = compiler_.compile(reduce->condition);
  const CommReducer& combiner = reduce->combiner;
  const std::vector<Expr>& starts = op.init.empty() ? combiner.identity : op.init;
  // The results are compiled when all operands have their slots.
  for (size_t k = 0; k < reduce->source.size(); ++k) {
    for (int lane = 0; lane < reduce->source[k].dtype().lanes; ++lane) {
      starts_.push_back(compiler_.compile(starts[k], lane));
      sources_.push_back(compiler_.compile(reduce->source[k], lane));
      lhs_.push_back(compiler_.slot(combiner.lhs[k], lane));
      rhs_.push_back(compiler_.slot(combiner.rhs[k], lane));
    }
  }
  for (const Expr& r : combiner.result) {
    for (int lane = 0; lane < r.dtype().lanes; ++lane)
      results_.push_back(compiler_.compile(r, lane));
  }
  next_.resize(results_.size());
}

void ComputeEvaluator::place(int64_t flat) {
  for (size_t d = 0; d < axes_.size(); ++d) {
    const int64_t stride = outputs_[0]->strides[d];
    axes_[d]->i = flat / stride;
    flat %= stride;
  }
}

void ComputeEvaluator::combine() {
  if (condition_.run && !condition_().i) return;
  for (size_t k = 0; k < sources_.size(); ++k) *rhs_[k] = sources_[k]();
  for (size_t k = 0; k < results_.size(); ++k) next_[k] = results_[k]();
  for (size_t k = 0; k < results_.size(); ++k) *lhs_[k] = next_[k];
}

void ComputeEvaluator::reduce_from(size_t depth) {
  if (depth == loops_.size()) return combine();
  const ReduceLoop& loop = loops_[depth];
  const int64_t min = loop.min().i, end = min + loop.extent().i;
  for (int64_t v = min; v < end; ++v) {
    loop.slot->i = v;
    reduce_from(depth + 1);
  }
}

void ComputeEvaluator::compute(int64_t flat, int value_index) {
  place(flat);
  if (loops_.empty()) {
    TensorState& out = *outputs_[static_cast<size_t>(value_index)];
    const std::vector<Code>& body = bodies_[static_cast<size_t>(value_index)];
    for (int lane = 0; lane < out.lanes; ++lane)
      out.set(flat, lane, body[static_cast<size_t>(lane)]());
    return;
  }
  for (size_t k = 0; k < starts_.size(); ++k) *lhs_[k] = starts_[k]();
  reduce_from(0);
  size_t component = 0;
  for (TensorState* out : outputs_) {
    for (int lane = 0; lane < out->lanes; ++lane) out->set(flat, lane, *lhs_[component++]);
  }
}

}  // namespace

// ---------------------------------------------------------------------------------------------
// What is read and stored

std::vector<Expr> ComputeNode::output_shape(int) const {
  std::vector<Expr> shape;
  for (const IterVar& a : axis) shape.push_back(a->domain.extent);
  return shape;
}

// The bodies of a reduction differ in the component they take only. What it starts from follows.
std::vector<Expr> ComputeNode::evaluated() const {
  if (!is_reduction()) return body;
  std::vector<Expr> result = {body[0]};
  result.insert(result.end(), init.begin(), init.end());
  return result;
}

Expr ComputeNode::value_at(int value_index, const std::vector<Expr>& indices) const {
  if (is_reduction()) return {};
  VarMap map;
  for (size_t d = 0; d < axis.size(); ++d) {
    const Var& var = axis[d]->var;
    map[var] = cast(var.dtype(), indices[d]);
  }
  return substitute(body[static_cast<size_t>(value_index)], map);
}

std::vector<Range> ComputeNode::realized(int, const DomainMap& domains) const {
  std::vector<Range> bounds;
  for (const IterVar& a : axis) bounds.push_back(domains.at(a->var));
  return bounds;
}

// ---------------------------------------------------------------------------------------------
// Statements

Stmt ComputeNode::store(const VarMap& roots, size_t k, Expr value) const {
  // Inlining and reducers repeat expressions; each binding is to be of its own variable.
  bool binds = false;
  for_each_expr(value, [&](const Expr& e) { binds |= is<Let>(e); });
  std::vector<Expr> position;
  for (const IterVar& a : axis) position.push_back(roots.at(a->var));
  const Stmt store = make(Provide{.producer = Operation(this),
                                  .value_index = static_cast<int>(k),
                                  .value = std::move(value),
                                  .indices = std::move(position)});
  return binds ? rename_bindings(store) : store;
}

// Sets the elements to what the reduction starts from.
Stmt ComputeNode::initialization(const VarMap& roots) const {
  if (!is_reduction()) return {};
  const CommReducer& combiner = as<Reduce>(body[0])->combiner;
  std::vector<Stmt> stores;
  for (size_t k = 0; k < body.size(); ++k) {
    const size_t c = component(body[k]);
    stores.push_back(
        store(roots, k, init.empty() ? combiner.identity[c] : substitute(init[c], roots)));
  }
  return block(stores);
}

Stmt ComputeNode::assignments(const VarMap& roots) const {
  std::vector<Stmt> stores;
  for (size_t k = 0; k < body.size(); ++k) {
    stores.push_back(store(roots, k, substitute(body[k], roots)));
  }
  return block(stores);
}

// Combines one more term into each element.
Stmt ComputeNode::update(const VarMap& roots, std::vector<Expr>& conditions) const {
  if (!is_reduction()) return assignments(roots);
  const Reduce& reduce = *as<Reduce>(body[0]);
  const CommReducer& combiner = reduce.combiner;
  std::vector<Expr> position;
  for (const IterVar& a : axis) position.push_back(roots.at(a->var));
  VarMap operands;
  VarSet elements;
  // The element of a component that no output holds never leaves its identity.
  for (size_t c = 0; c < combiner.lhs.size(); ++c) operands[combiner.lhs[c]] = combiner.identity[c];
  for (size_t k = 0; k < body.size(); ++k) {
    operands[combiner.lhs[component(body[k])]] = make(ProducerLoad{
        .producer = Operation(this), .value_index = static_cast<int>(k), .indices = position});
  }
  for (size_t c = 0; c < combiner.rhs.size(); ++c) {
    operands[combiner.rhs[c]] = substitute(reduce.source[c], roots);
  }
  // A component that reads an element stored before it needs the value from before that store.
  std::vector<std::pair<Var, Expr>> early;
  std::vector<Stmt> stores;
  for (size_t k = 0; k < body.size(); ++k) {
    const Expr& result = combiner.result[component(body[k])];
    Expr value = substitute(result, operands);
    if (uses_any(result, elements)) {
      const Var var(fmt::format("{}.v{}", name, k), value.dtype());
      early.emplace_back(var, value);
      value = var;
    }
    elements.insert(combiner.lhs[component(body[k])]);
    stores.push_back(store(roots, k, value));
  }
  Stmt statement = block(stores);
  for (size_t k = early.size(); k-- > 0;) {
    statement = make(LetStmt{.var = early[k].first, .value = early[k].second, .body = statement});
  }
  if (always(reduce.condition)) return statement;
  const Expr condition = substitute(reduce.condition, roots);
  if (reads(condition)) return make(IfThenElse{.condition = condition, .then_case = statement});
  conditions.push_back(condition);
  return statement;
}

// ---------------------------------------------------------------------------------------------
// Made anew

std::vector<Expr> ComputeNode::map_bodies(const std::function<Expr(const Expr&)>& f,
                                          const std::function<Expr(const Expr&)>& start) const {
  std::vector<Expr> result, starts;
  for (const Expr& e : init) starts.push_back(start(e));
  for (const Expr& e : body) {
    if (!is_reduction() || result.empty()) {
      result.push_back(f(e));
    } else {
      const int value_index = as<Reduce>(e)->value_index;
      result.push_back(with(result[0], [&](Reduce& r) { r.value_index = value_index; }));
    }
  }
  return starting_from(result, starts);
}

Operation ComputeNode::with_reads(const ReadRewrite& f) const {
  ReadRewriter rewriter(f);
  const auto rewritten = [&](const Expr& e) { return rewriter.mutate(e); };
  return again(name, axis, map_bodies(rewritten, rewritten));
}

Operation ComputeNode::with_axes(const std::string& new_name, const AxisReplacement& axes) const {
  VarMap map;
  for (const auto& [old_axis, new_axis] : axes) map[old_axis->var] = new_axis->var;
  const auto replace = [&](const IterVar& a) {
    for (const auto& [old_axis, new_axis] : axes) {
      if (old_axis->var.same_as(a->var)) return new_axis;
    }
    return a;
  };
  std::vector<IterVar> data;
  for (const IterVar& a : axis) data.push_back(replace(a));
  const auto replaced = [&](const Expr& e) {
    if (!is<Reduce>(e)) return substitute(e, map);
    return with(e, [&](Reduce& r) {
      for (Expr& source : r.source) source = substitute(source, map);
      if (r.condition.defined()) r.condition = substitute(r.condition, map);
      for (IterVar& a : r.axis) a = over(replace(a), map);
    });
  };
  const auto start = [&](const Expr& e) { return substitute(e, map); };
  return again(new_name, std::move(data), map_bodies(replaced, start));
}

Operation ComputeNode::change_axes(std::vector<IterVar> data_axes, const VarMap& values,
                                   const Expr& inside) const {
  const auto changed = [&](const Expr& e) {
    if (!is<Reduce>(e)) {
      const Expr value = substitute(e, values);
      return inside.defined() ? if_then_else(inside, value, make_zero(value.dtype())) : value;
    }
    return with(e, [&](Reduce& r) {
      for (Expr& source : r.source) source = substitute(source, values);
      if (r.condition.defined()) r.condition = substitute(r.condition, values);
      for (IterVar& a : r.axis)
        a = inside.defined() ? inside_only(over(a, values), inside) : over(a, values);
      if (!inside.defined()) return;
      r.condition = always(r.condition) ? inside : guarded_condition(inside, r.condition);
    });
  };
  // Outside there is nothing to start from.
  size_t component = 0;
  const auto start = [&](const Expr& e) {
    const Expr value = substitute(e, values);
    const Expr& identity = as<Reduce>(body[0])->combiner.identity[component++];
    return inside.defined() ? if_then_else(inside, value, identity) : value;
  };
  return again(name, std::move(data_axes), map_bodies(changed, start));
}

Operation ComputeNode::again(std::string new_name, std::vector<IterVar> axes,
                             std::vector<Expr> bodies) const {
  return compute_op(std::move(new_name), std::move(axes), std::move(bodies), tag, attributes);
}

Expr guarded_condition(const Expr& outer, const Expr& inner) {
  return reads(inner) ? if_then_else(outer, inner, make_bool(false)) : outer && inner;
}

// ---------------------------------------------------------------------------------------------
// Text and evaluation

void ComputeNode::write(Writer& out) const {
  out.put("compute(");
  write_bodies(out);
}

void ComputeNode::write_bodies(Writer& out) const {
  Names scope = out.names();
  for (const Expr& e : body) out.check_textual(e, *this);
  for (const Expr& e : init) out.check_textual(e, *this);
  out.axes(axis, scope);
  out.put(", ");
  if (is_reduction()) {
    out.put("reduce ");
    out.axes(reduce_axis, scope);
    out.put(", ");
    out.reduction(*as<Reduce>(body[0]), scope);
    if (!init.empty()) {
      out.put(", init=");
      out.list(init, scope);
    }
  } else if (body.size() == 1) {
    out.put(to_string(body[0], scope));
  } else {
    out.list(body, scope);
  }
}

std::unique_ptr<PointEvaluator> ComputeNode::evaluator(Evaluation& run) const {
  return std::make_unique<ComputeEvaluator>(run, *this);
}

// ---------------------------------------------------------------------------------------------
// Building

void set_bodies(ComputeNode& node, std::string name, std::vector<IterVar> axis,
                std::vector<Expr> body) {
  if (body.empty()) {
    raise({.code = ErrorCode::BadArgument,
           .what = "a compute without outputs",
           .stage = name,
           .legal = "at least one output expression"});
  }
  for (const IterVar& a : axis) {
    check_extent(a->domain.extent, fmt::format("extent of axis '{}'", a.name()), name);
  }
  std::vector<Expr> init;
  body = taken_apart(body, init);
  for (Expr& e : init) {
    e = checked_body(e, name);
    check_reduced(e, axis, name);
  }
  for (Expr& e : body) {
    if (!e.defined()) {
      raise({.code = ErrorCode::BadArgument,
             .what = "a body is undefined",
             .stage = name,
             .legal = "an expression for each output"});
    }
    e = checked_body(e, name);
    check_element_type(e.dtype(), "a compute", name);
  }
  node.reduce_axis = check_bodies(axis, body, name);
  for (const Expr& e : body) check_reduced(e, axis, name);
  node.name = std::move(name);
  node.axis = std::move(axis);
  node.all_axes = node.axis;
  node.all_axes.insert(node.all_axes.end(), node.reduce_axis.begin(), node.reduce_axis.end());
  node.body = std::move(body);
  node.init = std::move(init);
}

Operation compute_op(std::string name, std::vector<IterVar> axis, std::vector<Expr> body,
                     std::string tag, Attributes attributes) {
  auto* node = new ComputeNode;
  const Operation op(node);
  set_bodies(*node, std::move(name), std::move(axis), std::move(body));
  node->tag = std::move(tag);
  node->attributes = std::move(attributes);
  return op;
}

std::vector<IterVar> axes_over(const std::vector<Expr>& shape,
                               const std::vector<std::string>& names, const std::string& stage) {
  check_shape(shape, stage);
  if (!names.empty() && names.size() != shape.size()) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("{} axis names for a shape of rank {}", names.size(), shape.size()),
           .stage = stage,
           .legal = "one name for each dimension, or none"});
  }
  std::vector<IterVar> axes;
  for (size_t d = 0; d < shape.size(); ++d) {
    const DType type = shape[d].dtype();
    const Var v(names.empty() ? fmt::format("i{}", d) : names[d], type);
    axes.emplace_back(Range{make_zero(type), shape[d]}, v, IterKind::DataParallel);
  }
  return axes;
}

std::vector<Tensor> compute_many(const std::vector<Expr>& shape, const MultiComputeFunction& f,
                                 const std::string& name, const std::string& tag,
                                 const Attributes& attributes,
                                 const std::vector<std::string>& axis_names) {
  std::vector<IterVar> axis = axes_over(shape, axis_names, name);
  std::vector<Var> vars;
  for (const IterVar& a : axis) vars.push_back(a->var);
  return compute_op(name, std::move(axis), f(vars), tag, attributes).outputs();
}

Tensor compute(const std::vector<Expr>& shape, const ComputeFunction& f, const std::string& name,
               const std::string& tag, const Attributes& attributes,
               const std::vector<std::string>& axis_names) {
  const auto body = [&](const std::vector<Var>& axes) { return std::vector<Expr>{f(axes)}; };
  return compute_many(shape, body, name, tag, attributes, axis_names)[0];
}

}  // namespace tw::te
