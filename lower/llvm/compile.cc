// SPDX-License-Identifier: Apache-2.0
#include "lower/llvm/compile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <span>
#include <type_traits>

#include "ir/print.h"
#include "lower/llvm/emit.h"
#include "lower/llvm/fatal_error.h"
#include "lower/llvm/generate.h"
#include "lower/llvm/jit.h"
#include "lower/llvm/link.h"
#include "lower/llvm/machine.h"
#include "lower/llvm/object_cache.h"
#include "lower/llvm/optimize.h"
#include "lower/workspace_size.h"
#include "runtime/c_api.h"
#include "runtime/error.h"
#include "runtime/tile_data.h"

namespace tw {
namespace {

using codegen::LoadedCode;

class Stopwatch {
 public:
  // Seconds since the last call.
  double lap() {
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

// Of the kernels that can be called: device kernels are not.
ModuleInfo describe(const std::vector<Kernel>& kernels, const Target& target) {
  ModuleInfo info{.target = target.text()};
  for (const Kernel& kernel : kernels) {
    if (kernel.role == KernelRole::Device) continue;
    FunctionInfo& function = info.functions.emplace_back();
    function.name = kernel.name;
    function.symbol = codegen::entry_symbol(kernel);
    if (codegen::has_unchecked(kernel)) function.unchecked = codegen::unchecked_symbol(kernel);
    function.workspace = workspace_size(kernel, kernels);
    for (const KernelArgument& a : kernel.arguments) {
      ArgumentInfo& argument = function.arguments.emplace_back();
      argument.name = a.name;
      argument.dtype = a.dtype;
      argument.kind = a.is_tensor          ? ArgumentKind::Tensor
                      : a.dtype.is_float() ? ArgumentKind::Float
                                           : ArgumentKind::Int;
      argument.output = a.is_output;
      argument.may_share.assign(a.may_share.begin(), a.may_share.end());
      for (const Expr& e : a.shape) {
        if (const IntImm* i = as<IntImm>(e)) {
          argument.shape.emplace_back(i->value);
        } else if (const Variable* v = as<Variable>(e)) {
          argument.shape.emplace_back(v->name);
        } else {
          argument.shape.emplace_back(to_string(e));
        }
      }
    }
  }
  return info;
}

// The text of the first function that LLVM finds wrong, and why.
void verify_module(llvm::Module& module) {
  for (const llvm::Function& f : module) {
    std::string message;
    llvm::raw_string_ostream out(message);
    if (!llvm::verifyFunction(f, &out)) continue;
    out << "\nin\n";
    f.print(out);
    raise({.code = ErrorCode::CodeGeneration, .what = message, .where = f.getName().str()});
  }
}

// An optimised module on its way to machine code, in a context of its own.
class Compilation {
 public:
  Compilation(const std::vector<Kernel>& kernels, const Target& target,
              const CompileOptions& options, CompileTimings& timings,
              codegen::ConstantPlace constants = codegen::ConstantPlace::Memory)
      : context_(std::make_unique<llvm::LLVMContext>()),
        module_(std::make_unique<llvm::Module>("tilewright", *context_)),
        machine_(codegen::machine_for(target)) {
    Stopwatch watch;
    context_->setDiscardValueNames(!options.keep_sources);
    context_->setDiagnosticHandlerCallBack(collect_error, &errors_);
    module_->setTargetTriple(target.triple);
    module_->setDataLayout(machine_.llvm->createDataLayout());
    module_->setPICLevel(llvm::PICLevel::BigPIC);
    const codegen::EmitResult emitted = codegen::emit(kernels, target,
                                                      {.contract = options.fast_math_contract,
                                                       .vectorize = options.llvm_vectorize,
                                                       .constants = constants},
                                                      *module_);
    uses_tiles_ = emitted.uses_tiles;
    all_passes_ = options.llvm_vectorize || emitted.names_llvm_intrinsics;
    if (options.verify || emitted.names_llvm_intrinsics) verify_module(*module_);
    timings.emit += watch.lap();
    guarded([&] {
      codegen::optimize(*module_, *machine_.llvm,
                        {.level = target.opt_level,
                         .vectorize = options.llvm_vectorize,
                         .unroll = emitted.has_unroll_requests});
    });
    timings.optimize += watch.lap();
  }

  bool uses_tiles() const { return uses_tiles_; }
  llvm::Module& module() { return *module_; }
  std::string text() const {
    std::string s;
    llvm::raw_string_ostream out(s);
    module_->print(out, nullptr);
    return s;
  }
  // These use the module up.
  codegen::Object object() {
    return generated([&] { return codegen::generate_object(*module_, machine_, all_passes_); });
  }
  std::string assembly() {
    return generated([&] { return codegen::generate_assembly(*module_, machine_, all_passes_); });
  }

 private:
  // What LLVM reports, and goes on.
  static void collect_error(const llvm::DiagnosticInfo* info, void* errors) {
    if (info->getSeverity() != llvm::DS_Error) return;
    llvm::raw_string_ostream out(*static_cast<std::string*>(errors));
    llvm::DiagnosticPrinterRawOStream printer(out);
    info->print(printer);
    out << "\n";
  }
  [[noreturn]] static void refuse(std::string_view why) {
    raise({.code = ErrorCode::CodeGeneration,
           .what = fmt::format("LLVM {} gives up: {}", llvm_version(),
                               llvm::StringRef(why).trim().str()),
           .legal = "LLVM's intrinsics as its language reference has them, on processors that have "
                    "what they stand for"});
  }
  template <class F>
  std::invoke_result_t<F> guarded(F work) {
    try {
      const codegen::FatalErrorScope scope;
      return work();
    } catch (const codegen::FatalError& e) {
      (void)module_.release();
      (void)context_.release();
      refuse(e.what());
    }
  }
  template <class F>
  std::invoke_result_t<F> generated(F work) {
    auto result = guarded(work);
    if (!errors_.empty()) refuse(errors_);
    return result;
  }

  std::string errors_;
  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::Module> module_;
  codegen::Machine& machine_;
  bool uses_tiles_ = false;
  bool all_passes_ = false;
};

bool is_foreign(const Target& target) {
  return !codegen::machine_for(target).missing_features.empty();
}

class CompiledModule final : public Module, public std::enable_shared_from_this<CompiledModule> {
 public:
  CompiledModule(std::vector<Kernel> kernels, Target target, const CompileOptions& options,
                 CompileTimings& timings)
      : kernels_(callable_first(std::move(kernels))),
        target_(std::move(target)),
        options_(options),
        info_(describe(kernels_, target_)) {
    Stopwatch watch;
    const auto generate = [&] {
      Compilation compilation(kernels_, target_, options_, timings);
      if (options_.keep_sources) {
        ll_ = compilation.text();
        asm_ = assembly();
      }
      if (is_foreign(target_)) return codegen::Object();
      if (compilation.uses_tiles()) request_tile_data();
      watch.lap();
      codegen::Object object = compilation.object();
      timings.generate += watch.lap();
      return object;
    };
    codegen::Object object =
        options_.reuse ? codegen::cached_object(kernels_.at(0), target_, generate) : generate();
    if (object.empty()) return;
    std::vector<std::string> names;
    for (const Kernel& kernel : callable()) names.push_back(codegen::entry_symbol(kernel));
    for (const Kernel& kernel : callable()) {
      for (size_t i = 0; i < kernel.constants.size(); ++i)
        names.push_back(codegen::constant_symbol(kernel, i));
    }
    for (size_t i = 0; i < callable().size(); ++i) {
      unchecked_.push_back(info_.functions[i].unchecked.empty() ? i : names.size());
      if (unchecked_[i] != i) names.push_back(info_.functions[i].unchecked);
    }
    code_ = LoadedCode::load(std::move(object), names);
    size_t slot = callable().size();
    for (const Kernel& kernel : callable()) {
      for (const KernelConstant& c : kernel.constants)
        *static_cast<void**>(code_->address(slot++)) = c.value.data();
    }
    timings.link += watch.lap();
  }

  std::vector<std::string> function_names() const override {
    std::vector<std::string> names;
    for (const Kernel& kernel : callable()) names.push_back(kernel.name);
    return names;
  }

  Function get_function(std::string_view name) const override {
    for (size_t i = 0; i < callable().size(); ++i) {
      if (kernels_[i].name != name) continue;
      if (code_ == nullptr) {
        raise_missing_features(target_, fmt::format("'{}' is built", name),
                               "or export_library for another machine");
      }
      return Function(info_.functions[i], reinterpret_cast<KernelPointer>(code_->address(i)),
                      shared_from_this(),
                      reinterpret_cast<KernelPointer>(code_->address(unchecked_[i])));
    }
    raise({.code = ErrorCode::UnknownFunction,
           .what = fmt::format("the module has no function '{}'", name),
           .legal = fmt::format("{}", fmt::join(function_names(), ", "))});
  }

  std::string source(std::string_view format) const override {
    if (format == "ll") return ll_.empty() ? compile_again()->text() : ll_;
    if (format == "asm") return asm_.empty() ? assembly() : asm_;
    if (format == "ir") {
      std::string s;
      for (const Kernel& kernel : kernels_) s += to_string(kernel.body) + "\n";
      return s;
    }
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("no source in format '{}'", format),
           .legal = "ll, asm, ir"});
  }

