// SPDX-License-Identifier: Apache-2.0
// Statements: loops, memory, checks.
#include <llvm/IR/Intrinsics.h>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/visit.h"
#include "lower/llvm/emit.h"
#include "lower/llvm/emit_branch.h"

namespace tw::codegen {
namespace {

constexpr int64_t kMaxUnrolledStatements = 4096;  // beyond this LLVM is asked to unroll

int64_t count_statements(const Stmt& s) {
  int64_t count = 0;
  for_each_stmt(s, [&](const Stmt& x) {
    if (is<Store>(x) || is<Evaluate>(x)) ++count;
  });
  return count;
}

// k in let A = tensor_data(k).
std::optional<int> unpacked_argument(const LetStmt& op) {
  const Call* call = as<Call>(op.value);
  if (call == nullptr || call->name != "tensor_data") return std::nullopt;
  const auto k = as_const_int(call->args[0]);
  return k ? std::optional(static_cast<int>(*k)) : std::nullopt;
}

}  // namespace

void FunctionEmitter::emit(const Stmt& s) {
  if (!s.defined()) return;
  if (!is<LetStmt>(s) && !is<AssertStmt>(s)) make_checks();
  switch (s->kind) {
    case NodeKind::LetStmt:
      return emit_let(*as<LetStmt>(s));
    case NodeKind::AttrStmt:
      return emit_attr(*as<AttrStmt>(s));
    case NodeKind::AssertStmt:
      return emit_assert(*as<AssertStmt>(s));
    case NodeKind::For:
      return emit_for(*as<For>(s));
    case NodeKind::While:
      return emit_while(*as<While>(s));
    case NodeKind::Allocate:
      return emit_allocate(*as<Allocate>(s));
    case NodeKind::Store:
      return emit_store(*as<Store>(s));
    case NodeKind::Produce:
      return emit(as<Produce>(s)->body);
    case NodeKind::Block:
      for (const Stmt& part : as<Block>(s)->stmts) emit(part);
      return;
    case NodeKind::IfThenElse:
      return emit_if(*as<IfThenElse>(s));
    case NodeKind::Evaluate:
      if (!is_const(as<Evaluate>(s)->value)) emit(as<Evaluate>(s)->value);
      return;
    default:
      fail(std::string(to_string(s->kind)) + " has no machine code; it must be lowered first");
  }
}

void FunctionEmitter::emit_let(const LetStmt& op) {
  if (const auto argument = unpacked_argument(op); argument && !checks_.rows.empty()) {
    checks_.data.push_back({&op, *argument});
  } else {
    make_checks();
    bind_let(op);
  }
  emit(op.body);
  bindings_.erase(op.var.operator->());
}

void FunctionEmitter::bind_let(const LetStmt& op) {
  const Variable* var = op.var.operator->();
  Binding binding{.level = depth()};
  if (op.var.dtype().is_handle()) {
    const Variable* alias = as<Variable>(op.value);
    binding.root = alias != nullptr && bindings_.contains(alias) ? bindings_[alias].root : var;
    if (alias != nullptr && bindings_.contains(alias)) {
      binding.alignment = bindings_[alias].alignment;
    }
  }
  if (is_index_type(op.var.dtype())) {
    binding.linear = linear(op.value);
    binding.level = binding.linear->terms.empty() ? 0 : binding.linear->terms.back().level;
  } else {
    binding.value = emit(op.value);
    held_.insert(binding.value);
    if (binding.value->getName().empty() && !llvm::isa<llvm::Constant>(binding.value)) {
      binding.value->setName(var->name);
    }
  }
  binding.nonnegative = is_nonnegative(op.value);
  binding.positive = is_positive(op.value);
  bindings_[var] = std::move(binding);
}

void FunctionEmitter::emit_attr(const AttrStmt& op) {
  if (op.key == attr::kComputeScope) return emit_compute_scope(op);
  if (op.key == attr::kStoreNontemporal) {
    const bool before = std::exchange(nontemporal_, !is_zero(op.value));
    emit(op.body);
    nontemporal_ = before;
    return;
  }
  if (attr::is_parallel_launch(op.key)) return emit_parallel_launch(op);
  if (op.key == attr::kStorageAlignment) {
    const Variable* buffer = as<Variable>(op.node);
    const auto bytes = as_const_int(op.value);
    const auto it = bindings_.find(buffer);
    if (it != bindings_.end() && bytes && *bytes > 0 && (*bytes & (*bytes - 1)) == 0) {
      const uint64_t before = it->second.alignment;
      it->second.alignment = std::max(before, static_cast<uint64_t>(*bytes));
      emit(op.body);
      bindings_[buffer].alignment = before;
      return;
    }
  }
  emit(op.body);
}

void FunctionEmitter::emit_for(const For& op) {
  const auto extent = as_const_int(op.extent);
  if (extent && *extent <= 0) return;
  if (extent && *extent == 1) {
    const Variable* var = op.var.operator->();
    Binding binding{.level = depth(), .nonnegative = is_nonnegative(op.min)};
    if (is_index_type(op.var.dtype())) {
      binding.linear = linear(op.min);
      binding.level = binding.linear->terms.empty() ? 0 : binding.linear->terms.back().level;
    } else {
      binding.value = emit(op.min);
    }
    bindings_[var] = std::move(binding);
    emit(op.body);
    bindings_.erase(var);
    return;
  }
  if (emit_dot_product(op)) return;
  if (op.for_kind == ForKind::Unrolled && extent) {
    // Repeating the body here costs less than having LLVM unroll a loop, and folds indices at once.
    const bool few =
        *extent * std::max<int64_t>(1, count_statements(op.body)) <= kMaxUnrolledStatements;
    if (few && is_index_type(op.var.dtype())) {
      const Variable* var = op.var.operator->();
      const Linear first = linear(op.min);
      for (int64_t i = 0; i < *extent; ++i) {
        Linear value = first;
        value.constant += i;
        bindings_[var] = Binding{
            .linear = value,
            .level = value.terms.empty() ? 0 : value.terms.back().level,
            .nonnegative = is_nonnegative(op.min),
        };
        emit(op.body);
      }
      bindings_.erase(var);
      return;
    }
  }
  emit_loop(op, op.for_kind == ForKind::Unrolled && extent.has_value());
}

std::vector<const Variable*> FunctionEmitter::learn_positive(const Expr& extent) {
  if (const Mul* product = as<Mul>(extent)) {
    if (!is_nonnegative(product->a) || !is_nonnegative(product->b)) return {};
    std::vector<const Variable*> learnt = learn_positive(product->a);
    std::ranges::copy(learn_positive(product->b), std::back_inserter(learnt));
    return learnt;
  }
  const Variable* var = as<Variable>(extent);
  const auto it = bindings_.find(var);
  if (var == nullptr || it == bindings_.end() || it->second.positive) return {};
  it->second.positive = true;
  return {var};
}

void FunctionEmitter::emit_loop(const For& op, bool full_unroll) {
  const Variable* var = op.var.operator->();
  if (!op.var.dtype().is_integer()) fail("loop variable '" + var->name + "' is not an integer");
  const auto extent = as_const_int(op.extent);
  llvm::Value* begin = index(op.min);
  llvm::Value* end = index(op.min + op.extent);
  llvm::BasicBlock* after = new_block(var->name + ".after");
  if (!extent) {
    llvm::BasicBlock* enter = new_block(var->name + ".enter");
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), enter, after);
    b_.SetInsertPoint(enter);
  }
  llvm::BasicBlock* preheader = block();
  llvm::BasicBlock* header = new_block(var->name);
  llvm::BasicBlock* exit = extent ? after : new_block(var->name + ".exit");
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::PHINode* iv = b_.CreatePHI(b_.getInt64Ty(), 2, var->name);
  iv->addIncoming(begin, preheader);

  has_loops_ = true;
  if (!loops_.empty()) loops_.back().innermost = false;
  loops_.push_back({preheader, regions_.size(), iv});
  regions_.emplace_back();
  Binding binding{.level = depth(), .loop_header = header, .nonnegative = is_nonnegative(op.min)};
  binding.linear.emplace().add(iv, 1, depth());
  if (!is_index_type(op.var.dtype())) {
    binding.value = b_.CreateZExtOrTrunc(iv, type(op.var.dtype()));
    binding.linear.reset();
  }
  bindings_[var] = std::move(binding);
  const std::vector<const Variable*> positive = learn_positive(op.extent);
  emit(op.body);
  for (const Variable* v : positive) bindings_.at(v).positive = false;
  bindings_.erase(var);
  regions_.pop_back();
  const Loop loop = std::move(loops_.back());
  loops_.pop_back();
  llvm::SmallVector<Offset, 2> offsets;
  if (loop.innermost && !full_unroll && !k_.options.vectorize) offsets = share_strides(loop, begin);

  // Compared for equality, which LLVM leaves as it is; other comparisons it moves to the old value,
  // which then needs a register beside the new one. Where an offset is all that the loop needs, it
  // counts.
  llvm::Value* next = nullptr;
  if (!offsets.empty() && iv->use_empty()) {
    iv->eraseFromParent();
    next = offsets[0].next;
    Builder::InsertPointGuard guard(b_);
    b_.SetInsertPoint(preheader->getTerminator());
    end = b_.CreateNSWMul(end, b_.getInt64(static_cast<uint64_t>(offsets[0].stride)));
  } else {
    next = b_.CreateAdd(iv, b_.getInt64(1), "", is_nonnegative(op.min), /*HasNSW=*/true);
    iv->addIncoming(next, block());
  }
  llvm::BranchInst* back = b_.CreateCondBr(b_.CreateICmpNE(next, end), header, exit);
  back->setMetadata(llvm::LLVMContext::MD_loop, loop_metadata(full_unroll));
  if (!extent) {
    b_.SetInsertPoint(exit);
    b_.CreateBr(after);
  }
  b_.SetInsertPoint(after);
}

