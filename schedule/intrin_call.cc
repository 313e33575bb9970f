// SPDX-License-Identifier: Apache-2.0
#include "schedule/intrin_call.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/arithmetic/analyzer.h"
#include "ir/expr.h"
#include "ir/print.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "runtime/error.h"
#include "schedule/te/tensor_compute.h"

namespace tw {
namespace {

std::string text_of(const std::vector<Expr>& list) {
  std::string text;
  for (const Expr& e : list) text += (text.empty() ? "" : ", ") + to_string(e);
  return fmt::format("({})", text);
}

// The expression of an intrinsic, with what the call gives in place of its axes, tensors, scalars
// and variable extents.
class Caller {
 public:
  Caller(const IntrinCall& call, const std::string& name)
      : call_(call),
        intrin_(*call.intrin),
        compute_(*te::as_op<te::ComputeNode>(intrin_.op)),
        name_(name) {}

  te::Operation op(std::vector<IterVar> axis, const std::vector<Expr>& block,
                   const std::string& tag, const te::Attributes& attributes) {
    check_counts();
    for (const IterVar& a : axis) analyzer_.bind(a->var, a->domain);
    for (const IterVar& a : call_.reduction) analyzer_.bind(a->var, a->domain);
    for (size_t k = 0; k < intrin_.inputs.size(); ++k) bind_input(k);
    bind_output(axis, block);
    for (size_t k = 0; k < call_.scalars.size(); ++k) {
      const Var& v = intrin_.scalar_params[k];
      values_[v] = cast(v.dtype(), call_.scalars[k]);
    }
    std::vector<IterVar> reduction = call_.reduction;
    for (const IterVar& a : compute_.reduce_axis) {
      const Range domain{a->domain.min, substitute(a->domain.extent, values_)};
      reduction.push_back(te::reduce_axis(domain, a.name()));
      values_[a->var] = reduction.back()->var;
    }
    std::vector<Expr> bodies;
    for (const Expr& body : compute_.body) bodies.push_back(called(body, reduction));
    return te::tensor_compute_op(name_, intrin_.name, block.size(), compute_.reduce_axis.size(),
                                 std::move(axis), std::move(bodies), tag, attributes);
  }

 private:
  [[noreturn]] void fail(std::string what, std::string legal) const {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("a call of '{}': {}", intrin_.name, what),
           .stage = name_,
           .legal = std::move(legal)});
  }

  void check_counts() const {
    if (call_.inputs.size() != intrin_.inputs.size()) {
      fail(fmt::format("{} slices of tensors for {} inputs", call_.inputs.size(),
                       intrin_.inputs.size()),
           "one for each tensor of the intrinsic");
    }
    if (call_.scalars.size() != intrin_.scalar_params.size()) {
      fail(fmt::format("{} scalars for {} scalar parameters", call_.scalars.size(),
                       intrin_.scalar_params.size()),
           "one for each of scalar_params");
    }
    if (call_.reduction.empty() || compute_.is_reduction()) return;
    fail("an axis of a reduction, and the intrinsic does not reduce",
         "an intrinsic of a body, a reset and an update");
  }

  // Which of the dimensions are those of the intrinsic's tensor: all but the first of extent 1, as
  // many as there are too many.
  std::vector<size_t> dimensions(const std::vector<Expr>& has, const std::vector<Expr>& wants,
                                 const std::string& what) const {
    std::vector<size_t> result;
    size_t superfluous = has.size() < wants.size() ? 0 : has.size() - wants.size();
    for (size_t d = 0; d < has.size(); ++d) {
      if (superfluous > 0 && is_one(has[d])) {
        --superfluous;
      } else {
        result.push_back(d);
      }
    }
    if (result.size() == wants.size()) return result;
    fail(fmt::format("{} is a block {}, and the intrinsic's is {}", what, text_of(has),
                     text_of(wants)),
         "blocks of the same shape, but for dimensions of extent 1");
  }

