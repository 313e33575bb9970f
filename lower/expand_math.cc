// SPDX-License-Identifier: Apache-2.0
// expand_math: functions become arithmetic, which vectors of any number of lanes do without a call.
//
// before:                 after:
//   A[x] = sigmoid(B[x])    A[x] = (let x = B[x] in (let a = min(88.000000f, x) in …
//                                   select((x < -104.000000f), 0.000000f, (e/(1.000000f + e)))))
//
// exp, log, sigmoid, tanh and erf of float32 and narrower floats, on processors with multiply-adds
// of one rounding (math_functions.h). Elsewhere, and of float64, calls stay.
#include "ir/visit.h"
#include "lower/math_functions.h"
#include "lower/passes.h"

namespace tw::pass {
namespace {

class ExpandMath : public Mutator {
 public:
  explicit ExpandMath(const Target& target) : Mutator(KindSet{NodeKind::Call}), target_(target) {}

 protected:
  using Mutator::on;

  Expr on(const Call& op, const Expr& self) override {
    const Expr e = Mutator::on(op, self);
    const Call* call = as<Call>(e);
    if (call->call_kind != CallKind::PureIntrinsic || call->args.size() != 1) return e;
    const Expr expanded = math_function(call->name, call->args[0], target_.has_ldexp);
    return expanded.defined() ? expanded : e;
  }

 private:
  const Target& target_;
};

}  // namespace

Kernel expand_math(Kernel kernel, const PassContext& context) {
  if (context.target.has_fma) kernel.body = ExpandMath(context.target).mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
