// SPDX-License-Identifier: Apache-2.0
// Rewrites a te program into the one that bounds its rounding errors; reference.h says how.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <unordered_map>

#include "autotune/measure/reference.h"
#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "runtime/error.h"
#include "schedule/te/compute.h"
#include "schedule/te/ragged.h"
#include "schedule/te/ragged_length.h"
#include "schedule/te/scan.h"
#include "schedule/te/start.h"

namespace tw::autotune {
namespace {

const DType kReal = float_type(64);

Expr real(double value) { return make_const_float(kReal, value); }
Expr absolute(const Expr& e) { return call("fabs", {e}); }
// The value itself, as the program computes it.
Expr value(const Expr& e) { return cast(kReal, e); }

double epsilon_of(DType type) {
  if (type.code == TypeCode::BFloat) return 0x1p-7;
  switch (type.bits) {
    case 16:
      return 0x1p-10;
    case 32:
      return 0x1p-23;
    default:
      return 0x1p-52;
  }
}

// Of a constant. The ends of a type stand for infinities, identities of max and min and what pads
// them: no sum holds them, and no choice that takes one has an error.
double magnitude_of(const FloatImm& constant) {
  const Expr end = max_value(constant.type);
  const auto* greatest = as<FloatImm>(end);
  const double size = std::abs(constant.value);
  return greatest != nullptr && size < greatest->value ? size : 0;
}

// A function's |f| + |f'|·m, where x is the argument's value and m its magnitude.
struct FunctionRule {
  std::string_view name;
  Expr (*bound)(const Expr& x, const Expr& m);
};
const FunctionRule kFunctions[] = {
    {"exp", [](const Expr& x, const Expr& m) { return call("exp", {x}) * (real(1) + m); }},
    {"exp2", [](const Expr& x, const Expr& m) { return call("exp2", {x}) * (real(1) + m); }},
    {"log",
     [](const Expr& x, const Expr& m) { return absolute(call("log", {x})) + div(m, absolute(x)); }},
    {"log2",
     [](const Expr& x, const Expr& m) {
       return absolute(call("log2", {x})) + div(m * real(1.5), absolute(x));
     }},
    {"log10", [](const Expr& x,
                 const Expr& m) { return absolute(call("log10", {x})) + div(m, absolute(x)); }},
    {"sqrt",
     [](const Expr& x, const Expr& m) { return call("sqrt", {x}) + div(m, call("sqrt", {x})); }},
    {"rsqrt", [](const Expr& x,
                 const Expr& m) { return call("rsqrt", {x}) * (real(1) + div(m, absolute(x))); }},
    {"tan",
     [](const Expr& x, const Expr& m) {
       return (real(1) + call("tan", {x}) * call("tan", {x})) * (real(1) + m);
     }},
    {"sinh", [](const Expr& x, const Expr& m) { return call("cosh", {x}) * (real(1) + m); }},
    {"cosh", [](const Expr& x, const Expr& m) { return call("cosh", {x}) * (real(1) + m); }},
    {"asin",
     [](const Expr& x, const Expr& m) {
       return real(2) + div(m, call("sqrt", {max(real(1) - x * x, real(1e-12))}));
     }},
    {"acos",
     [](const Expr& x, const Expr& m) {
       return real(4) + div(m, call("sqrt", {max(real(1) - x * x, real(1e-12))}));
     }},
    // Bounded functions with |f'| of about 1 or less need no value.
    {"sin", [](const Expr&, const Expr& m) { return real(1) + m; }},
    {"cos", [](const Expr&, const Expr& m) { return real(1) + m; }},
    {"tanh", [](const Expr&, const Expr& m) { return real(1) + m; }},
    {"sigmoid", [](const Expr&, const Expr& m) { return real(1) + m; }},
    {"erf", [](const Expr&, const Expr& m) { return real(1) + m * real(1.2); }},
    {"atan", [](const Expr&, const Expr& m) { return real(2) + m; }},
    {"fabs", [](const Expr&, const Expr& m) { return m; }},
};
// Steps: where two ways of summing fall on either side of one, the results differ by 1, whatever ε.
bool is_step(std::string_view name) {
  return name == "floor" || name == "ceil" || name == "round" || name == "trunc" ||
         name == "nearbyint";
}

class Magnitudes {
 public:
  // Index of output `k` of `op` among those of its magnitude, or -1 for what is exact.
  struct Image {
    te::Operation op;
    std::vector<int> index;
    double reduction = 1;  // product of reduction extents on the way here
    double epsilon = 0;    // of the least precise type on the way
  };