// Unlike a loop that counts it is not said to make progress: one that never ends is a program too.
void FunctionEmitter::emit_while(const While& op) {
  llvm::BasicBlock* preheader = block();
  llvm::BasicBlock* header = new_block("while");
  llvm::BasicBlock* body = new_block("while.body");
  llvm::BasicBlock* after = new_block("while.after");
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  has_loops_ = true;
  if (!loops_.empty()) loops_.back().innermost = false;
  loops_.push_back({preheader, regions_.size()});
  regions_.emplace_back();
  b_.CreateCondBr(emit(op.condition), body, after);
  b_.SetInsertPoint(body);
  emit(op.body);
  b_.CreateBr(header);
  regions_.pop_back();
  loops_.pop_back();
  b_.SetInsertPoint(after);
}

// Addresses that advance with an innermost loop, pointer + stride * iv: an addressing mode scales
// by 1, 2, 4 or 8, so what advances by more shares an offset that the loop adds to, one a stride.
// This is what is left for strength reduction to do.
llvm::SmallVector<FunctionEmitter::Offset, 2> FunctionEmitter::share_strides(const Loop& loop,
                                                                             llvm::Value* begin) {
  llvm::SmallVector<Offset, 2> offsets;
  for (const Stride& s : loop.strides) {
    if (s.bytes == 1 || s.bytes == 2 || s.bytes == 4 || s.bytes == 8) continue;
    auto known = std::ranges::find(offsets, s.bytes, &Offset::stride);
    if (known == offsets.end()) {
      llvm::Value* stride = b_.getInt64(static_cast<uint64_t>(s.bytes));
      llvm::BasicBlock* latch = block();
      Builder::InsertPointGuard guard(b_);
      b_.SetInsertPoint(loop.preheader->getTerminator());
      llvm::Value* first = b_.CreateNSWMul(begin, stride);
      b_.SetInsertPoint(loop.variable);
      llvm::PHINode* offset = b_.CreatePHI(b_.getInt64Ty(), 2);
      b_.SetInsertPoint(latch);
      llvm::Value* next = b_.CreateNSWAdd(offset, stride);
      offset->addIncoming(first, loop.preheader);
      offset->addIncoming(next, latch);
      offsets.push_back({s.bytes, offset, next});
      known = offsets.end() - 1;
    }
    Builder::InsertPointGuard guard(b_);
    b_.SetInsertPoint(s.address);
    s.address->replaceAllUsesWith(b_.CreateGEP(b_.getInt8Ty(), s.pointer, known->value));
    llvm::Value* scaled = s.address->getOperand(1);
    s.address->eraseFromParent();
    if (scaled != loop.variable && scaled->use_empty()) {
      llvm::cast<llvm::Instruction>(scaled)->eraseFromParent();
    }
  }
  return offsets;
}

