// SPDX-License-Identifier: Apache-2.0
#include "lower/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "ir/expr.h"
#include "ir/print.h"
#include "ir/substitute.h"
#include "lower/passes.h"
#include "lower/selected_names.h"
#include "runtime/error.h"
#include "runtime/nearest_word.h"

namespace tw {
namespace {

using enum Property;

// The order matters:
// - check_bounds first: an index still stands beside the dimension that it is an index of.
// - tensorize right after storage_flatten: offsets and strides of an intrinsic's operands are read
//   off the loop nest as schedule_ops wrote it.
// - inject_virtual_thread before lower_threads: virtual threads of one thread are part of what it
//   runs.
// - split_host_device between the two: threads are still threads.
// - inject_double_buffer after both: what threads share is computed once then, in one place.
// - canonical_simplify before loop_partition and vectorize_loop: both read conditions and indices
//   as linear forms.
// - vectorize_loop before storage_rewrite: it widens buffers that live inside vectorized loops.
// - unmask_accumulator between the two: masks are there then, and a buffer's life is still the
//   scope of its allocation.
// - promote_accumulator after it: local buffers that lost their masks need no other; and before
//   storage_rewrite, which finds a place for those that it makes.
// - storage_rewrite before unroll_loop: copies of a loop body share the buffers they take in turn,
//   and liveness is decided on few statements.
// - transpose_loads before unroll_loop: it knows a tile's columns by their loop.
// - simplify after unroll_loop: what became constant folds; remove_no_op after it: conditions are
//   decided then.
// - share_strided_loads and interleave_stores after simplify: neighbours then differ in a constant
//   at the end. shuffle_gathers beside them: where lanes lie may then be known.
// - unsign_dot_products after unroll_loop: the rows of a tile stand side by side then.
// - nontemporal_stores after unroll_loop: it doubles the code, and what is left is what is stored.
// - share_arguments after all that moves a load across a store, and before make_api, which checks.
// - make_api after all that depends on the arguments as buffers; lower_parallel after it, so that a
//   task is a function inside the compute scope.
// - place_allocations after lower_parallel: the functions that buffers live in are known then.
// - expand_math late: what passes ask about a call they need not ask about arithmetic. Before
//   lower_intrin, which spells sigmoid with exp.
// - lower_intrin last: what is simplified before must still be floor division.
const std::vector<Pass>& table() {
  // clang-format off
  static const std::vector<Pass> passes = {
      {"check_bounds", pass::check_bounds, {WellFormed}, {WellFormed}, true,
       "with the option of that name, indices that are not proven inside are tested"},
      {"inject_prefetch", pass::inject_prefetch, {WellFormed}, {WellFormed}, false,
       "regions to fetch become prefetches of their cache lines"},
      {"storage_flatten", pass::storage_flatten, {WellFormed}, {WellFormed, Flat}, false,
       "tensors become buffers with one row-major index"},
      {"tensorize", pass::tensorize, {Flat}, {}, false,
       "tensor intrinsics get their statements, beside the loops that they stand for"},
      {"inject_virtual_thread", pass::inject_virtual_thread, {Flat}, {}, true,
       "virtual threads are interleaved, each with memory of its own"},
      {"split_host_device", pass::split_host_device, {Flat}, {}, true,
       "loops of blocks and threads become kernels of their own, which the kernel launches"},
      {"lower_threads", pass::lower_threads, {Flat}, {}, false,
       "blocks run on the thread pool, and their threads in turn up to where they would wait"},
      {"inject_double_buffer", pass::inject_double_buffer, {Flat}, {}, false,
       "what is marked so is computed an iteration ahead, into a second buffer"},
      {"canonical_simplify", pass::canonical_simplify, {Flat}, {}, true,
       "expressions in normal form"},
      {"loop_partition", pass::loop_partition, {Flat}, {}, true,
       "loops are cut where their likely conditions are certain"},
      {"vectorize_loop", pass::vectorize_loop, {Flat}, {NoVectorLoops}, false,
       "vectorized loops become vector statements"},
      {"unmask_accumulator", pass::unmask_accumulator, {Flat, NoVectorLoops}, {}, true,
       "masks go from accumulators, which can then stay in registers"},
      {"promote_accumulator", pass::promote_accumulator, {Flat, NoVectorLoops}, {}, true,
       "what loops add to in masked vectors of memory is a local buffer while they run"},
      {"storage_rewrite", pass::storage_rewrite, {Flat}, {HoistedStorage}, true,
       "buffers move out of loops and share memory"},
      {"transpose_loads", pass::transpose_loads, {Flat, NoVectorLoops}, {}, true,
       "unrolled loops over columns of a tile load rows and transpose them"},
      {"unroll_loop", pass::unroll_loop, {Flat}, {}, true,
       "unrolled loops become copies of their body"},
      {"simplify", pass::simplify, {Flat}, {}, true, "folds what the passes before left"},
      {"share_strided_loads", pass::share_strided_loads, {Flat, NoVectorLoops}, {}, true,
       "vectors of lanes a small stride apart share the loads of all that lies between"},
      {"shuffle_gathers", pass::shuffle_gathers, {Flat, NoVectorLoops}, {}, true,
       "vectors of lanes that lie near each other are loaded whole and shuffled"},
      {"interleave_stores", pass::interleave_stores, {Flat, NoVectorLoops}, {}, true,
       "vectors stored a small stride apart that fill each other's gaps become one"},
      {"remove_no_op", pass::remove_no_op, {Flat}, {}, true, "statements that do nothing go"},
      {"unsign_dot_products", pass::unsign_dot_products, {Flat, NoVectorLoops}, {}, true,
       "products of signed bytes lose one sign, and what that adds goes after their loop"},
      {"nontemporal_stores", pass::nontemporal_stores, {Flat, NoVectorLoops}, {}, true,
       "stores that go around the caches where addresses turn out to be aligned"},
      {"share_arguments", pass::share_arguments, {Flat, NoVectorLoops}, {}, true,
       "finds the inputs whose memory an output may take"},
      {"make_api", pass::make_api, {Flat, NoVectorLoops}, {KernelSignature}, false,
       "unpacks and checks the arguments of the calling convention"},
      {"lower_parallel", pass::lower_parallel, {KernelSignature}, {NoParallelLoops}, false,
       "parallel loops become tasks for the thread pool"},
      {"place_allocations", pass::place_allocations, {Flat, NoParallelLoops}, {}, false,
       "buffers go to the stack, as far as it is theirs, or to workspace"},
      {"expand_math", pass::expand_math, {Flat}, {}, true,
       "functions become arithmetic, where the target has multiply-adds of one rounding"},
      {"lower_intrin", pass::lower_intrin, {Flat}, {Legalised}, false,
       "spells intrinsics with what code generation knows"},
  };
  // clang-format on
  return passes;
}

// What simple_mode leaves out, and where it stops.
constexpr std::string_view kNotInSimpleMode[] = {"split_host_device", "loop_partition"};
constexpr std::string_view kSimpleModeStopsBefore = "make_api";

const Pass& find_pass(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Pass& p : table()) {
    if (p.name == name) return p;
    names.push_back(p.name);
  }
  raise({.code = ErrorCode::UnknownPass,
         .what = fmt::format("unknown pass '{}'{}", name, suggestion(nearest_word(name, names))),
         .legal = fmt::format("{}", fmt::join(names, ", "))});
}

std::set<std::string_view> disabled_passes(const LowerOptions& options) {
  std::set<std::string_view> disabled;
  for (const std::string& name : options.disabled) {
    const Pass& p = find_pass(name);
    if (!p.optional) {
      std::vector<std::string_view> optional;
      for (const Pass& o : table()) {
        if (o.optional) optional.push_back(o.name);
      }
      raise(
          {.code = ErrorCode::PassRequirement,
           .what = fmt::format("pass '{}' cannot be disabled: no kernel compiles without it", name),
           .legal = fmt::format("disable any of {}", fmt::join(optional, ", "))});
    }
    disabled.insert(p.name);
  }
  return disabled;
}

bool environment_asks_to_verify() {
  const char* value = std::getenv("TILEWRIGHT_VERIFY");
  return value != nullptr && *value != 0 && std::string_view(value) != "0";
}

// What the body of a kernel may use without binding it.
std::vector<Var> free_vars_of(const Kernel& kernel, bool has_signature) {
  std::vector<Var> vars;
  for (const KernelConstant& c : kernel.constants) vars.push_back(c.var);
  if (has_signature && kernel.role != KernelRole::Device) return vars;
  for (const KernelArgument& a : kernel.arguments) {
    vars.push_back(a.var);
    for (const Expr& e : a.shape) {
      for (const Var& v : free_vars(e)) vars.push_back(v);
    }
  }
  return vars;
}

void verify_kernels(const KernelModule& module, const std::vector<Property>& held,
                    std::string_view pass) {
  const bool has_signature = std::ranges::find(held, KernelSignature) != held.end();
  for (const Kernel& kernel : module.kernels) {
    try {
      verify(kernel.body, held, free_vars_of(kernel, has_signature));
    } catch (const Error& e) {
      ErrorInfo info = e.info();
      info.where = fmt::format("after pass {}", pass);
      raise(std::move(info));
    }
  }
}

}  // namespace

