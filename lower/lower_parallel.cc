// SPDX-License-Identifier: Apache-2.0
// lower_parallel: a parallel loop becomes tasks for the thread pool, each with one contiguous
// chunk; chunks differ in length by at most one iteration.
//
// before:                        after:
//   parallel (y, 0, 21) {          let y.tasks = min(num_threads(), 21)
//     A[y] = 0                     // attr [y.task] parallel_launch = y.tasks
//   }                              let y.chunk = 21 / y.tasks
//                                  let y.rest = 21 % y.tasks
//                                  for (y, (y.task*y.chunk) + min(y.task, y.rest),
//                                          y.chunk + select((y.task < y.rest), 1, 0)) {
//                                    A[y] = 0
//                                  }
//
// A buffer around the whole body is allocated once a task. A parallel loop inside another one
// becomes serial: the threads are taken already.
#include <algorithm>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "lower/passes.h"

namespace tw::pass {
namespace {

class LowerParallel : public Mutator {
 protected:
  using Mutator::on;

  Stmt on(const For& op, const Stmt& self) override {
    if (op.for_kind != ForKind::Parallel) return Mutator::on(op, self);
    if (inside_) {
      const Stmt s = Mutator::on(op, self);
      return with(s, [](For& f) { f.for_kind = ForKind::Serial; });
    }
    inside_ = true;
    Stmt body = mutate(op.body);
    inside_ = false;
    std::vector<Allocate> buffers;
    while (const Allocate* a = as<Allocate>(body)) {
      if (std::any_of(a->extents.begin(), a->extents.end(),
                      [&](const Expr& e) { return uses(e, op.var); })) {
        break;
      }
      buffers.push_back(*a);
      body = a->body;
    }

    const DType type = op.var.dtype();
    const auto named = [&](const char* suffix) { return Var(op.var.name() + suffix, type); };
    const Var tasks = named(".tasks"), task = named(".task");
    const Var chunk = named(".chunk"), rest = named(".rest");
    const Expr threads = cast(type, call(int_type(32), "num_threads", {}, CallKind::PureIntrinsic));
    Expr count = min(threads, op.extent);
    if (!as_const_int(op.extent)) count = max(count, make_const(type, 1));

    Stmt loop =
        make(For{.var = op.var,
                 .min = op.min + (task * chunk + min(task, rest)),
                 .extent = chunk + select(task < rest, make_const(type, 1), make_const(type, 0)),
                 .body = body});
    for (auto a = buffers.rbegin(); a != buffers.rend(); ++a) {
      a->body = loop;
      loop = make(*a);
    }
    loop = make(LetStmt{.var = rest, .value = trunc_mod(op.extent, tasks), .body = loop});
    loop = make(LetStmt{.var = chunk, .value = trunc_div(op.extent, tasks), .body = loop});
    loop = make(AttrStmt{.node = task, .key = attr::kParallelLaunch, .value = tasks, .body = loop});
    return make(LetStmt{.var = tasks, .value = count, .body = loop});
  }

 private:
  bool inside_ = false;
};

}  // namespace

Kernel lower_parallel(Kernel kernel, const PassContext&) {
  kernel.body = LowerParallel().mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
