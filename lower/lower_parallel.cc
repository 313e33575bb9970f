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
// Under pragma_parallel_dynamic = 4 a task is four iterations, and a thread that is done with one
// takes the next:
//                                  // attr [y.task] parallel_launch_dynamic = 6
//                                  for (y, y.task*4, min(4, 21 - y.task*4)) {
//                                    A[y] = 0
//                                  }
//
// A buffer around the whole body is allocated once a task. A parallel loop inside another one
// becomes serial: the threads are taken already.
#include <algorithm>
#include <functional>
#include <utility>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "lower/passes.h"

namespace tw::pass {
namespace {

class LowerParallel : public Mutator {
 public:
  LowerParallel() : Mutator(KindSet{NodeKind::For, NodeKind::AttrStmt}) {}

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

    const auto restored = [&](Stmt loop) {
      for (auto a = buffers.rbegin(); a != buffers.rend(); ++a) {
        a->body = loop;
        loop = make(*a);
      }
      return loop;
    };
    return piece_.defined() ? dynamic(op, body, restored) : chunked(op, body, restored);
  }

  Stmt on(const AttrStmt& op, const Stmt& self) override {
    if (op.key != attr::kParallelDynamic) return Mutator::on(op, self);
    const Expr outer = std::exchange(piece_, op.value);
    const Stmt body = mutate(op.body);
    piece_ = outer;
    return body;
  }

 private:
  using Wrap = std::function<Stmt(Stmt)>;

  static Stmt launch(const Var& task, const char* key, const Expr& tasks, const Stmt& body) {
    return make(AttrStmt{.node = task, .key = key, .value = tasks, .body = body});
  }

  // `wrap` puts the buffers of a task around its loop.
  static Stmt chunked(const For& op, const Stmt& body, const Wrap& wrap) {
    const DType type = op.var.dtype();
    const auto named = [&](const char* suffix) { return Var(op.var.name() + suffix, type); };
    const Var tasks = named(".tasks"), task = named(".task");
    const Var chunk = named(".chunk"), rest = named(".rest");
    const Expr threads = cast(type, call(int_type(32), "num_threads", {}, CallKind::PureIntrinsic));
    Expr count = min(threads, op.extent);
    // No iteration is one task as well: none would mean one for each thread.
    const auto extent = as_const_int(op.extent);
    if (!extent || *extent == 0) count = max(count, make_const(type, 1));

    Stmt loop =
        make(For{.var = op.var,
                 .min = op.min + (task * chunk + min(task, rest)),
                 .extent = chunk + select(task < rest, make_const(type, 1), make_const(type, 0)),
                 .body = body});
    loop = wrap(loop);
    loop = make(LetStmt{.var = rest, .value = trunc_mod(op.extent, tasks), .body = loop});
    loop = make(LetStmt{.var = chunk, .value = trunc_div(op.extent, tasks), .body = loop});
    loop = launch(task, attr::kParallelLaunch, tasks, loop);
    return make(LetStmt{.var = tasks, .value = count, .body = loop});
  }

  Stmt dynamic(const For& op, const Stmt& body, const Wrap& wrap) const {
    const DType type = op.var.dtype();
    const Var task(op.var.name() + ".task", type);
    const Expr piece = cast(type, piece_), begin = task * piece;
    const auto extent = as_const_int(op.extent), size = as_const_int(piece);
    const bool divides = extent && size && *extent % *size == 0;
    Expr tasks = trunc_div(op.extent + (piece - make_const(type, 1)), piece);
    if (!extent || *extent == 0) tasks = max(tasks, make_const(type, 1));
    const Stmt loop = make(For{.var = op.var,
                               .min = op.min + begin,
                               .extent = divides ? piece : min(piece, op.extent - begin),
                               .body = body});
    return launch(task, attr::kParallelLaunchDynamic, tasks, wrap(loop));
  }

  Expr piece_;  // iterations of a task, where a pragma says it
  bool inside_ = false;
};

}  // namespace

Kernel lower_parallel(Kernel kernel, const PassContext&) {
  kernel.body = LowerParallel().mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
