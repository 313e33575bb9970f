// SPDX-License-Identifier: Apache-2.0
// lower_threads: loops that are threads of an accelerator become loops of this processor. A block
// runs on one thread of the pool. Its threads run in turn, up to where they would wait for each
// other: what they share is computed once for all.
//
// before:                                          after:
//   // attr [] thread_axis = "blockIdx.x"            parallel (b, 0, 16) {
//   for (b, 0, 16) {                                   allocate S[float32 * 8]
//     // attr [] thread_axis = "threadIdx.x"           for (k, 0, 4) {
//     for (t, 0, 8) {                                    for (s, 0, 8) {
//       allocate S[float32 * 8]   (shared)                 S[s] = A[((k*8) + s)]
//       for (k, 0, 4) {                                  }
//         // attr [] thread_axis = "threadIdx.x"         for (t, 0, 8) {
//         for (s, 0, 8) {                                  B[((b*8) + t)] = (B[((b*8) + t)] + S[t])
//           S[s] = A[((k*8) + s)]                        }
//         }                                            }
//         B[((b*8) + t)] = (B[((b*8) + t)] + S[t])   }
//       }
//     }
//   }
//
// The pass thread_sync of compilers for accelerators puts barriers where the loops over threads are
// divided here. Where that is not possible each thread keeps a copy, as the loops before have it.
#include "ir/attributes.h"
#include "ir/visit.h"
#include "lower/distribute_loop.h"
#include "lower/passes.h"

namespace tw::pass {
namespace {

class LowerThreads : public Mutator {
 protected:
  using Mutator::on;

  Stmt on(const AttrStmt& op, const Stmt& self) override {
    if (op.key != attr::kThread) return Mutator::on(op, self);
    const auto* tag = as<StringImm>(op.value);
    const bool block = tag != nullptr && tag->value.starts_with("blockIdx.");
    const bool starts = block && !in_parallel_;
    if (starts) in_parallel_ = true;
    Stmt body = mutate(op.body);
    if (starts) in_parallel_ = false;
    const For* loop = as<For>(body);
    if (loop == nullptr) return body;
    if (starts && loop->for_kind == ForKind::Serial)
      return with(body, [](For& f) { f.for_kind = ForKind::Parallel; });
    return block ? body : distribute_loop(*loop, Distribution::AroundShared).value_or(body);
  }
  Stmt on(const For& op, const Stmt& self) override {
    const bool outer = in_parallel_;
    in_parallel_ |= op.for_kind == ForKind::Parallel;
    const Stmt s = Mutator::on(op, self);
    in_parallel_ = outer;
    return s;
  }

 private:
  bool in_parallel_ = false;
};

// Memory of threads is memory.
class PlainScopes : public Mutator {
 protected:
  using Mutator::on;
  Stmt on(const Allocate& op, const Stmt& self) override {
    const Stmt s = Mutator::on(op, self);
    if (op.scope != "shared" && op.scope != "warp") return s;
    return with(s, [](Allocate& a) { a.scope = "global"; });
  }
};

}  // namespace

Kernel lower_threads(Kernel kernel, const PassContext&) {
  kernel.body = PlainScopes().mutate(LowerThreads().mutate(kernel.body));
  return kernel;
}

}  // namespace tw::pass