  const Image& of(const te::Operation& op) {
    if (const auto found = images_.find(op.get()); found != images_.end()) return found->second;
    Image image = make(op);
    return images_.emplace(op.get(), std::move(image)).first->second;
  }

 private:
  Image make(const te::Operation& op) {
    Image image;
    const auto* compute = te::as_op<te::ComputeNode>(op);
    image.index.assign(static_cast<size_t>(op->num_outputs()), -1);
    if (const auto* recurrence = te::as_op<te::ScanNode>(op)) return scan(*recurrence, image);
    if (compute == nullptr) return image;

    for (const te::Tensor& input : compute->input_tensors()) {
      const Image& before = of(input.op());
      image.reduction = std::max(image.reduction, before.reduction);
      image.epsilon = std::max(image.epsilon, before.epsilon);
    }
    // Axes of its own, and everything inside in terms of them.
    VarMap renamed;
    const auto fresh = [&](const std::vector<IterVar>& axes) {
      std::vector<IterVar> result;
      for (const IterVar& axis : axes) {
        const Var var(axis.name(), axis.var().dtype());
        renamed[axis.var()] = var;
        // Ends of a reduction may depend on axes that were renamed before.
        result.push_back(IterVar(te::over(axis, renamed)->domain, var, axis->kind));
      }
      return result;
    };
    const std::vector<IterVar> axes = fresh(compute->axis);
    reduce_axes_ = fresh(compute->reduce_axis);
    for (const IterVar& axis : compute->reduce_axis) {
      const auto fixed = as_const_int(axis->domain.extent);
      const int64_t most = fixed ? *fixed : te::elements_along(compute->body[0], axis.var());
      image.reduction *= static_cast<double>(std::max<int64_t>(most, 1));
    }

    std::vector<Expr> bodies;
    for (size_t k = 0; k < compute->body.size(); ++k) {
      if (!compute->body[k].dtype().is_float()) continue;
      image.epsilon = std::max(image.epsilon, epsilon_of(compute->body[k].dtype()));
      image.index[k] = static_cast<int>(bodies.size());
      bodies.push_back(Expr());
    }
    if (bodies.empty()) return image;
    if (compute->is_reduction()) {
      bodies = reduction(*compute, renamed);
    } else {
      for (size_t k = 0; k < compute->body.size(); ++k) {
        if (image.index[k] < 0) continue;
        bodies[static_cast<size_t>(image.index[k])] =
            magnitude(substitute(compute->body[k], renamed));
      }
    }
    image.op = te::compute_op(op->name + "_bound", axes, bodies);
    return image;
  }

  // A scan of the values, as in the program, and of the magnitudes beside them. Errors pass from
  // step to step: of recurrences that amplify them the last rows have no bound worth speaking of.
  Image scan(const te::ScanNode& op, Image image) {
    std::vector<te::Tensor> inits, updates, states;
    std::unordered_map<const Producer*, te::Operation> copies;
    for (const te::Tensor& state : op.states) {
      states.push_back(te::placeholder(state.shape(), state.dtype(), state.name()));
      copies[state.op().get()] = states.back().op();
    }
    const auto copied = [&](const te::Tensor& t) {
      const auto copy = copies.find(t.op().get());
      return copy == copies.end() ? t : copy->second.output(t.value_index());
    };
    for (const te::Operation& part : te::operations_of_parts(te::Operation(&op))) {
      copies[part.get()] = part->with_reads([&](const ProducerLoad& read) -> Expr {
        const auto copy = copies.find(read.producer.get());
        if (copy == copies.end()) return {};
        ProducerLoad next = read;
        next.producer = copy->second;
        return tw::make(std::move(next));
      });
    }
    for (size_t k = 0; k < states.size(); ++k) {
      inits.push_back(copied(op.inits[k]));
      updates.push_back(copied(op.updates[k]));
    }
    const size_t values = states.size();
    for (size_t k = 0; k < values; ++k) {
      if (!states[k].dtype().is_float()) continue;
      image.index[k] = static_cast<int>(states.size());
      states.push_back(te::placeholder(states[k].shape(), kReal, states[k].name() + "_bound"));
      images_[states[k].op().get()] = {.op = states.back().op(), .index = {0}};
    }
    const double steps = static_cast<double>(as_const_int(op.time->domain.extent).value_or(1));
    for (size_t k = 0; k < values; ++k) {
      if (image.index[k] < 0) continue;
      inits.push_back(magnitudes_of(inits[k]));
      updates.push_back(magnitudes_of(updates[k]));
      const Image &first = of(inits[k].op()), &step = of(updates[k].op());
      image.reduction = std::max({image.reduction, first.reduction, step.reduction * steps});
      image.epsilon = std::max({image.epsilon, first.epsilon, step.epsilon});
    }
    if (states.size() > values)
      image.op = te::scan_op(op.name + "_bound", inits, updates, states, op.inputs);
    return image;
  }

