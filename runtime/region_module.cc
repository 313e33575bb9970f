// SPDX-License-Identifier: Apache-2.0
#include "runtime/region_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "runtime/codegen_library.h"
#include "runtime/dlpack.h"
#include "runtime/error.h"
#include "runtime/last_error.h"
#include "runtime/thread_pool.h"
#include "runtime/workspace.h"

namespace tw {
namespace {

// The kernel for a number of threads, which stays until no call has it. Its clones run.
struct Built {
  explicit Built(std::shared_ptr<vendor::Kernel> built, int for_threads)
      : kernel(std::move(built)), threads(for_threads), workspace(kernel->workspace_bytes()) {}

  const std::shared_ptr<vendor::Kernel> kernel;
  const int threads;
  const int64_t workspace;
  std::mutex running;  // held while the kernel itself runs, where it has no clones
};

// What one call at a time has.
struct Caller {
  std::shared_ptr<Built> built;
  std::unique_ptr<vendor::Kernel> kernel;
  std::vector<void*> tensors;
};

struct State {
  BuiltRegion region;
  FunctionInfo info;
  // Of the call before, where no other call has it: a network's calls follow each other, and take
  // and give it back without the mutex.
  std::atomic<Caller*> last{nullptr};
  std::mutex mutex;  // of what follows; never held in a run
  std::shared_ptr<Built> built;
  std::vector<std::unique_ptr<Caller>> idle;  // all of them with `built`

  ~State() { delete last.load(); }
  // Whether it is for as many threads as the pool has, or cannot be built for others.
  bool is_for_now(const Built& b) const {
    return b.threads == ThreadPool::global().num_threads() || region.codegen == nullptr;
  }
};

// For as many threads as the pool has now: who sets that number need not know of regions, and what
// a code generator prepares depends on it. Who asks holds the mutex.
std::shared_ptr<Built> built_for_now(State& state) {
  if (state.is_for_now(*state.built)) return state.built;
  const int threads = ThreadPool::global().num_threads();
  const BuiltRegion& region = state.region;
  vendor::Region other = region.region;
  other.threads = threads;
  try {
    state.built = std::make_shared<Built>(
        vendor::build_kernel(*region.codegen, other, region.kernel->save()), threads);
    state.idle.clear();
  } catch (const std::exception& e) {
    const auto* error = dynamic_cast<const Error*>(&e);
    raise({.code = ErrorCode::RunCrashed,
           .what = fmt::format("{} cannot be built for {} threads: {}", state.info.name, threads,
                               error != nullptr ? error->info().what : e.what())});
  }
  return state.built;
}

// For a kernel without clones.
class OneAtATime final : public vendor::Kernel {
 public:
  explicit OneAtATime(Built& built) : built_(built) {}
  void run(void* const* tensors, void* workspace) override {
    const std::lock_guard alone(built_.running);
    built_.kernel->run(tensors, workspace);
  }

