// SPDX-License-Identifier: Apache-2.0
// Functions: kernels, compute scopes, bodies of parallel regions.
#include <fmt/format.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/visit.h"
#include "lower/llvm/emit.h"
#include "lower/llvm/machine.h"
#include "runtime/error.h"

namespace tw::codegen {
namespace {

// Buffers in the order of their first use, and which of them are written.
class BufferCollector : public Visitor {
 public:
  std::vector<const Variable*> order;
  std::unordered_map<const Variable*, BufferFacts> facts;
  std::unordered_map<const Variable*, const Variable*> alias_of;

 private:
  using Visitor::on;
  const Variable* root(const Variable* v) const {
    for (auto it = alias_of.find(v); it != alias_of.end(); it = alias_of.find(v)) v = it->second;
    return v;
  }
  BufferFacts& touch(const Var& buffer) {
    const Variable* v = root(buffer.operator->());
    const auto [it, added] = facts.try_emplace(v);
    if (added) order.push_back(v);
    return it->second;
  }
  void on(const Load& op) override {
    touch(op.buffer);
    visit(op.index);
    visit(op.predicate);
  }
  void on(const Store& op) override {
    touch(op.buffer).written = true;
    visit(op.value);
    visit(op.index);
    visit(op.predicate);
  }
  void on(const Allocate& op) override {
    touch(op.buffer).written = true;
    Visitor::on(op);
  }
  void on(const LetStmt& op) override {
    if (op.var.dtype().is_handle() && is<Variable>(op.value)) {
      alias_of[op.var.operator->()] = as<Variable>(op.value);
    }
    Visitor::on(op);
  }
  void on(const Call& op) override {
    const bool opaque = op.call_kind == CallKind::Extern || op.call_kind == CallKind::PureExtern ||
                        op.name == "launch";
    for (const Expr& a : op.args) {
      const Variable* v = as<Variable>(a);
      if (opaque && v != nullptr && v->type.is_handle()) touch(Var(v)).written = true;
    }
    Visitor::on(op);
  }
};

void give_scopes(KernelState& state, const Kernel& kernel) {
  BufferCollector collector;
  collector.visit(kernel.body);
  for (const KernelArgument& a : kernel.arguments) {
    if (!a.is_tensor || kernel.role == KernelRole::Device) continue;
    const auto it = collector.facts.find(a.var.operator->());
    if (it == collector.facts.end()) continue;
    int64_t bytes = a.dtype.element_bytes() * a.dtype.lanes;
    for (const Expr& e : a.shape) bytes *= as_const_int(e).value_or(0);
    it->second.bytes = bytes;
  }
  for (const KernelConstant& c : kernel.constants) {
    const auto it = collector.facts.find(c.var.operator->());
    if (it != collector.facts.end() && c.value.defined()) it->second.bytes = c.value.byte_size();
  }
  // Outputs and the inputs they may share memory with.
  std::unordered_map<const Variable*, std::unordered_set<const Variable*>> partners;
  for (const KernelArgument& output : kernel.arguments) {
    for (int k : output.may_share) {
      const Variable* input = kernel.arguments[static_cast<size_t>(k)].var.operator->();
      partners[output.var.operator->()].insert(input);
      partners[input].insert(output.var.operator->());
    }
  }
  llvm::MDBuilder metadata(state.context);
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain(state.kernel_name);
  std::vector<llvm::Metadata*> scopes;
  for (const Variable* v : collector.order) {
    scopes.push_back(metadata.createAnonymousAliasScope(domain, v->name));
  }
  for (size_t i = 0; i < scopes.size(); ++i) {
    BufferFacts& facts = collector.facts[collector.order[i]];
    facts.scope = llvm::MDNode::get(state.context, scopes[i]);
    const auto& shared = partners[collector.order[i]];
    facts.shared = !shared.empty();
    std::vector<llvm::Metadata*> others;
    for (size_t j = 0; j < scopes.size(); ++j) {
      if (j != i && !shared.contains(collector.order[j])) others.push_back(scopes[j]);
    }
    if (!others.empty()) facts.others = llvm::MDNode::get(state.context, others);
  }
  state.buffers = std::move(collector.facts);
}

// Free variables of a statement in the order of their first use, as far as `wanted` says.
class UseCollector : public Visitor {
 public:
  explicit UseCollector(const std::function<bool(const Variable*)>& wanted) : wanted_(wanted) {}
  std::vector<const Variable*> order;