  // Of each element; of what is no compute the values themselves.
  te::Tensor magnitudes_of(const te::Tensor& t) {
    const Image& image = of(t.op());
    const int index = image.index[static_cast<size_t>(t.value_index())];
    if (index >= 0) return image.op.output(index);
    return te::compute(
        t.shape(),
        [&](const std::vector<Var>& at) { return absolute(value(t({at.begin(), at.end()}))); },
        t.name() + "_bound");
  }

  // The components of a reduction that are floats.
  std::vector<Expr> reduction(const te::ComputeNode& compute, const VarMap& renamed) {
    const auto* first = as<Reduce>(compute.body.front());
    TW_CHECK(first != nullptr, "a reduction without a Reduce at its root");
    const CommReducer& combiner = first->combiner;
    const Expr condition =
        first->condition.defined() ? substitute(first->condition, renamed) : Expr();
    const bool all_floats = std::all_of(compute.body.begin(), compute.body.end(),
                                        [](const Expr& e) { return e.dtype().is_float(); });
    CommReducer bound;
    std::vector<Expr> sources, init;
    for (size_t k = 0; k < combiner.result.size(); ++k) {
      if (!compute.body[k].dtype().is_float()) continue;
      const Var l("l", kReal), r("r", kReal);
      combined_[combiner.lhs[k]] = l;
      combined_[combiner.rhs[k]] = r;
      bound.lhs.push_back(l);
      bound.rhs.push_back(r);
      sources.push_back(magnitude(substitute(first->source[k], renamed)));
      if (!compute.init.empty()) init.push_back(magnitude(substitute(compute.init[k], renamed)));
      const auto* identity = as<FloatImm>(combiner.identity[k]);
      bound.identity.push_back(real(identity == nullptr ? 0 : magnitude_of(*identity)));
    }
    for (size_t k = 0, at = 0; k < combiner.result.size(); ++k) {
      if (!compute.body[k].dtype().is_float()) continue;
      // Tuples with an integer (a position) choose one of the elements.
      bound.result.push_back(all_floats ? magnitude(combiner.result[k])
                                        : max(bound.lhs[at], bound.rhs[at]));
      ++at;
    }
    return te::starting_from(te::reduce(bound, sources, reduce_axes_, condition), init);
  }

  Expr magnitude(const Expr& e) {
    if (!e.dtype().is_float()) return absolute(value(e));
    if (const auto* n = as<Variable>(e)) {
      const auto found = combined_.find(Var(n));
      return found != combined_.end() ? found->second : absolute(value(e));
    }
    if (const auto* n = as<FloatImm>(e)) return real(magnitude_of(*n));
    if (const auto* n = as<ProducerLoad>(e)) return load(*n, e);
    if (const auto* n = as<Cast>(e)) return magnitude(n->value);
    if (const auto* n = as<Add>(e)) return magnitude(n->a) + magnitude(n->b);
    if (const auto* n = as<Sub>(e)) return magnitude(n->a) + magnitude(n->b);
    if (const auto* n = as<Mul>(e)) return magnitude(n->a) * magnitude(n->b);
    if (const auto* n = as<Div>(e)) {
      // |a|/|b| · (1 + εb/|b|): a divisor that is mostly rounding error spoils the quotient.
      if (is_const(n->b)) return div(magnitude(n->a), absolute(value(n->b)));
      const Expr b = absolute(value(n->b));
      return div(magnitude(n->a), b) * div(magnitude(n->b), b);
    }
    if (const auto* n = as<Mod>(e)) return magnitude(n->a) + magnitude(n->b);
    if (const auto* n = as<FloorMod>(e)) return magnitude(n->a) + magnitude(n->b);
    if (const auto* n = as<Min>(e)) return max(magnitude(n->a), magnitude(n->b));
    if (const auto* n = as<Max>(e)) return max(magnitude(n->a), magnitude(n->b));
    if (const auto* n = as<Select>(e)) {
      // A comparison of floats may fall either way near equality.
      if (reads_floats(n->condition)) return magnitude(n->true_value) + magnitude(n->false_value);
      return select(n->condition, magnitude(n->true_value), magnitude(n->false_value));
    }
    if (const auto* n = as<Let>(e)) return let(*n);
    if (const auto* n = as<Call>(e)) return function(*n, e);
    return absolute(value(e));
  }

