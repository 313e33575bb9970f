// SPDX-License-Identifier: Apache-2.0
#include "schedule/match_intrin.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/attributes.h"
#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/fields.h"
#include "ir/print.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "runtime/error.h"
#include "schedule/te/compute.h"
#include "schedule/te/ragged.h"

namespace tw {
namespace {

bool is_commutative(NodeKind kind) {
  switch (kind) {
    case NodeKind::Add:
    case NodeKind::Mul:
    case NodeKind::Min:
    case NodeKind::Max:
    case NodeKind::And:
    case NodeKind::Or:
    case NodeKind::Equal:
    case NodeKind::NotEqual:
      return true;
    default:
      return false;
  }
}

// What an index is at the first point, and how much it is more elsewhere.
struct Parted {
  Expr first, rest;
};

class Matcher {
 public:
  Matcher(const te::ComputeNode& found, const DomainMap& parts, const TensorIntrinNode& intrin,
          Analyzer& analyzer)
      : found_(found),
        parts_(parts),
        intrin_(intrin),
        wanted_(*te::as_op<te::ComputeNode>(intrin.op)),
        analyzer_(analyzer) {
    for (const IterVar& axis : wanted_.all_axes) {
      analyzer_.bind(axis->var, axis->domain);
      zeros_[axis->var] = make_zero(axis->var.dtype());
      if (is_one(axis->domain.extent)) fixed_[axis->var] = make_zero(axis->var.dtype());
    }
    for (const Var& v : intrin_.scalar_params) scalars_[v] = Expr();
    for (const IterVar& axis : found_.all_axes) roots_[axis->var] = parts_.at(axis->var).min;
  }

  // After a match that failed.
  const std::string& difference() const { return in_body_.empty() ? in_axes_ : in_body_; }

  std::optional<IntrinMatch> match() {
    const auto other = [&](const std::string& found, const std::string& wanted) {
      in_axes_ = fmt::format("{} where it has {}", found, wanted);
      return std::nullopt;
    };
    if (const size_t a = found_.body.size(), b = wanted_.body.size(); a != b)
      return other(fmt::format("{} results", a), fmt::format("{}", b));
    if (found_.is_reduction() != wanted_.is_reduction()) {
      return found_.is_reduction() ? other("a reduction", "none") : other("none", "a reduction");
    }
    if (!found_.init.empty() || !wanted_.init.empty())
      return other("a reduction with a start of its own", "none, or one");
    if (!assign(found_.axis, wanted_.axis, 0)) return {};
    IntrinMatch result;
    for (const std::optional<IntrinOperand>& input : bound_.inputs) {
      if (!input) return {};
      result.operands.push_back(*input);
    }
    for (const Var& v : open_variables(intrin_)) {
      const auto extent = fixed_.find(v);
      const Expr& value = extent != fixed_.end() ? extent->second : bound_.scalars.at(v);
      if (!value.defined()) return {};
      result.values.push_back(value);
    }
    for (size_t k = 0; k < found_.body.size(); ++k) {
      IntrinOperand output{.tensor = te::Tensor(te::Operation(&found_), static_cast<int>(k))};
      for (const IterVar& axis : found_.axis) output.indices.push_back(parts_.at(axis->var).min);
      for (const IterVar& axis : wanted_.axis) {
        const auto it = source_of_.find(axis->var);
        output.dimensions.push_back(it == source_of_.end() ? -1 : position(it->second));
      }
      result.operands.push_back(std::move(output));
    }
    return result;
  }

 private:
  int position(const Var& root) const {
    for (size_t d = 0; d < found_.axis.size(); ++d) {
      if (found_.axis[d]->var.same_as(root)) return static_cast<int>(d);
    }
    return -1;
  }