 private:
  using Visitor::on;
  void use(const Variable* v) {
    if (wanted_(v) && seen_.insert(v).second) order.push_back(v);
  }
  void on(const Variable& op) override { use(&op); }
  void on(const Load& op) override {
    use(op.buffer.operator->());
    Visitor::on(op);
  }
  void on(const Store& op) override {
    use(op.buffer.operator->());
    Visitor::on(op);
  }
  const std::function<bool(const Variable*)>& wanted_;
  std::unordered_set<const Variable*> seen_;
};

}  // namespace

llvm::FunctionCallee KernelState::runtime_function(llvm::StringRef name) {
  llvm::Type* i32 = llvm::Type::getInt32Ty(context);
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  llvm::Type* nothing = llvm::Type::getVoidTy(context);
  const auto declare = [&](llvm::Type* result, llvm::ArrayRef<llvm::Type*> parameters) {
    llvm::FunctionCallee callee =
        module.getOrInsertFunction(name, llvm::FunctionType::get(result, parameters, false));
    llvm::cast<llvm::Function>(callee.getCallee())->setDoesNotThrow();
    return callee;
  };
  const auto cold = [](llvm::FunctionCallee callee) {
    llvm::cast<llvm::Function>(callee.getCallee())->addFnAttr(llvm::Attribute::Cold);
    return callee;
  };
  if (name == "tw_set_error") return cold(declare(nothing, {i32, pointer}));
  if (name == "tw_raise_argument_error") {
    return cold(declare(i32, {i32, pointer, pointer, i32, i64, i64}));
  }
  if (name == "tw_check_arguments") {
    return declare(i32, {pointer, i32, pointer, pointer, pointer, pointer, i32});
  }
  if (name == "tw_parallel_for" || name == "tw_parallel_for_dynamic") {
    return declare(i32, {pointer, pointer, i32});
  }
  if (name == "tw_num_threads" || name == "tw_request_tile_data") return declare(i32, {});
  if (name == "tw_tensor_overlap") return declare(i64, {pointer, pointer});
  if (name == "tw_workspace_free") return declare(nothing, {pointer});
  TW_CHECK(name == "tw_workspace_alloc", name.str());
  llvm::FunctionCallee callee = declare(pointer, {i64, i32});
  llvm::cast<llvm::Function>(callee.getCallee())->setReturnDoesNotAlias();
  return callee;
}

FunctionEmitter::FunctionEmitter(KernelState& kernel, llvm::Function* function)
    : k_(kernel),
      function_(function),
      entry_(nullptr),
      b_(kernel.context, llvm::ConstantFolder(),
         llvm::IRBuilderCallbackInserter([this](llvm::Instruction* i) { memory_.made(*i); })) {
  entry_ = llvm::BasicBlock::Create(k_.context, "entry", function_);
  llvm::BasicBlock* body = new_block("body");
  b_.SetInsertPoint(entry_);
  b_.CreateBr(body);
  b_.SetInsertPoint(body);
  llvm::FastMathFlags flags;
  if (k_.options.contract) flags.setAllowContract();
  b_.setFastMathFlags(flags);
  regions_.emplace_back();
  add_target_attributes(*function_, k_.target);
}

llvm::BasicBlock* FunctionEmitter::new_block(const llvm::Twine& name) {
  return llvm::BasicBlock::Create(k_.context, name, function_);
}

llvm::AllocaInst* FunctionEmitter::entry_alloca(llvm::Type* t, llvm::Align alignment,
                                                const std::string& name) {
  Builder::InsertPointGuard guard(b_);
  b_.SetInsertPoint(entry_->getTerminator());
  llvm::AllocaInst* memory = b_.CreateAlloca(t, nullptr, name);
  memory->setAlignment(alignment);
  return memory;
}

llvm::Value* FunctionEmitter::string(const std::string& text) {
  llvm::Constant*& known = k_.strings[text];
  if (known == nullptr) known = b_.CreateGlobalString(text, "text", 0, &k_.module);
  return known;
}

void FunctionEmitter::return_error(llvm::Value* status) {
  release_tiles();
  for (size_t i = workspaces_.size(); i-- > 0;) {
    b_.CreateCall(k_.runtime_function("tw_workspace_free"), {workspaces_[i]});
  }
  b_.CreateRet(status);
}

void FunctionEmitter::return_on_failure(llvm::Value* status) {
  llvm::BasicBlock* failed = new_block("failed");
  llvm::BasicBlock* passed = new_block("passed");
  b_.CreateCondBr(b_.CreateICmpEQ(status, b_.getInt32(0)), passed, failed,
                  llvm::MDBuilder(k_.context).createBranchWeights(1 << 20, 1));
  b_.SetInsertPoint(failed);
  return_error(status);
  b_.SetInsertPoint(passed);
}

// Nontemporal stores are ordered with nothing that follows, the end of a parallel region included
// (Intel SDM volume 1, 10.4.6.2).
void FunctionEmitter::fence_stores() {
  if (llvm::Triple(k_.module.getTargetTriple()).isX86()) {
    b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  } else {
    b_.CreateFence(llvm::AtomicOrdering::Release);
  }
}

namespace {

bool contains_compute_scope(const Stmt& body) {
  bool found = false;
  for_each_stmt(body, [&](const Stmt& s) {
    const AttrStmt* attribute = as<AttrStmt>(s);
    found |= attribute != nullptr && attribute->key == attr::kComputeScope;
  });
  return found;
}

}  // namespace

void FunctionEmitter::finish() {
  if (has_nontemporal_) fence_stores();
  release_tiles();
  finish_checks();
  b_.CreateRet(b_.getInt32(0));
}

llvm::Function* FunctionEmitter::emit_entry(KernelState& state, const Kernel& kernel,
                                            const std::string& name, llvm::Function* unchecked) {
  llvm::Type* i32 = llvm::Type::getInt32Ty(state.context);
  llvm::Type* pointer = llvm::PointerType::get(state.context, 0);
  auto* function_type = llvm::FunctionType::get(i32, {pointer, pointer, i32}, false);
  if (state.module.getFunction(name) != nullptr) {
    raise({.code = ErrorCode::CodeGeneration,
           .what = "two kernels of one module are called '" + kernel.name + "'"});
  }
  auto* function =
      llvm::Function::Create(function_type, llvm::Function::ExternalLinkage, name, state.module);
  FunctionEmitter emitter(state, function);
  emitter.args_ = function->getArg(0);
  emitter.type_codes_ = function->getArg(1);
  emitter.num_args_ = function->getArg(2);
  emitter.unchecked_ = unchecked;
  emitter.leaves_out_checks_ = unchecked == nullptr && has_unchecked(kernel);
  function->getArg(0)->setName("args");
  function->getArg(1)->setName("type_codes");
  function->getArg(2)->setName("num_args");
  emitter.bind_arguments(kernel);
  if (unchecked == nullptr) emitter.bind_constants(kernel);
  emitter.emit(kernel.body);
  emitter.finish();
  // Where the loops are a function of their own, what is left here runs once a call: not worth the
  // time that optimising it takes.
  if (has_unchecked(kernel)) {
    function->addFnAttr(llvm::Attribute::NoInline);
    function->addFnAttr(llvm::Attribute::OptimizeNone);
  }
  return function;
}

void FunctionEmitter::emit_kernel(KernelState& state, const Kernel& kernel) {
  give_scopes(state, kernel);
  llvm::Function* unchecked = has_unchecked(kernel)
                                  ? emit_entry(state, kernel, unchecked_symbol(kernel), nullptr)
                                  : nullptr;
  emit_entry(state, kernel, entry_symbol(kernel), unchecked);
}

std::string entry_symbol(const Kernel& kernel) { return kernel.name + ".kernel"; }

std::string unchecked_symbol(const Kernel& kernel) { return kernel.name + ".unchecked"; }

bool has_unchecked(const Kernel& kernel) { return contains_compute_scope(kernel.body); }

std::string constant_symbol(const Kernel& kernel, size_t constant) {
  return fmt::format("{}.constant.{}", kernel.name, constant);
}

std::string array_symbol(const Kernel& kernel, size_t constant) {
  return constant_symbol(kernel, constant) + ".array";
}

bool is_small(const KernelConstant& constant) { return constant.value.byte_size() <= 4 << 10; }

namespace {

llvm::Constant* copy_of(const KernelConstant& constant, llvm::Module& module) {
  const llvm::StringRef bytes(static_cast<const char*>(constant.value.data()),
                              static_cast<size_t>(constant.value.byte_size()));
  llvm::Constant* content =
      llvm::ConstantDataArray::getString(module.getContext(), bytes, /*AddNull=*/false);
  auto* copy = new llvm::GlobalVariable(module, content->getType(), true,
                                        llvm::GlobalValue::InternalLinkage, content, constant.name);
  copy->setAlignment(llvm::Align(NDArray::kAlignment));
  return copy;
}

}  // namespace

// Each constant is found through a variable of the module, so that the same text, and the same
// code, serve wherever the array is.
void FunctionEmitter::bind_constants(const Kernel& kernel) {
  llvm::Type* pointer = llvm::PointerType::get(k_.context, 0);
  const ConstantPlace place = k_.options.constants;
  for (size_t i = 0; i < kernel.constants.size(); ++i) {
    const KernelConstant& c = kernel.constants[i];
    if (!c.value.defined()) fail(fmt::format("constant '{}' has no value", c.name));
    llvm::Constant* array = llvm::ConstantPointerNull::get(llvm::PointerType::get(k_.context, 0));
    auto visibility = llvm::GlobalValue::DefaultVisibility;
    if (place != ConstantPlace::Memory && is_small(c)) {
      array = copy_of(c, k_.module);
      visibility = llvm::GlobalValue::HiddenVisibility;
    } else if (place == ConstantPlace::Object) {
      auto* outside = new llvm::GlobalVariable(k_.module, b_.getInt8Ty(), true,
                                               llvm::GlobalValue::ExternalLinkage, nullptr,
                                               array_symbol(kernel, i));
      outside->setVisibility(llvm::GlobalValue::HiddenVisibility);
      array = outside;
      visibility = llvm::GlobalValue::HiddenVisibility;
    } else if (place == ConstantPlace::Library) {
      // Who loads the library finds it; other libraries are not to take it for theirs.
      visibility = llvm::GlobalValue::ProtectedVisibility;
    }
    auto* slot =
        new llvm::GlobalVariable(k_.module, pointer, false, llvm::GlobalValue::ExternalLinkage,
                                 array, constant_symbol(kernel, i));
    slot->setVisibility(visibility);
    const Variable* var = c.var.operator->();
    Binding binding{.alignment = NDArray::kAlignment, .root = var};
    binding.value = b_.CreateLoad(pointer, slot, c.name);
    bindings_[var] = std::move(binding);
  }
}

std::vector<const Variable*> FunctionEmitter::captured(const Stmt& body) const {
  const std::function<bool(const Variable*)> bound = [&](const Variable* v) {
    return bindings_.contains(v);
  };
  UseCollector uses(bound);
  uses.visit(body);
  return std::move(uses.order);
}

// Integers travel as 64 bits, everything else as itself; constants do not travel.
llvm::Value* FunctionEmitter::captured_value(const Variable* var) {
  const Binding& binding = bindings_.at(var);
  if (binding.tile >= 0) {
    raise(
        {.code = ErrorCode::CannotTensorize,
         .what = "tile registers are a thread's own, and a parallel loop stands inside their scope",
         .stage = var->name,
         .legal = "compute_at a loop inside the parallel one"});
  }
  if (binding.linear) return sum(*binding.linear);
  return binding.value;
}

void FunctionEmitter::bind_captured(const Variable* var, const Binding& outer, llvm::Value* value) {
  Binding binding{.nonnegative = outer.nonnegative,
                  .positive = outer.positive,
                  .alignment = outer.alignment,
                  .root = outer.root};
  if (outer.linear) {
    binding.linear.emplace().add(value, 1, 0);
  } else {
    binding.value = value;
  }
  if (!llvm::isa<llvm::Constant>(value)) value->setName(var->name);
  bindings_[var] = std::move(binding);
}

namespace {

// Whether all that stores or loops stands in parallel regions, which are functions of their own.
bool only_launches(const Stmt& s) {
  if (!s.defined()) return true;
  switch (s->kind) {
    case NodeKind::AttrStmt:
      return attr::is_parallel_launch(as<AttrStmt>(s)->key) || only_launches(as<AttrStmt>(s)->body);
    case NodeKind::LetStmt:
      return only_launches(as<LetStmt>(s)->body);
    case NodeKind::Allocate:
      return only_launches(as<Allocate>(s)->body);
    case NodeKind::Produce:
      return only_launches(as<Produce>(s)->body);
    case NodeKind::Block:
      return std::ranges::all_of(as<Block>(s)->stmts, only_launches);
    default:
      return false;
  }
}

}  // namespace

void FunctionEmitter::emit_compute_scope(const AttrStmt& op) {
  if (unchecked_ != nullptr)
    return return_on_failure(b_.CreateCall(unchecked_, {args_, type_codes_, num_args_}));
  if (only_launches(op.body)) return emit(op.body);
  const std::vector<const Variable*> variables = captured(op.body);
  llvm::SmallVector<llvm::Value*, 8> values;
  llvm::SmallVector<llvm::Type*, 8> types;
  for (const Variable* v : variables) {
    llvm::Value* value = captured_value(v);
    values.push_back(value);
    types.push_back(value->getType());
  }
  auto* function = llvm::Function::Create(llvm::FunctionType::get(b_.getInt32Ty(), types, false),
                                          llvm::Function::InternalLinkage,
                                          k_.kernel_name + ".compute", k_.module);
  function->addFnAttr(llvm::Attribute::NoInline);
  FunctionEmitter inner(k_, function);
  for (size_t i = 0; i < variables.size(); ++i) {
    const Binding& outer = bindings_.at(variables[i]);
    llvm::Argument* parameter = function->getArg(static_cast<unsigned>(i));
    llvm::Value* value = parameter;
    if (auto* c = llvm::dyn_cast<llvm::Constant>(values[i])) value = c;
    inner.bind_captured(variables[i], outer, value);
    if (!variables[i]->type.is_handle()) continue;
    const auto facts = k_.buffers.find(outer.root);
    if (facts == k_.buffers.end()) continue;
    llvm::AttrBuilder attributes(k_.context);
    if (!facts->second.shared) attributes.addAttribute(llvm::Attribute::NoAlias);
    attributes.addAttribute(llvm::Attribute::NoCapture);
    if (!facts->second.written) attributes.addAttribute(llvm::Attribute::ReadOnly);
    if (outer.alignment > 1) attributes.addAlignmentAttr(outer.alignment);
    if (facts->second.bytes > 0) {
      attributes.addDereferenceableAttr(static_cast<uint64_t>(facts->second.bytes));
    }
    parameter->addAttrs(attributes);
  }
  inner.nontemporal_ = nontemporal_;
  inner.emit(op.body);
  inner.finish();
  if (k_.result.uses_tiles) {
    return_on_failure(b_.CreateCall(k_.runtime_function("tw_request_tile_data")));
  }
  return_on_failure(b_.CreateCall(function, values));
}

void FunctionEmitter::emit_parallel_launch(const AttrStmt& op) {
  const Variable* task = as<Variable>(op.node);
  if (task == nullptr) fail("a parallel launch has no task variable");
  std::vector<const Variable*> variables;
  llvm::SmallVector<llvm::Value*, 8> values;
  llvm::SmallVector<llvm::Type*, 8> types;
  for (const Variable* v : captured(op.body)) {
    llvm::Value* value = captured_value(v);
    variables.push_back(v);
    values.push_back(value);
    if (!llvm::isa<llvm::Constant>(value)) types.push_back(value->getType());
  }
  llvm::Type* i32 = b_.getInt32Ty();
  llvm::Type* pointer = llvm::PointerType::get(k_.context, 0);
  auto* closure_type = llvm::StructType::get(k_.context, types);
  llvm::AllocaInst* closure = entry_alloca(closure_type, llvm::Align(16), "closure");
  auto* function = llvm::Function::Create(llvm::FunctionType::get(i32, {i32, i32, pointer}, false),
                                          llvm::Function::InternalLinkage,
                                          k_.kernel_name + ".parallel", k_.module);
  FunctionEmitter inner(k_, function);
  inner.bindings_[task] = Binding{.nonnegative = true};
  inner.bindings_[task].linear.emplace().add(
      inner.b_.CreateSExt(function->getArg(0), inner.b_.getInt64Ty(), task->name), 1, 0);
  unsigned field = 0;
  for (size_t i = 0; i < variables.size(); ++i) {
    const Binding& outer = bindings_.at(variables[i]);
    if (llvm::isa<llvm::Constant>(values[i])) {
      inner.bind_captured(variables[i], outer, values[i]);
      continue;
    }
    b_.CreateStore(values[i], b_.CreateStructGEP(closure_type, closure, field));
    llvm::LoadInst* load = inner.b_.CreateLoad(
        values[i]->getType(), inner.b_.CreateStructGEP(closure_type, function->getArg(2), field));
    llvm::MDNode* none = llvm::MDNode::get(k_.context, std::nullopt);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, none);
    if (variables[i]->type.is_handle() && outer.alignment > 1) {
      load->setMetadata(llvm::LLVMContext::MD_nonnull, none);
      load->setMetadata(llvm::LLVMContext::MD_align,
                        llvm::MDNode::get(k_.context, llvm::ConstantAsMetadata::get(
                                                          b_.getInt64(outer.alignment))));
    }
    inner.bind_captured(variables[i], outer, load);
    ++field;
  }
  inner.nontemporal_ = nontemporal_;
  inner.emit(op.body);
  inner.finish();
  llvm::Value* count = convert(emit(op.value), op.value.dtype(), int_type(32));
  if (tiles_taken_ > 0) fail("a parallel loop while tile registers are in use");
  has_launched_ = true;
  const char* run = op.key == attr::kParallelLaunch ? "tw_parallel_for" : "tw_parallel_for_dynamic";
  return_on_failure(b_.CreateCall(k_.runtime_function(run), {function, closure, count}));
}