  void export_library(const std::string& path) const override {
    export_kernels(*this, kernels_, path);
  }

  const std::vector<Kernel>& kernels() const { return kernels_; }

  // A library of these kernels, built as `like` was.
  static void export_kernels(const CompiledModule& like, const std::vector<Kernel>& kernels,
                             const std::string& path) {
    ModuleInfo info = describe(kernels, like.target_);
    info.instruction_sets = like.target_.instruction_sets();
    codegen::export_code(path, kernels, [&](const codegen::ObjectParts& parts) {
      CompileTimings ignored;
      Compilation compilation(kernels, like.target_, like.options_, ignored, parts.constants);
      compilation.module().appendModuleInlineAsm(parts.assembly);
      info.parameters = parts.parameters;
      codegen::add_constant(compilation.module(), TW_METADATA_SYMBOL, metadata_to_json(info));
      return compilation.object();
    });
  }

 private:
  static std::vector<Kernel> callable_first(std::vector<Kernel> kernels) {
    std::ranges::stable_partition(kernels,
                                  [](const Kernel& k) { return k.role != KernelRole::Device; });
    return kernels;
  }
  std::span<const Kernel> callable() const {
    return std::span(kernels_).first(info_.functions.size());
  }
  std::unique_ptr<Compilation> compile_again() const {
    CompileTimings ignored;
    CompileOptions options = options_;
    options.keep_sources = true;
    return std::make_unique<Compilation>(kernels_, target_, options, ignored);
  }
  std::string assembly() const { return compile_again()->assembly(); }