llvm::MDNode* FunctionEmitter::loop_metadata(bool full_unroll) {
  llvm::SmallVector<llvm::Metadata*, 4> facts{nullptr};
  const auto flag = [&](const char* name, std::optional<bool> value) {
    llvm::SmallVector<llvm::Metadata*, 2> parts{llvm::MDString::get(k_.context, name)};
    if (value) parts.push_back(llvm::ConstantAsMetadata::get(b_.getInt1(*value)));
    facts.push_back(llvm::MDNode::get(k_.context, parts));
  };
  flag("llvm.loop.mustprogress", {});
  if (full_unroll) {
    flag("llvm.loop.unroll.full", {});
    k_.result.has_unroll_requests = true;
  } else if (!k_.options.vectorize) {
    flag("llvm.loop.unroll.disable", {});
  }
  if (!k_.options.vectorize) flag("llvm.loop.vectorize.enable", false);
  llvm::MDNode* node = llvm::MDNode::getDistinct(k_.context, facts);
  node->replaceOperandWith(0, node);
  return node;
}

void FunctionEmitter::emit_allocate(const Allocate& op) {
  if (op.scope == attr::kTileScope) return emit_tiles(op);
  const Variable* var = op.buffer.operator->();
  const DType element = op.type.element();
  std::optional<int64_t> count = op.type.lanes;
  for (const Expr& e : op.extents) {
    const auto c = as_const_int(e);
    count = count && c ? std::optional(*count * *c) : std::nullopt;
  }
  Binding binding{.level = depth(), .alignment = 64, .root = var};
  if (op.scope == "local" && count) {
    binding.value =
        entry_alloca(llvm::ArrayType::get(memory_type(element),
                                          static_cast<uint64_t>(std::max<int64_t>(*count, 1))),
                     llvm::Align(64), var->name);
    binding.level = 0;
    bindings_[var] = std::move(binding);
    emit(op.body);
    bindings_.erase(var);
    return;
  }
  llvm::Value* size = b_.getInt64(static_cast<uint64_t>(element.element_bytes() * op.type.lanes));
  for (const Expr& e : op.extents) size = b_.CreateNSWMul(size, index(e));
  llvm::Value* memory =
      b_.CreateCall(k_.runtime_function("tw_workspace_alloc"), {size, b_.getInt32(64)}, var->name);
  llvm::BasicBlock* failed = new_block("no_memory");
  llvm::BasicBlock* passed = new_block("allocated");
  b_.CreateCondBr(b_.CreateIsNull(memory), failed, passed,
                  llvm::MDBuilder(k_.context).createBranchWeights(1, 1 << 20));
  b_.SetInsertPoint(failed);
  return_error(b_.getInt32(static_cast<uint32_t>(-1)));
  b_.SetInsertPoint(passed);
  binding.value = memory;
  bindings_[var] = std::move(binding);
  workspaces_.push_back(memory);
  emit(op.body);
  workspaces_.pop_back();
  b_.CreateCall(k_.runtime_function("tw_workspace_free"), {memory});
  bindings_.erase(var);
}