// Integers travel as 64 bits, as they do into compute scopes. Different buffers never overlap here
// as well: they are the caller's arguments and allocations.
llvm::Function* FunctionEmitter::emit_device(KernelState& state, const Kernel& kernel) {
  give_scopes(state, kernel);
  llvm::SmallVector<llvm::Type*, 8> types;
  for (const KernelArgument& a : kernel.arguments) {
    const DType t = a.var.dtype();
    types.push_back(machine_type(state.context, is_index_type(t) ? int_type(64) : t));
  }
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getInt32Ty(state.context), types, false),
      llvm::Function::InternalLinkage, kernel.name + ".device", state.module);
  function->addFnAttr(llvm::Attribute::NoInline);
  FunctionEmitter emitter(state, function);
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const Variable* var = kernel.arguments[i].var.operator->();
    llvm::Argument* parameter = function->getArg(static_cast<unsigned>(i));
    Binding given{.root = var};
    if (is_index_type(var->type)) given.linear.emplace();
    emitter.bind_captured(var, given, parameter);
    const auto facts = state.buffers.find(var);
    if (!var->type.is_handle() || facts == state.buffers.end()) continue;
    llvm::AttrBuilder attributes(state.context);
    attributes.addAttribute(llvm::Attribute::NoAlias);
    attributes.addAttribute(llvm::Attribute::NoCapture);
    if (!facts->second.written) attributes.addAttribute(llvm::Attribute::ReadOnly);
    parameter->addAttrs(attributes);
  }
  emitter.emit(kernel.body);
  emitter.finish();
  return function;
}