  std::vector<Kernel> kernels_;  // those that can be called first
  Target target_;
  CompileOptions options_;
  ModuleInfo info_;
  std::string ll_, asm_;
  std::unique_ptr<LoadedCode> code_;
  std::vector<size_t> unchecked_;  // number of each kernel's entry without checks among code_'s
};

// Each function is compiled once and stays where it is; only a library has all of them in one.
class JoinedModule final : public Module {
 public:
  explicit JoinedModule(std::vector<std::shared_ptr<Module>> modules)
      : modules_(std::move(modules)) {
    for (const auto& module : modules_) {
      for (const std::string& name : module->function_names()) {
        if (!places_.try_emplace(name, module.get()).second) {
          raise({.code = ErrorCode::BadArgument,
                 .what = fmt::format("two functions are called '{}'", name),
                 .legal = "a name for each"});
        }
      }
    }
  }

  std::vector<std::string> function_names() const override {
    std::vector<std::string> names;
    for (const auto& [name, module] : places_) names.push_back(name);
    return names;
  }
  Function get_function(std::string_view name) const override {
    const auto place = places_.find(name);
    if (place != places_.end()) return place->second->get_function(name);
    raise({.code = ErrorCode::UnknownFunction,
           .what = fmt::format("the module has no function '{}'", name),
           .legal = fmt::format("{}", fmt::join(function_names(), ", "))});
  }
  std::string source(std::string_view format) const override {
    std::string text;
    for (const auto& module : modules_) text += module->source(format);
    return text;
  }
  void export_library(const std::string& path) const override {
    std::vector<Kernel> kernels;
    const CompiledModule* like = nullptr;
    for (const auto& module : modules_) {
      like = dynamic_cast<const CompiledModule*>(module.get());
      TW_CHECK(like != nullptr, "modules that were compiled here");
      kernels.insert(kernels.end(), like->kernels().begin(), like->kernels().end());
    }
    TW_CHECK(like != nullptr, "a module");
    CompiledModule::export_kernels(*like, kernels, path);
  }

 private:
  std::vector<std::shared_ptr<Module>> modules_;
  std::map<std::string, const Module*, std::less<>> places_;
};

}  // namespace

std::shared_ptr<Module> join(std::vector<std::shared_ptr<Module>> modules) {
  return std::make_shared<JoinedModule>(std::move(modules));
}

std::shared_ptr<Module> compile(const KernelModule& kernels, const Target& target,
                                const CompileOptions& options, CompileTimings* timings) {
  if (!options.cross && is_foreign(target))
    raise_missing_features(target, "a build", "or cross=True, to export and read it");
  CompileTimings ignored;
  return std::make_shared<CompiledModule>(kernels.kernels, target, options,
                                          timings != nullptr ? *timings : ignored);
}

Function compile_preparation(const KernelModule& preparation, const Target& target,
                             CompileTimings* timings) {
  const bool alone = preparation.kernels.size() == 1;
  return compile(preparation, target, {.reuse = alone}, timings)
      ->get_function(preparation.kernels.at(0).name);
}

KernelModule prepare(KernelModule module, const Target& target) {
  std::set<std::string> done;
  for (const Kernel& kernel : module.kernels) {
    if (kernel.role != KernelRole::Preparation) continue;
    const KernelModule preparation = module.with_devices(kernel);
    compile_preparation(preparation, is_foreign(target) ? Target::host() : target).call({});
    for (const Kernel& k : preparation.kernels) done.insert(k.name);
  }
  std::erase_if(module.kernels, [&](const Kernel& k) { return done.contains(k.name); });
  return module;
}

}  // namespace tw