  // Gives the wanted axes from number k on an axis each, in the order that they have if possible.
  bool assign(const std::vector<IterVar>& found, const std::vector<IterVar>& wanted, size_t k) {
    if (k == wanted.size()) {
      for (const IterVar& axis : found) {
        if (is_one(parts_.at(axis->var).extent) || taken_.contains(axis->var)) continue;
        return no_axis(fmt::format("a loop over '{}' where it has none", axis.name()));
      }
      if (&found == &found_.axis) return assign(found_.reduce_axis, wanted_.reduce_axis, 0);
      bound_ = {.inputs = std::vector<std::optional<IntrinOperand>>(intrin_.inputs.size()),
                .scalars = scalars_};
      return bodies();
    }
    const IterVar& axis = wanted[k];
    if (is_one(axis->domain.extent)) return assign(found, wanted, k + 1);
    for (const IterVar& candidate : found) {
      const Range& part = parts_.at(candidate->var);
      if (taken_.contains(candidate->var)) continue;
      const Var opened = open(axis->domain.extent, part.extent);
      if (!opened.defined() && !same_extent(part.extent, axis->domain.extent)) continue;
      taken_.insert(candidate->var);
      source_of_.insert_or_assign(axis->var, candidate->var);
      roots_[candidate->var] = part.min + cast(part.min.dtype(), axis->var);
      if (assign(found, wanted, k + 1)) return true;
      roots_[candidate->var] = part.min;
      source_of_.erase(axis->var);
      taken_.erase(candidate->var);
      if (opened.defined()) fixed_.erase(opened);
    }
    // An extent that is a variable may be that of a single point.
    const Var opened = open(axis->domain.extent, make_const(axis->var.dtype(), 1));
    if (!opened.defined() && !is_one(substitute(axis->domain.extent, fixed_))) {
      return no_axis(fmt::format("no loop of extent {} where it has one over '{}'",
                                 to_string(substitute(axis->domain.extent, fixed_)), axis.name()));
    }
    fixed_[axis->var] = make_zero(axis->var.dtype());
    if (assign(found, wanted, k + 1)) return true;
    fixed_.erase(axis->var);
    if (opened.defined()) fixed_.erase(opened);
    return false;
  }
  bool no_axis(std::string difference) {
    if (in_axes_.empty()) in_axes_ = std::move(difference);
    return false;
  }
  // Lets an extent that is a variable be the one found; undefined where it is none, or is bound.
  Var open(const Expr& wanted, const Expr& extent) {
    const Variable* v = as<Variable>(wanted);
    if (v == nullptr || !fixed_.emplace(Var(v), cast(v->type, extent)).second) return {};
    return Var(v);
  }
  bool same_extent(const Expr& found, const Expr& wanted) {
    const Expr extent = substitute(wanted, fixed_);
    const auto a = as_const_int(found), b = as_const_int(extent);
    if (a || b) return a == b;
    return analyzer_.can_prove_equal(found, cast(found.dtype(), extent));
  }

  bool bodies() {
    for (size_t k = 0; k < found_.body.size(); ++k) {
      const Reduce *a = as<Reduce>(found_.body[k]), *b = as<Reduce>(wanted_.body[k]);
      if (a == nullptr && b == nullptr) {
        if (!same(found(found_.body[k]), wanted(wanted_.body[k]))) return false;
        continue;
      }
      if (a == nullptr || b == nullptr || !same_reduction(*a, *b)) return false;
    }
    return true;
  }
  Expr found(const Expr& e) const { return substitute(e, roots_); }
  Expr wanted(const Expr& e) const { return substitute(e, fixed_); }

  bool same_reduction(const Reduce& a, const Reduce& b) {
    const bool equal = same_terms(a, b);
    if (!equal && in_body_.empty()) in_body_ = "another reducer, or another condition";
    return equal;
  }
  bool same_terms(const Reduce& a, const Reduce& b) {
    const auto always = [](const Reduce& r) {
      return !r.condition.defined() || is_const_int(r.condition, 1);
    };
    if (!always(a) || !always(b) || a.value_index != b.value_index) return false;
    const CommReducer &x = a.combiner, &y = b.combiner;
    if (x.lhs.size() != y.lhs.size() || x.rhs.size() != y.rhs.size()) return false;
    VarMap names;
    for (size_t k = 0; k < y.lhs.size(); ++k) names[y.lhs[k]] = x.lhs[k];
    for (size_t k = 0; k < y.rhs.size(); ++k) names[y.rhs[k]] = x.rhs[k];
    for (size_t k = 0; k < x.result.size(); ++k) {
      if (!equal(x.identity[k], y.identity[k])) return false;
      if (!equal(x.result[k], substitute(y.result[k], names))) return false;
      if (!same(found(a.source[k]), wanted(b.source[k]))) return false;
    }
    return true;
  }