llvm::Value* FunctionEmitter::emit_launch(const Call& op) {
  const auto device = k_.devices.find(std::string(launched_kernel(Expr::of(&op))));
  if (device == k_.devices.end()) fail("it launches a kernel that is not in the module");
  llvm::Function* function = device->second;
  llvm::SmallVector<llvm::Value*, 8> values;
  for (size_t i = 0; i < function->arg_size(); ++i) {
    const Expr& value = op.args.at(i + 1);
    values.push_back(is_index_type(value.dtype()) ? index(value) : emit(value));
  }
  has_launched_ = true;
  llvm::Value* status = b_.CreateCall(function, values);
  return_on_failure(status);
  return status;
}

EmitResult emit(const std::vector<Kernel>& kernels, const Target& target,
                const EmitOptions& options, llvm::Module& module) {
  EmitResult result;
  DeviceFunctions devices;
  const auto state_of = [&](const Kernel& kernel) {
    return KernelState{module, module.getContext(), target, options, result, devices, kernel.name};
  };
  for (const Kernel& kernel : kernels) {
    if (kernel.role != KernelRole::Device) continue;
    KernelState state = state_of(kernel);
    devices[kernel.name] = FunctionEmitter::emit_device(state, kernel);
  }
  for (const Kernel& kernel : kernels) {
    if (kernel.role == KernelRole::Device) continue;
    KernelState state = state_of(kernel);
    FunctionEmitter::emit_kernel(state, kernel);
  }
  return result;
}

}  // namespace tw::codegen
