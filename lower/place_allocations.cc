// SPDX-License-Identifier: Apache-2.0
// place_allocations: after this pass "local" means the stack and "global" means workspace
// (tw_workspace_alloc). What a thread keeps on its stack at a time is bounded, for stacks are small
// and what runs over their end crashes.
//
// before (max_stack_bytes 1024):            after:
//   // attr [A] storage_scope = "local"       // attr [A] storage_scope = "global"
//   allocate A[float32 * 240]                 allocate A[float32 * 240]
//   // attr [B] storage_scope = "local"       // attr [B] storage_scope = "local"
//   allocate B[float32 * 32]                  allocate B[float32 * 32]
//   // attr [C] storage_scope = "global"      // attr [C] storage_scope = "local"
//   allocate C[float32 * 8]                   allocate C[float32 * 8]
//
// The smallest stay, as they are the likeliest to become registers. Small scratch memory that was
// not "local" comes to the stack too, where it costs no call. What has no constant size does not.
// A buffer takes its part of the stack as long as its function runs: the kernel's, or that of a
// task, which may run on the thread that launches it.
#include <algorithm>
#include <unordered_set>
#include <vector>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/visit.h"
#include "lower/passes.h"

namespace tw::pass {
namespace {

constexpr int64_t kSmallScratchBytes = 1 << 10;  // of "global" allocations
constexpr int64_t kAlignment = 64;

struct Candidate {
  const Allocate* allocate;
  int64_t bytes;    // of all copies that code generation makes of it
  size_t function;  // 0: the kernel's; k: of the k-th parallel region
};

class FindCandidates : public Visitor {
 public:
  FindCandidates() : Visitor(KindSet{NodeKind::Allocate}) {}
  std::vector<Candidate> candidates;
  size_t functions = 1;

 protected:
  using Visitor::on;

  void on(const AttrStmt& op) override {
    if (!attr::is_parallel_launch(op.key)) return Visitor::on(op);
    const size_t outer = function_;
    function_ = functions++;
    Visitor::on(op);
    function_ = outer;
  }
  void on(const For& op) override {
    // Code generation repeats the body, and with it what the body allocates.
    const bool repeats = op.for_kind == ForKind::Unrolled;
    const int64_t outer = copies_;
    if (repeats) copies_ *= std::clamp<int64_t>(as_const_int(op.extent).value_or(1), 1, kLarge);
    copies_ = std::min(copies_, kLarge);
    Visitor::on(op);
    copies_ = outer;
  }
  void on(const Allocate& op) override {
    Visitor::on(op);
    int64_t bytes = op.type.element().element_bytes() * op.type.lanes;
    for (const Expr& e : op.extents) {
      const auto extent = as_const_int(e);
      if (!extent || *extent > kLarge) return;
      bytes = std::min(bytes * std::max<int64_t>(*extent, 1), kLarge);
    }
    if (op.scope != "local" && (op.scope != "global" || bytes > kSmallScratchBytes)) return;
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    candidates.push_back({&op, bytes * copies_, function_});
  }

 private:
  static constexpr int64_t kLarge = int64_t{1} << 30;
  size_t function_ = 0;
  int64_t copies_ = 1;
};

// Those that fit, the smallest first.
std::unordered_set<const Allocate*> on_stack(FindCandidates found, int64_t most) {
  std::ranges::stable_sort(found.candidates, {}, &Candidate::bytes);
  std::vector<int64_t> taken(found.functions, 0);
  int64_t deepest = 0;  // of the parallel regions
  std::unordered_set<const Allocate*> kept;
  for (const Candidate& c : found.candidates) {
    const int64_t region = c.function == 0 ? deepest : taken[c.function] + c.bytes;
    const int64_t kernel = c.function == 0 ? taken[0] + c.bytes : taken[0];
    if (kernel + region > most) continue;
    taken[c.function] += c.bytes;
    if (c.function != 0) deepest = std::max(deepest, region);
    kept.insert(c.allocate);
  }
  return kept;
}

class Place : public Mutator {
 public:
  explicit Place(std::unordered_set<const Allocate*> on_stack)
      : Mutator(KindSet{NodeKind::Allocate}), on_stack_(std::move(on_stack)) {}

 protected:
  using Mutator::on;

  Stmt on(const Allocate& op, const Stmt& self) override {
    const Stmt s = Mutator::on(op, self);
    if (op.scope == attr::kTileScope) return s;
    const char* scope = on_stack_.contains(&op) ? "local" : "global";
    if (op.scope == scope) return s;
    return with(s, [&](Allocate& a) { a.scope = scope; });
  }

 private:
  std::unordered_set<const Allocate*> on_stack_;
};

}  // namespace

Kernel place_allocations(Kernel kernel, const PassContext& context) {
  FindCandidates found;
  found.visit(kernel.body);
  Place place(on_stack(std::move(found), context.options.max_stack_bytes));
  kernel.body = place.mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