  // Notes the first difference; of parts, before what they are parts of.
  bool same(const Expr& a, const Expr& b) {
    const bool equal = equal_parts(a, b);
    if (!equal && in_body_.empty() && a.defined() && b.defined())
      in_body_ = fmt::format("{} where it has {}", to_string(a), to_string(b));
    return equal;
  }
  bool equal_parts(const Expr& a, const Expr& b) {
    if (!a.defined() || !b.defined()) return a.defined() == b.defined();
    if (const Variable* v = as<Variable>(b); v != nullptr && scalars_.contains(Var(v)))
      return bind_scalar(Var(v), a);
    const bool index = a.dtype().is_integer() && b.dtype().is_integer() && !a.dtype().is_vector();
    if (index && !te::reads_tensor(a) && !te::reads_tensor(b) && !uses_scalars(b)) {
      return analyzer_.can_prove_equal(a, cast(a.dtype(), b));
    }
    if (a->kind != b->kind || a.dtype() != b.dtype()) return false;
    if (const ProducerLoad* read = as<ProducerLoad>(a)) return bind(*read, *as<ProducerLoad>(b));
    if (is_commutative(a->kind)) return same_in_any_order(a, b);
    return same_fields(a, b);
  }

  bool same_in_any_order(const Expr& a, const Expr& b) {
    std::vector<Expr> x, y;
    for_each_operand(a, [&](const Expr& e) { x.push_back(e); });
    for_each_operand(b, [&](const Expr& e) { y.push_back(e); });
    const Bound bound = bound_;
    const std::string noted = std::exchange(in_body_, "");
    // How many of the two operands agree.
    const auto agree = [&](size_t first, size_t second) {
      bound_ = bound;
      return static_cast<int>(same(x[0], y[first])) + static_cast<int>(same(x[1], y[second]));
    };
    int agreeing = agree(0, 1);
    if (agreeing < 2) {
      const std::string in_order = std::exchange(in_body_, "");
      const int turned = agree(1, 0);
      if (turned <= agreeing) in_body_ = in_order;
      agreeing = std::max(agreeing, turned);
    }
    // What is noted already comes before it.
    if (agreeing == 2 || !noted.empty()) in_body_ = noted;
    return agreeing == 2;
  }
  template <class F>
  static void for_each_operand(const Expr& e, F f) {
    switch (e->kind) {
#define TW_OPERANDS(Name) \
  case NodeKind::Name:    \
    f(as<Name>(e)->a);    \
    f(as<Name>(e)->b);    \
    return;
      TW_OPERANDS(Add)
      TW_OPERANDS(Mul)
      TW_OPERANDS(Min)
      TW_OPERANDS(Max)
      TW_OPERANDS(And)
      TW_OPERANDS(Or)
      TW_OPERANDS(Equal)
      TW_OPERANDS(NotEqual)
#undef TW_OPERANDS
      default:
        TW_CHECK(false, "no commutative operation");
    }
  }

  bool same_fields(const Expr& a, const Expr& b) {
    bool result = true;
    const auto compare = [&](const auto& x, const auto& y) {
      for_each_field(x, y, [&](const auto& p, const auto& q) { result = result && field(p, q); });
    };
    switch (a->kind) {
#define EXPR_NODE(Name)                  \
  case NodeKind::Name:                   \
    compare(*as<Name>(a), *as<Name>(b)); \
    break;
#define STMT_NODE(Name)
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE
      default:
        return false;
    }
    return result;
  }
  bool field(const Expr& a, const Expr& b) { return same(a, b); }
  bool field(const std::vector<Expr>& a, const std::vector<Expr>& b) {
    if (a.size() != b.size()) return false;
    for (size_t k = 0; k < a.size(); ++k) {
      if (!same(a[k], b[k])) return false;
    }
    return true;
  }
  bool field(const Var& a, const Var& b) { return a.same_as(b); }
  bool field(DType a, DType b) { return a == b; }
  bool field(const std::string& a, const std::string& b) { return a == b; }
  template <class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  bool field(T a, T b) {
    return a == b;
  }
  // Reductions inside expressions, and other lists: not in what an intrinsic computes.
  template <class T>
    requires(!std::is_arithmetic_v<T> && !std::is_enum_v<T>)
  bool field(const T&, const T&) {
    return false;
  }

