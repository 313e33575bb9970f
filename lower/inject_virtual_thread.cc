// SPDX-License-Identifier: Apache-2.0
// inject_virtual_thread: a loop over virtual threads moves inwards to each statement, so that they
// run interleaved and share what they need alike; memory that each has for itself is widened.
//
// before:                                          after:
//   // attr [] thread_axis = "vthread"               allocate C.local[float32 * 2 * 1]
//   for (v, 0, 2) {                                  for (k, 0, 8) {
//     allocate C.local[float32 * 1]                    unrolled (v, 0, 2) {
//     for (k, 0, 8) {                                    C.local[v] = (C.local[v] + A[((v*8) + k)])
//       C.local[0] = (C.local[0] + A[((v*8) + k)])     }
//     }                                              }
//     C[v] = C.local[0]                              unrolled (v_1, 0, 2) {
//   }                                                  C[v_1] = C.local[v_1]
//                                                    }
//
// Where a condition or an extent depends on the virtual thread, its statements stay together; where
// memory cannot be widened the loop stays as it is.
#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/visit.h"
#include "lower/distribute_loop.h"
#include "lower/passes.h"

namespace tw::pass {
namespace {

class InjectVirtualThread : public Mutator {
 protected:
  using Mutator::on;
  Stmt on(const AttrStmt& op, const Stmt& self) override {
    const auto* tag = as<StringImm>(op.value);
    if (op.key != attr::kThread || tag == nullptr || !tag->value.ends_with("thread"))
      return Mutator::on(op, self);
    const Stmt body = mutate(op.body);
    const For* loop = as<For>(body);
    if (loop == nullptr || !as_const_int(loop->extent)) return body;
    return distribute_loop(*loop, Distribution::Innermost).value_or(body);
  }
};

}  // namespace

Kernel inject_virtual_thread(Kernel kernel, const PassContext&) {
  kernel.body = InjectVirtualThread().mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
