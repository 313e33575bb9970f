// SPDX-License-Identifier: Apache-2.0
// nontemporal_stores: stores that go around the caches need aligned addresses, which arguments have
// or have not: where the pragma asks for such stores, the alignment is tested, and the statement
// stands there twice.
//
// before:                                        after:
//   // attr [] pragma_store_nontemporal = 1        if ((bitwise_and(address_bits(O), 63) == 0)) {
//   for (i, 0, 9) {                                  // attr [O] storage_alignment = 64
//     O[ramp((i*16), 1, 16)] = x16(0.0f)             // attr [] pragma_store_nontemporal = 1
//   }                                                for (i, 0, 9) { … }
//                                                  } else { for (i, 0, 9) { … } }
//
// Buffers of the kernel's own are aligned anyway. A value of 0 asks for nothing.
#include <algorithm>
#include <bit>
#include <set>
#include <vector>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "lower/passes.h"

namespace tw::pass {
namespace {

// A buffer that the body stores vectors into, and the bytes of the widest.
struct Stored {
  Var buffer;
  int bytes;
};

class NontemporalStores : public Mutator {
 public:
  NontemporalStores(const Target& target, const Stmt& body)
      : Mutator(KindSet{NodeKind::AttrStmt}), target_(target) {
    for_each_stmt(body, [this](const Stmt& s) {
      if (const Allocate* a = as<Allocate>(s)) own_.insert(a->buffer.operator->());
    });
  }

 protected:
  using Mutator::on;

  Stmt on(const AttrStmt& op, const Stmt& self) override {
    if (op.key != attr::kStoreNontemporal) return Mutator::on(op, self);
    if (is_zero(op.value)) return mutate(op.body);
    const std::vector<Stored> stored = vectors_stored(op.body);
    if (stored.empty()) return op.body;
    Stmt aligned = self;
    Expr condition;
    for (const Stored& s : stored) {
      if (own_.contains(s.buffer.operator->())) continue;
      const DType address = uint_type(64);
      const Expr bits = call(address, "address_bits", {s.buffer}, CallKind::PureIntrinsic);
      const Expr low = call("bitwise_and", {bits, make_const(address, s.bytes - 1)});
      const Expr is_aligned = low == make_zero(address);
      condition = condition.defined() ? condition && is_aligned : is_aligned;
      aligned = make(AttrStmt{.node = s.buffer,
                              .key = attr::kStorageAlignment,
                              .value = make_const(address, s.bytes),
                              .body = aligned});
    }
    if (!condition.defined()) return self;
    return make(IfThenElse{
        .condition = condition, .then_case = aligned, .else_case = rename_bindings(op.body)});
  }

 private:
  // In the order of their first stores.
  std::vector<Stored> vectors_stored(const Stmt& body) const {
    std::vector<Stored> found;
    for_each_stmt(body, [&](const Stmt& s) {
      const Store* store = as<Store>(s);
      if (store == nullptr || store->predicate.defined()) return;
      const Ramp* ramp = as<Ramp>(store->index);
      if (ramp == nullptr || as_const_int(ramp->stride) != 1) return;
      const int bytes = std::min(store->value.dtype().lanes * store->value.dtype().element_bytes(),
                                 target_.vector_bits / 8);
      if (!std::has_single_bit(static_cast<unsigned>(bytes))) return;
      const auto known = std::ranges::find_if(
          found, [&](const Stored& f) { return f.buffer.same_as(store->buffer); });
      if (known == found.end()) {
        found.push_back({store->buffer, bytes});
      } else {
        known->bytes = std::max(known->bytes, bytes);
      }
    });
    return found;
  }

  const Target& target_;
  std::set<const Variable*> own_;  // around the pragma or inside it; look-ups only
};

}  // namespace

Kernel nontemporal_stores(Kernel kernel, const PassContext& context) {
  kernel.body = NontemporalStores(context.target, kernel.body).mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