 private:
  Built& built_;
};

// A caller for one call, taken and given back: no call waits for another's run.
class Lease {
 public:
  explicit Lease(State& state)
      : state_(state), caller_(state.last.exchange(nullptr, std::memory_order_acquire)) {
    if (caller_ && state.is_for_now(*caller_->built)) return;
    caller_ = std::make_unique<Caller>();
    {
      const std::lock_guard lock(state.mutex);
      caller_->built = built_for_now(state);
      if (!state.idle.empty()) {
        caller_ = std::move(state.idle.back());
        state.idle.pop_back();
        return;
      }
    }
    caller_->kernel.reset(caller_->built->kernel->clone());
    if (!caller_->kernel) caller_->kernel = std::make_unique<OneAtATime>(*caller_->built);
    caller_->tensors.resize(state.info.arguments.size());
  }
  ~Lease() {
    Caller* none = nullptr;
    if (state_.last.compare_exchange_strong(none, caller_.get(), std::memory_order_release,
                                            std::memory_order_relaxed)) {
      (void)caller_.release();
      return;
    }
    const std::lock_guard lock(state_.mutex);
    if (caller_->built == state_.built) state_.idle.push_back(std::move(caller_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Caller* operator->() { return caller_.get(); }
  int64_t workspace() const { return caller_->built->workspace; }

 private:
  State& state_;
  std::unique_ptr<Caller> caller_;
};

// Scratch memory of a call, with a line behind it that nobody shall write.
class Scratch {
 public:
  Scratch(const std::string& name, int64_t bytes) : bytes_(bytes) {
    if (bytes_ == 0) return;
    memory_.reset(static_cast<char*>(workspace_alloc(bytes_ + kBehind, kPage)));
    if (!memory_) {
      raise({.code = ErrorCode::OutOfMemory, .what = "no scratch memory for " + name});
    }
    // Mostly it stands there from the call before: a store would take the line, and with it those
    // next to it, from other threads.
    if (is_exceeded()) std::memcpy(memory_.get() + bytes_, kUntouched.data(), kBehind);
  }
  void* get() const { return memory_.get(); }
  bool is_exceeded() const {
    return bytes_ > 0 && std::memcmp(memory_.get() + bytes_, kUntouched.data(), kBehind) != 0;
  }

  static constexpr int64_t kBehind = 64;
  // Where libraries begin scratch memory of their own: elsewhere short kernels took 5 % more.
  static constexpr int64_t kPage = 4096;

 private:
  static constexpr auto kUntouched = [] {
    std::array<unsigned char, kBehind> line{};
    line.fill(0xa5);
    return line;
  }();
  struct Free {
    void operator()(char* memory) const { workspace_free(memory); }
  };
  int64_t bytes_;
  std::unique_ptr<char, Free> memory_;
};

void require_shape(const State& state, size_t k, const DLTensor& t) {
  const ArgumentInfo& info = state.info.arguments[k];
  bool same = t.ndim == static_cast<int32_t>(info.shape.size());
  int64_t stride = 1;
  for (size_t d = info.shape.size(); same && d-- > 0;) {
    same = t.shape[d] == std::get<int64_t>(info.shape[d]) &&
           (t.strides == nullptr || t.shape[d] == 1 || t.strides[d] == stride);
    stride *= t.shape[d];
  }
  if (!same) {
    raise({.code = ErrorCode::ArgumentShape,
           .what = fmt::format("argument {} of {}", k, state.info.name),
           .legal = "a compact tensor of the shape that it was built for"});
  }
}

void require_arguments(const State& state, void* const* arguments, int32_t count) {
  if (static_cast<size_t>(count) != state.info.arguments.size()) {
    raise({.code = ErrorCode::ArgumentCount,
           .what = fmt::format("{} arguments for {}", count, state.info.name),
           .legal = fmt::format("{}", state.info.arguments.size())});
  }
  for (size_t k = 0; k < state.info.arguments.size(); ++k)
    require_shape(state, k, *static_cast<const DLTensor*>(arguments[k]));
}

// A kernel that finds its state behind its arguments; without checks for callers of whom it has
// checked them before.
template <bool checks>
int32_t run_region(void* const* arguments, const int32_t*, int32_t count) {
  return guarded<int32_t>(-1, [&] {
    State& state = *static_cast<State*>(arguments[count]);
    if constexpr (checks) require_arguments(state, arguments, count);
    Lease caller(state);
    for (size_t k = 0; k < caller->tensors.size(); ++k) {
      const auto& t = *static_cast<const DLTensor*>(arguments[k]);
      caller->tensors[k] = static_cast<char*>(t.data) + t.byte_offset;
    }
    const Scratch scratch(state.info.name, caller.workspace());
    const auto failed = [&](std::string_view why) {
      raise({.code = ErrorCode::RunCrashed,
             .what = fmt::format("{} failed: {}", state.info.name, why)});
    };
    try {
      caller->kernel->run(caller->tensors.data(), scratch.get());
    } catch (const std::exception& e) {
      failed(e.what());
    }
    if (scratch.is_exceeded()) {
      failed(fmt::format("it wrote behind its {} bytes of scratch memory", caller.workspace()));
    }
    return 0;
  });
}

[[noreturn]] void unknown(std::string_view name, const std::vector<std::string>& names) {
  raise({.code = ErrorCode::UnknownFunction,
         .what = fmt::format("there is no function '{}'", name),
         .legal = fmt::format("{}", fmt::join(names, ", "))});
}

class RegionModule final : public Module {
 public:
  explicit RegionModule(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::vector<std::string> function_names() const override { return {state_->info.name}; }
  Function get_function(std::string_view name) const override {
    if (name != state_->info.name) unknown(name, function_names());
    return Function(state_->info, &run_region<true>, state_, &run_region<false>);
  }
  const BuiltRegion& region() const { return state_->region; }

 private:
  std::shared_ptr<State> state_;
};

class ModuleWithRegions final : public Module {
 public:
  ModuleWithRegions(std::shared_ptr<Module> ours,
                    std::vector<std::shared_ptr<const Module>> regions)
      : ours_(std::move(ours)), regions_(std::move(regions)) {
    for (const auto& region : regions_) {
      for (const std::string& name : region->function_names()) places_[name] = region.get();
    }
  }
  std::vector<std::string> function_names() const override {
    std::vector<std::string> names;
    if (ours_) names = ours_->function_names();
    for (const auto& [name, module] : places_) names.push_back(name);
    return names;
  }
  Function get_function(std::string_view name) const override {
    const auto region = places_.find(name);
    if (region != places_.end()) return region->second->get_function(name);
    if (!ours_) unknown(name, function_names());
    return ours_->get_function(name);
  }
  std::string source(std::string_view format) const override {
    return ours_ ? ours_->source(format) : "";
  }
  void export_library(const std::string&) const override {
    std::vector<std::string> names;
    for (const auto& [name, module] : places_) names.push_back(name);
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("a library cannot hold kernels of other code generators: {}",
                               fmt::join(names, ", ")),
           .legal = "graph_runtime.export, which keeps them, or a build of "
                    "byoc.inline_functions(graph)"});
  }
  const Module* ours() const { return ours_.get(); }
  std::vector<const BuiltRegion*> regions() const {
    std::vector<const BuiltRegion*> built;
    for (const auto& [name, module] : places_)
      built.push_back(&dynamic_cast<const RegionModule&>(*module).region());
    return built;
  }

 private:
  std::shared_ptr<Module> ours_;
  std::vector<std::shared_ptr<const Module>> regions_;
  std::map<std::string, const Module*, std::less<>> places_;
};

}  // namespace

std::shared_ptr<const Module> make_region_module(BuiltRegion built) {
  auto state = std::make_shared<State>();
  const vendor::Region& region = built.region;
  state->info.name = region.name;
  const auto add = [&](size_t value, bool output) {
    const vendor::Value& v = region.values[value];
    ArgumentInfo& info = state->info.arguments.emplace_back();
    info.name =
        !output && value < built.parameters.size()
            ? built.parameters[value]
            : fmt::format("{}{}", output ? "output" : "input", state->info.arguments.size() - 1);
    info.dtype = parse_dtype(v.dtype);
    info.shape.assign(v.shape.begin(), v.shape.end());
    info.output = output;
  };
  for (size_t v : region.inputs) add(v, false);
  for (size_t v : region.outputs) add(v, true);
  state->built = std::make_shared<Built>(built.kernel, region.threads);
  const int64_t workspace = state->built->workspace;
  state->info.workspace.call = workspace + (workspace > 0 ? Scratch::kBehind + Scratch::kPage : 0);
  state->region = std::move(built);
  return std::make_shared<RegionModule>(std::move(state));
}

std::shared_ptr<Module> with_regions(std::shared_ptr<Module> ours,
                                     std::vector<std::shared_ptr<const Module>> regions) {
  if (ours && regions.empty()) return ours;
  return std::make_shared<ModuleWithRegions>(std::move(ours), std::move(regions));
}

const Module* without_regions(const Module& module) {
  const auto* both = dynamic_cast<const ModuleWithRegions*>(&module);
  return both != nullptr ? both->ours() : &module;
}

std::vector<const BuiltRegion*> regions_of(const Module& module) {
  const auto* both = dynamic_cast<const ModuleWithRegions*>(&module);
  return both != nullptr ? both->regions() : std::vector<const BuiltRegion*>();
}

}  // namespace tw