  // Beside the value of a variable stands its magnitude, in a variable of its own.
  Expr let(const Let& n) {
    if (reads_floats(n.value)) of_floats_.insert(n.var);
    Expr body;
    if (n.value.dtype().is_float()) {
      const Expr size = magnitude(n.value);
      const Var var(n.var.name() + "_size", kReal);
      combined_[n.var] = var;
      body = tw::make(Let{.var = var, .value = size, .body = magnitude(n.body)});
    } else {
      body = magnitude(n.body);
    }
    return tw::make(Let{.var = n.var, .value = n.value, .body = body});
  }

  bool reads_floats(const Expr& e) const {
    bool found = false;
    for_each_expr(e, [&](const Expr& part) {
      const Variable* v = as<Variable>(part);
      found |= is<ProducerLoad>(part) && part.dtype().is_float();
      found |= v != nullptr && of_floats_.contains(Var(v));
    });
    return found;
  }

  Expr load(const ProducerLoad& n, const Expr& self) {
    const auto found = images_.find(n.producer.get());
    TW_CHECK(found != images_.end(), "a read of an operation that is no input");
    const int index = found->second.index[static_cast<size_t>(n.value_index)];
    return index < 0 ? absolute(value(self)) : found->second.op.output(index)(n.indices);
  }

  Expr function(const Call& n, const Expr& self) {
    if (n.name == "if_then_else") {
      // The condition may guard an access, so it stays.
      return if_then_else(n.args[0], magnitude(n.args[1]), magnitude(n.args[2]));
    }
    if (n.name == "saturating_cast") return magnitude(n.args[0]);
    if (n.name == "fma") return magnitude(n.args[0]) * magnitude(n.args[1]) + magnitude(n.args[2]);
    if (n.name == "pow") {
      const Expr x = value(n.args[0]), y = value(n.args[1]);
      const Expr log_x = call("log", {max(absolute(x), real(1e-30))});
      return absolute(call("pow", {x, y})) *
             (real(1) + div(absolute(y) * magnitude(n.args[0]), absolute(x)) +
              absolute(log_x) * magnitude(n.args[1]));
    }
    if (n.name == "atan2") {
      const Expr y = value(n.args[0]), x = value(n.args[1]);
      return real(std::numbers::pi) +
             div(magnitude(n.args[0]) * absolute(x) + magnitude(n.args[1]) * absolute(y),
                 x * x + y * y);
    }
    if (n.name == "fmod") {  // a step as wide as the divisor
      return magnitude(n.args[0]) + magnitude(n.args[1]) +
             absolute(value(n.args[1])) * real(1 / epsilon_of(self.dtype()));
    }
    if (is_step(n.name)) {
      return magnitude(n.args[0]) + real(1 / epsilon_of(self.dtype()));
    }
    for (const FunctionRule& rule : kFunctions) {
      if (rule.name == n.name) return rule.bound(value(n.args[0]), magnitude(n.args[0]));
    }
    return absolute(value(self));
  }

  // Looked up only, never walked through.
  std::unordered_map<const Producer*, Image> images_;
  VarMap combined_;   // magnitudes of what a reduction combines, and of variables of Lets
  VarSet of_floats_;  // variables of Lets whose values depend on floats
  std::vector<IterVar> reduce_axes_;
};

}  // namespace

ErrorBound error_bound(const te::Program& program) {
  Magnitudes magnitudes;
  ErrorBound result;
  std::vector<te::Tensor> bounds;
  for (const te::Tensor& output : program.outputs) {
    const auto& image = magnitudes.of(output.op());
    const int index = image.index[static_cast<size_t>(output.value_index())];
    result.factors.push_back(index < 0 ? 0 : rounding_factor(image.reduction, image.epsilon));
    result.outputs.push_back(index < 0 ? -1 : static_cast<int>(bounds.size()));
    if (index >= 0) bounds.push_back(image.op.output(index));
  }
  if (!bounds.empty()) result.program = te::make_program(bounds);
  return result;
}

}  // namespace tw::autotune