  bool uses_scalars(const Expr& e) const {
    bool found = false;
    for_each_expr(e, [&](const Expr& x) {
      const Variable* v = as<Variable>(x);
      found |= v != nullptr && scalars_.contains(Var(v));
    });
    return found;
  }

  // An index may be the same at all points without looking so, as that of j // 8 of eight j.
  Expr with_simple_indices(const Expr& e) {
    return rewrite(e, [&](const Expr& part) -> Expr {
      const ProducerLoad* load = as<ProducerLoad>(part);
      if (load == nullptr) return {};
      return with(part, [&](ProducerLoad& to) {
        for (Expr& index : to.indices) {
          if (index.defined()) index = constant_here(analyzer_.canonical_simplify(index));
        }
      });
    });
  }
  // The index at the first point, where it is provably that at all of them.
  Expr constant_here(const Expr& index) {
    const Expr first = analyzer_.canonical_simplify(substitute(index, zeros_));
    return analyzer_.can_prove_equal(index, first) ? first : index;
  }
  // Lets a scalar parameter be an expression that is the same at all points of the intrinsic.
  bool bind_scalar(const Var& scalar, const Expr& found) {
    if (found.dtype() != scalar.dtype()) return false;
    const bool plain = found.dtype().is_integer() && !te::reads_tensor(found);
    const Expr value = plain ? analyzer_.canonical_simplify(found) : with_simple_indices(found);
    for (const IterVar& axis : wanted_.all_axes) {
      if (uses(value, axis->var)) return false;
    }
    Expr& known = bound_.scalars.at(scalar);
    if (known.defined())
      return plain ? analyzer_.can_prove_equal(known, value) : equal(known, value);
    known = value;
    return true;
  }

  Parted parted(const Expr& index) {
    Parted p;
    p.first = analyzer_.canonical_simplify(substitute(index, zeros_));
    p.rest = analyzer_.canonical_simplify(index - p.first);
    return p;
  }

  // Lets a tensor stand for one of the intrinsic's; it must do so wherever it is read.
  bool bind(const ProducerLoad& found, const ProducerLoad& wanted) {
    size_t input = 0;
    while (input < intrin_.inputs.size() &&
           (intrin_.inputs[input].op().get() != wanted.producer.get() ||
            intrin_.inputs[input].value_index() != wanted.value_index))
      ++input;
    if (input == intrin_.inputs.size() || found.dtype != wanted.dtype) return false;
    std::vector<Parted> places;
    for (const Expr& index : found.indices) {
      if (te::reads_tensor(index)) return false;
      places.push_back(parted(index));
    }
    IntrinOperand operand{
        .tensor = te::Tensor(te::Operation(te::as_op<te::OperationNode>(found.producer)),
                             found.value_index)};
    for (const Parted& p : places) operand.indices.push_back(p.first);
    std::vector<bool> used(places.size(), false);
    for (const Expr& index : wanted.indices) {
      const Parted p = parted(index);
      int at = -1;
      for (size_t d = 0; at < 0 && d < places.size() && !is_zero(p.rest); ++d) {
        if (used[d] || is_zero(places[d].rest)) continue;
        if (!analyzer_.can_prove_equal(places[d].rest, cast(places[d].rest.dtype(), p.rest)))
          continue;
        at = static_cast<int>(d);
      }
      if (at < 0 && !(is_zero(p.rest) && is_zero(p.first))) return false;
      operand.dimensions.push_back(at);
      if (at < 0) continue;
      const auto d = static_cast<size_t>(at);
      used[d] = true;
      operand.indices[d] =
          analyzer_.simplify(places[d].first - cast(places[d].first.dtype(), p.first));
    }
    for (size_t d = 0; d < places.size(); ++d) {
      if (!used[d] && !is_zero(places[d].rest)) return false;
    }
    std::optional<IntrinOperand>& known = bound_.inputs[input];
    if (!known) {
      known = std::move(operand);
      return true;
    }
    if (!(known->tensor == operand.tensor) || known->dimensions != operand.dimensions) return false;
    for (size_t d = 0; d < known->indices.size(); ++d) {
      if (!analyzer_.can_prove_equal(known->indices[d], operand.indices[d])) return false;
    }
    return true;
  }