std::span<const Pass> passes() { return table(); }

KernelModule apply(const Pass& pass, KernelModule module, const PassContext& context) {
  if (const ModulePass* whole = std::get_if<ModulePass>(&pass.function))
    return (*whole)(std::move(module), context);
  for (Kernel& kernel : module.kernels)
    kernel = std::get<KernelPass>(pass.function)(std::move(kernel), context);
  return module;
}

void check_options(const LowerOptions& options) {
  disabled_passes(options);
  if (!options.stop_after.empty()) find_pass(options.stop_after);
}

KernelModule run_passes(KernelModule module, const Target& target, const LowerOptions& options,
                        LowerReport* report, const PassObserver& observer) {
  check_options(options);
  const std::set<std::string_view> disabled = disabled_passes(options);
  const auto dumped = selected_names("TILEWRIGHT_DUMP", find_pass);
  const bool verifies = options.verify || environment_asks_to_verify();
  const PassContext context{options.passes, target};

  std::vector<Property> held = {WellFormed};
  const auto holds = [&](Property p) {
    return std::find(held.begin(), held.end(), p) != held.end();
  };
  for (const Pass& p : table()) {
    if (options.simple_mode && p.name == kSimpleModeStopsBefore) break;
    const bool skipped = disabled.count(p.name) != 0 ||
                         (options.simple_mode && std::ranges::find(kNotInSimpleMode, p.name) !=
                                                     std::ranges::end(kNotInSimpleMode));
    if (!skipped) {
      for (Property r : p.requires_) {
        if (holds(r)) continue;
        raise({.code = ErrorCode::PassRequirement,
               .what = fmt::format("pass '{}' requires {}, which no pass before it ensured", p.name,
                                   to_string(r)),
               .legal = "disable fewer passes"});
      }
      const auto start = std::chrono::steady_clock::now();
      module = apply(p, std::move(module), context);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      if (report != nullptr) report->timings.push_back({p.name, took.count()});
      for (Property e : p.ensures) {
        if (!holds(e)) held.push_back(e);
      }
      if (verifies) {
        verify_kernels(module, held, p.name);
      }
      if (observer) observer(p.name, module);
      if (dumped(p.name)) {
        for (const Kernel& kernel : module.kernels)
          fmt::print(stderr, "// after {}: {}\n{}\n", p.name, kernel.name, to_string(kernel.body));
      }
    }
    if (p.name == options.stop_after) break;
  }
  return module;
}

}  // namespace tw