void FunctionEmitter::emit_store(const Store& op) {
  has_loops_ = true;  // or work that was unrolled
  llvm::Value* mask = op.predicate.defined() ? emit(op.predicate) : nullptr;
  if (auto* c = llvm::dyn_cast_or_null<llvm::Constant>(mask); c && c->isAllOnesValue()) {
    mask = nullptr;
  }
  const DType t = op.value.dtype();
  if (t.lanes > 1) return store_lanes(op, emit(op.value), mask);
  const auto write = [&]() -> llvm::Value* {
    llvm::Value* value = to_memory(emit(op.value), t);
    const Variable* buffer = op.buffer.operator->();
    const Address at = address(buffer, t, linear(op.index));
    store_all(value, at, buffer);
    return b_.getInt1(false);
  };
  if (mask == nullptr) {
    write();
  } else {
    branch(mask, true, write, [&] { return b_.getInt1(false); });
  }
}

void FunctionEmitter::emit_if(const IfThenElse& op) {
  const Call* call = as<Call>(op.condition);
  if (call != nullptr && call->name == "tensorized") return emit_intrinsic(*call, op.then_case);
  const bool likely = call != nullptr && call->name == "likely";
  llvm::Value* condition = emit(op.condition);
  if (const auto* c = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    emit(c->isOne() ? op.then_case : op.else_case);
    return;
  }
  llvm::BasicBlock* on_true = new_block("then");
  llvm::BasicBlock* join = new_block("join");
  llvm::BasicBlock* on_false = op.else_case.defined() ? new_block("else") : join;
  b_.CreateCondBr(condition, on_true, on_false,
                  likely ? llvm::MDBuilder(k_.context).createBranchWeights(2000, 1) : nullptr);
  const auto side = [&](llvm::BasicBlock* begin, const Stmt& s) {
    b_.SetInsertPoint(begin);
    regions_.emplace_back();
    emit(s);
    regions_.pop_back();
    b_.CreateBr(join);
  };
  side(on_true, op.then_case);
  if (op.else_case.defined()) side(on_false, op.else_case);
  b_.SetInsertPoint(join);
}

}  // namespace tw::codegen