  const te::ComputeNode& found_;
  const DomainMap& parts_;
  const TensorIntrinNode& intrin_;
  const te::ComputeNode& wanted_;
  Analyzer& analyzer_;
  VarMap zeros_;    // the intrinsic's axes at zero
  VarMap fixed_;    // those of one iteration at zero, and its extents that are variables
  VarMap scalars_;  // its scalar parameters, not bound
  VarMap roots_;    // the stage's axes by the intrinsic's
  VarSet taken_;
  std::unordered_map<Var, Var, IdentityHash, IdentityEqual> source_of_;
  struct Bound {
    std::vector<std::optional<IntrinOperand>> inputs;
    VarMap scalars;
  };
  Bound bound_;
  std::string in_axes_, in_body_;  // the first difference of either
};

}  // namespace

std::optional<IntrinMatch> match_intrin(const te::Operation& op, const DomainMap& parts,
                                        const TensorIntrinNode& intrin, Analyzer& analyzer) {
  const auto* compute = te::as_op<te::ComputeNode>(op);
  if (compute == nullptr) return {};
  return Matcher(*compute, parts, intrin, analyzer).match();
}

std::string first_difference(const te::Operation& op, const DomainMap& parts,
                             const TensorIntrinNode& intrin, Analyzer& analyzer) {
  const auto* compute = te::as_op<te::ComputeNode>(op);
  if (compute == nullptr) return "statements where it has an expression";
  Matcher matcher(*compute, parts, intrin, analyzer);
  matcher.match();
  return matcher.difference();
}

IntrinMatch outputs_at(const DomainMap& parts, const te::Operation& op, size_t first,
                       IntrinMatch match) {
  const std::vector<IterVar>& axes = op->data_axes();
  for (size_t k = first; k < match.operands.size(); ++k) {
    for (size_t d = 0; d < axes.size(); ++d)
      match.operands[k].indices[d] = parts.at(axes[d]->var).min;
  }
  return match;
}

Stmt mark_nest(const TensorIntrinNode& intrin, IntrinPart part, const IntrinMatch& match,
               const Stmt& body) {
  const std::vector<IntrinOperand>& operands = match.operands;
  const DType number = int_type(32);
  const auto tuple = [&](const char* name, std::vector<Expr> values) {
    return call(number, name, std::move(values), CallKind::PureIntrinsic);
  };
  std::vector<Expr> list = {make(StringImm{.value = std::string(to_string(part))})};
  for (size_t k = 0; k < operands.size(); ++k) {
    const IntrinOperand& operand = operands[k];
    const auto at = [&](int dimension) {
      std::vector<Expr> indices = operand.indices;
      if (dimension >= 0) {
        Expr& index = indices[static_cast<size_t>(dimension)];
        index = index + make_const(index.dtype(), 1);
      }
      const te::Tensor& tensor = operand.tensor;
      return make(ProducerLoad{.producer = tensor.op(),
                               .value_index = tensor.value_index(),
                               .indices = std::move(indices)});
    };
    std::vector<Expr> loads;
    // A reset knows nothing of where the inputs are.
    if (part != IntrinPart::Reset || k >= intrin.inputs.size()) {
      loads.push_back(at(-1));
      for (int dimension : operand.dimensions) loads.push_back(at(dimension));
    }
    list.push_back(tuple("tensor_operand", std::move(loads)));
  }
  // The scalars may differ from one update to the next.
  std::vector<Expr> values = match.values;
  if (part == IntrinPart::Reset) values.resize(values.size() - intrin.scalar_params.size());
  if (!values.empty()) list.push_back(tuple("tensor_values", std::move(values)));
  return make(AttrStmt{.node = tuple("tensor_operands", std::move(list)),
                       .key = attr::kTensorIntrin,
                       .value = make(StringImm{.value = intrin.name}),
                       .body = body});
}

}  // namespace tw
