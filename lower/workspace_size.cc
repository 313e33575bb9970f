// SPDX-License-Identifier: Apache-2.0
#include "lower/workspace_size.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/visit.h"

namespace tw {
namespace {

// Buffers of a region are live as long as the statement that they stand around.
class Peak : public Visitor {
 public:
  explicit Peak(std::span<const Kernel> module) : module_(module) {}
  WorkspaceSize most;

 protected:
  using Visitor::on;

  void on(const AttrStmt& op) override {
    const bool launch = attr::is_parallel_launch(op.key);
    const bool outer = std::exchange(in_task_, in_task_ || launch);
    Visitor::on(op);
    in_task_ = outer;
  }
  void on(const Allocate& op) override {
    if (op.scope != "global") return Visitor::on(op);
    std::optional<int64_t>& peak = in_task_ ? most.thread : most.call;
    int64_t& live = in_task_ ? task_bytes_ : call_bytes_;
    const std::optional<int64_t> bytes = bytes_of(op);
    if (!bytes) peak.reset();
    live += bytes.value_or(0);
    if (peak) peak = std::max(*peak, live);
    Visitor::on(op);
    live -= bytes.value_or(0);
  }

  void on(const Call& op) override {
    Visitor::on(op);
    const auto device = std::ranges::find(module_, launched_kernel(Expr::of(&op)), &Kernel::name);
    if (device == module_.end()) return;
    const WorkspaceSize size = workspace_size(*device);
    // A task runs the tasks of what it launches itself.
    if (in_task_) {
      raise_to(most.thread, plus(task_bytes_, plus(size.call, size.thread)));
    } else {
      raise_to(most.call, plus(call_bytes_, size.call));
      raise_to(most.thread, size.thread);
    }
  }

 private:
  using Bytes = std::optional<int64_t>;
  static Bytes plus(Bytes a, Bytes b) { return a && b ? Bytes(*a + *b) : Bytes(); }
  static void raise_to(Bytes& most, Bytes size) {
    most = most && size ? Bytes(std::max(*most, *size)) : Bytes();
  }
  static std::optional<int64_t> bytes_of(const Allocate& op) {
    int64_t bytes = op.type.element().element_bytes() * op.type.lanes;
    for (const Expr& e : op.extents) {
      const auto extent = as_const_int(e);
      if (!extent || __builtin_mul_overflow(bytes, std::max<int64_t>(*extent, 0), &bytes))
        return {};
    }
    return (std::max<int64_t>(bytes, 1) + 63) / 64 * 64;
  }

  std::span<const Kernel> module_;
  bool in_task_ = false;
  int64_t call_bytes_ = 0, task_bytes_ = 0;
};

}  // namespace

WorkspaceSize workspace_size(const Kernel& kernel, std::span<const Kernel> module) {
  Peak peak(module);
  peak.visit(kernel.body);
  return peak.most;
}

}  // namespace tw
