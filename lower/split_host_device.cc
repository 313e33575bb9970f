// SPDX-License-Identifier: Apache-2.0
// split_host_device: what blocks and threads run becomes a kernel of its own, role Device, which
// the kernel that it stood in launches. Each outermost loop that is bound to a thread axis
// (blockIdx, threadIdx) begins one.
//
// before, in the kernel "f":                       after, in "f":
//   for (k, 0, n) {                                  for (k, 0, n) {
//     // attr [] thread_axis = "blockIdx.x"            launch("f_kernel0", A, B, k,
//     for (b, 0, 16) {                                        thread_extent("blockIdx.x", 16),
//       // attr [] thread_axis = "threadIdx.x"                thread_extent("threadIdx.x", 8))
//       for (t, 0, 8) {                              }
//         B[((b*8) + t)] = A[(k + t)]              and in "f_kernel0", of A, B and k:
//       }                                            // attr [] thread_axis = "blockIdx.x"
//     }                                              for (b, 0, 16) { … }
//   }
//
// Its arguments are the variables that are free in it, the buffers in front of the others, each in
// the order of their first use. An extent in the launch is that of the longest loop of its axis; an
// axis of loops whose extents are known inside only, from a tensor say, has none.
//
// Pragmas around such a loop go with it. Loops stay where they are inside the scope of tile
// registers, which are those of one function, and inside of a vectorized loop, whose lanes are no
// iterations that could launch something.
#include <fmt/format.h>

#include <algorithm>

#include "ir/arithmetic/interval.h"
#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "lower/passes.h"

namespace tw::pass {
namespace {

// The axis that a loop of blocks or threads is bound to; null for all other marks.
const StringImm* axis_of(const AttrStmt& op) {
  const StringImm* tag = op.key == attr::kThread ? as<StringImm>(op.value) : nullptr;
  const bool real = tag != nullptr &&
                    (tag->value.starts_with("blockIdx.") || tag->value.starts_with("threadIdx."));
  return real ? tag : nullptr;
}

bool has_threads(const Stmt& body) {
  bool found = false;
  for_each_stmt(body, [&](const Stmt& s) {
    const AttrStmt* mark = as<AttrStmt>(s);
    found |= mark != nullptr && axis_of(*mark) != nullptr;
  });
  return found;
}

// The extents of the axes as whoever launches knows them, in the order of the loops.
class LaunchExtents : public Visitor {
 public:
  struct Axis {
    const StringImm* tag;
    Expr extent;  // undefined: known inside only
  };
  std::vector<Axis> axes;

 protected:
  using Visitor::on;

  void on(const AttrStmt& op) override {
    if (const StringImm* tag = axis_of(op)) {
      const For* loop = as<For>(op.body);
      add(tag, loop == nullptr ? Expr(1) : outside(loop->extent));
    }
    Visitor::on(op);
  }
  void on(const For& op) override {
    const Interval first = evaluate_interval(op.min, inside_);
    const Interval last =
        evaluate_interval(op.min + op.extent - make_const(op.var.dtype(), 1), inside_);
    inside_[op.var] = {first.least, last.greatest};
    Visitor::on(op);
  }
  void on(const LetStmt& op) override {
    inside_[op.var] = evaluate_interval(op.value, inside_);
    Visitor::on(op);
  }

 private:
  void add(const StringImm* tag, const Expr& extent) {
    const auto known =
        std::ranges::find(axes, tag->value, [](const Axis& a) { return a.tag->value; });
    if (known == axes.end()) {
      axes.push_back({tag, extent});
    } else {
      Expr& longest = known->extent;
      longest = longest.defined() && extent.defined() ? max(longest, cast(longest.dtype(), extent))
                                                      : Expr();
    }
  }
  Expr outside(const Expr& extent) const {
    const Expr most = evaluate_interval(extent, inside_).greatest;
    const auto is_inside = [&](const Var& v) {
      return inside_.contains(v) || v.dtype().is_handle();
    };
    if (!most.defined() || loads_memory(most) || std::ranges::any_of(free_vars(most), is_inside))
      return {};
    return most;
  }

  IntervalMap inside_;
};

class Split : public Mutator {
 public:
  explicit Split(std::string name) : name_(std::move(name)) {}
  std::vector<Kernel> devices;

 protected:
  using Mutator::on;

  Stmt on(const AttrStmt& op, const Stmt& self) override {
    if (axis_of(op) != nullptr) return launched(self);
    const bool lasts = op.key.starts_with(attr::kPragmaPrefix);
    if (lasts) pragmas_.push_back(&op);
    const Stmt s = Mutator::on(op, self);
    if (lasts) pragmas_.pop_back();
    return s;
  }
  Stmt on(const For& op, const Stmt& self) override {
    return op.for_kind == ForKind::Vectorized ? self : Mutator::on(op, self);
  }
  Stmt on(const Allocate& op, const Stmt& self) override {
    return op.scope == attr::kTileScope ? self : Mutator::on(op, self);
  }

 private:
  Stmt launched(const Stmt& region) {
    std::vector<Var> variables = free_vars(region);
    std::ranges::stable_partition(variables, [](const Var& v) { return v.dtype().is_handle(); });
    VarSet written;
    for_each_stmt(region, [&](const Stmt& s) {
      if (const Store* store = as<Store>(s)) written.insert(store->buffer);
    });
    Kernel device{.name = fmt::format("{}_kernel{}", name_, devices.size()),
                  .role = KernelRole::Device};
    std::vector<Expr> args = {make(StringImm{.value = device.name})};
    for (const Var& v : variables) {
      const bool buffer = v.dtype().is_handle();
      device.arguments.push_back({.name = v.name(),
                                  .dtype = buffer ? v->element : v.dtype(),
                                  .is_tensor = buffer,
                                  .var = v,
                                  .is_output = written.contains(v)});
      args.emplace_back(v);
    }
    LaunchExtents extents;
    extents.visit(region);
    for (const LaunchExtents::Axis& axis : extents.axes) {
      if (!axis.extent.defined()) continue;
      const Expr tag(axis.tag);
      args.push_back(
          call(tag.dtype(), "thread_extent", {tag, axis.extent}, CallKind::PureIntrinsic));
    }
    device.body = region;
    for (auto p = pragmas_.rbegin(); p != pragmas_.rend(); ++p) {
      device.body = make(AttrStmt{.key = (*p)->key, .value = (*p)->value, .body = device.body});
    }
    devices.push_back(std::move(device));
    return make(
        Evaluate{.value = call(int_type(32), "launch", std::move(args), CallKind::Intrinsic)});
  }

  std::string name_;
  std::vector<const AttrStmt*> pragmas_;
};

}  // namespace

KernelModule split_host_device(KernelModule module, const PassContext&) {
  std::vector<Kernel> devices;
  for (Kernel& kernel : module.kernels) {
    if (!has_threads(kernel.body)) continue;
    Split split(kernel.name);
    kernel.body = split.mutate(kernel.body);
    std::ranges::move(split.devices, std::back_inserter(devices));
  }
  std::ranges::move(devices, std::back_inserter(module.kernels));
  return module;
}

}  // namespace tw::pass