  // A variable takes the extent; what has a value must agree.
  void agree(const Expr& wanted, const Expr& has, const std::vector<Expr>& shape,
             const std::string& what) {
    const Variable* v = as<Variable>(wanted);
    if (v != nullptr && values_.emplace(Var(v), cast(v->type, has)).second) return;
    const Expr value = substitute(wanted, values_);
    if (analyzer_.can_prove_equal(has, cast(has.dtype(), value))) return;
    fail(fmt::format("{} has extent {} where the intrinsic's {} has {}", what, to_string(has),
                     text_of(shape), to_string(value)),
         "the extents of the intrinsic's tensors");
  }

  void bind_input(size_t k) {
    const te::Tensor& input = intrin_.inputs[k];
    const auto& [tensor, region] = call_.inputs[k];
    const std::string what = fmt::format("the slice of '{}'", tensor.name());
    if (tensor.dtype() != input.dtype()) {
      fail(fmt::format("'{}' is {}, and the intrinsic's '{}' is {}", tensor.name(),
                       to_string(tensor.dtype()), input.name(), to_string(input.dtype())),
           to_string(input.dtype()));
    }
    TW_CHECK(region.size() == static_cast<size_t>(tensor.rank()), tensor.name());
    std::vector<Expr> extents;
    for (const Range& r : region) extents.push_back(analyzer_.canonical_simplify(r.extent));
    input_dimensions_.push_back(dimensions(extents, input.shape(), what));
    for (size_t d = 0; d < input_dimensions_[k].size(); ++d)
      agree(input.shape()[d], extents[input_dimensions_[k][d]], input.shape(), what);
  }

  void bind_output(std::vector<IterVar>& axis, const std::vector<Expr>& block) {
    std::vector<Expr> extents(axis.size(), Expr(1));
    extents.insert(extents.end(), block.begin(), block.end());
    const std::vector<Expr> wants = compute_.output_shape(0);
    const std::vector<size_t> at = dimensions(extents, wants, "what is computed");
    const size_t loops = axis.size();
    for (size_t d = 0; d < block.size(); ++d) {
      const DType type = block[d].dtype();
      axis.emplace_back(Range{make_zero(type), block[d]}, Var(fmt::format("ax{}", d), type),
                        IterKind::DataParallel);
    }
    for (size_t d = 0; d < at.size(); ++d) {
      agree(wants[d], extents[at[d]], wants, "what is computed");
      const Var& own = compute_.axis[d]->var;
      values_[own] = at[d] < loops ? make_zero(own.dtype()) : cast(own.dtype(), axis[at[d]]->var);
    }
  }

  Expr called(const Expr& body, const std::vector<IterVar>& reduction) const {
    if (!is<Reduce>(body)) return given(body);
    return with(body, [&](Reduce& r) {
      for (Expr& source : r.source) source = given(source);
      if (r.condition.defined()) r.condition = given(r.condition);
      r.axis = reduction;
    });
  }

  Expr given(const Expr& e) const {
    return rewrite(substitute(e, values_), [&](const Expr& sub) -> Expr {
      const ProducerLoad* load = as<ProducerLoad>(sub);
      if (load == nullptr) return {};
      for (size_t k = 0; k < intrin_.inputs.size(); ++k) {
        const te::Tensor& input = intrin_.inputs[k];
        if (input.op().get() != load->producer.get() || input.value_index() != load->value_index)
          continue;
        return read(k, load->indices);
      }
      return {};
    });
  }

  Expr read(size_t k, const std::vector<Expr>& indices) const {
    const auto& [tensor, region] = call_.inputs[k];
    std::vector<Expr> at;
    for (const Range& r : region) at.push_back(r.min);
    for (size_t d = 0; d < indices.size(); ++d) {
      Expr& index = at[input_dimensions_[k][d]];
      index = is_zero(index) ? indices[d] : index + cast(index.dtype(), indices[d]);
    }
    return tensor(at);
  }

  const IntrinCall& call_;
  const TensorIntrinNode& intrin_;
  const te::ComputeNode& compute_;
  const std::string& name_;
  Analyzer analyzer_;
  VarMap values_;
  std::vector<std::vector<size_t>> input_dimensions_;
};

}  // namespace

te::Operation called_op(const IntrinCall& call, const std::string& name, std::vector<IterVar> axis,
                        const std::vector<Expr>& block, const std::string& tag,
                        const te::Attributes& attributes) {
  return Caller(call, name).op(std::move(axis), block, tag, attributes);
}

}  // namespace tw
