// SPDX-License-Identifier: Apache-2.0
// Assertions. A kernel begins with some dozens of argument checks, which would outweigh the kernel
// itself if each had code for its failure: those with constant operands share one block, told by a
// row number which check it was and by a register what was found.
#include "ir/equal.h"
#include "ir/expr.h"
#include "lower/llvm/emit.h"
#include "runtime/c_api.h"

namespace tw::codegen {
namespace {

const Expr& without_casts(const Expr& e) {
  const Cast* cast = as<Cast>(e);
  return cast != nullptr && cast->value.dtype().is_integer() ? without_casts(cast->value) : e;
}

llvm::MDNode* hardly_ever(llvm::LLVMContext& context) {
  return llvm::MDBuilder(context).createBranchWeights(1 << 20, 1);
}

}  // namespace

void FunctionEmitter::emit_assert(const AssertStmt& op) {
  const Call* call = as<Call>(op.message);
  const bool argument_error = call != nullptr && call->name == "argument_error";
  if (argument_error && call->args.size() != 6) fail("argument_error takes six arguments");
  if (argument_error && emit_shared_check(op.condition, *call)) return emit(op.body);

  llvm::BasicBlock* failed = new_block("failed");
  llvm::BasicBlock* passed = new_block("passed");
  b_.CreateCondBr(emit(op.condition), passed, failed, hardly_ever(k_.context));
  b_.SetInsertPoint(failed);
  regions_.emplace_back();
  llvm::Value* status = b_.getInt32(static_cast<uint32_t>(-1));
  if (argument_error) {
    llvm::SmallVector<llvm::Value*, 6> args;
    for (size_t i = 0; i < 6; ++i) {
      const DType t = call->args[i].dtype();
      llvm::Value* v = emit(call->args[i]);
      if (i == 0 || i == 3) v = convert(v, t, int_type(32));
      if (i >= 4) v = convert(v, t, int_type(64));
      args.push_back(v);
    }
    status = b_.CreateCall(k_.runtime_function("tw_raise_argument_error"), args);
  } else {
    const StringImm* text = as<StringImm>(op.message);
    b_.CreateCall(k_.runtime_function("tw_set_error"),
                  {b_.getInt32(TW_ERROR_AssertionFailed),
                   string(text != nullptr ? text->value : "assertion failed")});
  }
  return_error(status);
  regions_.pop_back();
  b_.SetInsertPoint(passed);
  emit(op.body);
}

bool FunctionEmitter::emit_shared_check(const Expr& condition, const Call& message) {
  const auto check = as_const_int(message.args[0]), index = as_const_int(message.args[3]),
             expected = as_const_int(message.args[4]);
  const StringImm* function = as<StringImm>(message.args[1]);
  const StringImm* argument = as<StringImm>(message.args[2]);
  if (!check || !index || !expected || function == nullptr || argument == nullptr ||
      !workspaces_.empty() || !loops_.empty() || !condition.dtype().is_bool()) {
    return false;
  }
  if (checks_.block == nullptr) {
    checks_.function = function->value;
    checks_.block = new_block("check_failed");
    Builder::InsertPointGuard guard(b_);
    b_.SetInsertPoint(checks_.block);
    checks_.row = b_.CreatePHI(b_.getInt64Ty(), 32, "row");
    checks_.got = b_.CreatePHI(b_.getInt64Ty(), 32, "got");
  }
  if (checks_.function != function->value) return false;

  // What the message shows is mostly what the condition compares: computed once.
  const Expr& shown = without_casts(message.args[5]);
  const Equal* equality = as<Equal>(condition);
  const bool same = equality != nullptr && equal(without_casts(equality->a), shown);
  llvm::Value* value = emit(shown);
  llvm::Value* holds = nullptr;
  if (same) {
    llvm::Value* left = convert(value, shown.dtype(), equality->a.dtype());
    holds = b_.CreateICmpEQ(left, emit(equality->b));
  } else {
    holds = emit(condition);
  }
  llvm::Value* got = convert(value, shown.dtype(), int_type(64));
  checks_.row->addIncoming(b_.getInt64(checks_.rows.size()), block());
  checks_.got->addIncoming(got, block());
  llvm::Type* i32 = b_.getInt32Ty();
  checks_.rows.push_back(llvm::ConstantStruct::get(
      llvm::StructType::get(b_.getInt64Ty(), i32, i32, i32),
      {b_.getInt64(static_cast<uint64_t>(*expected)), b_.getInt32(static_cast<uint32_t>(*check)),
       b_.getInt32(static_cast<uint32_t>(*index)),
       b_.getInt32(static_cast<uint32_t>(checks_.names.size()))}));
  checks_.names += argument->value;
  checks_.names += '\0';
  llvm::BasicBlock* passed = new_block("passed");
  b_.CreateCondBr(holds, passed, checks_.block, hardly_ever(k_.context));
  b_.SetInsertPoint(passed);
  return true;
}

void FunctionEmitter::finish_checks() {
  if (checks_.block == nullptr) return;
  // What runs once a call is compiled the quick way; its loops, if any, are in functions of their
  // own.
  if (!has_loops_) {
    function_->addFnAttr(llvm::Attribute::OptimizeNone);
    function_->addFnAttr(llvm::Attribute::NoInline);
  }
  Builder::InsertPointGuard guard(b_);
  b_.SetInsertPoint(checks_.block);
  llvm::Type* row_type = checks_.rows[0]->getType();
  auto* table_type = llvm::ArrayType::get(row_type, checks_.rows.size());
  auto* table =
      new llvm::GlobalVariable(k_.module, table_type, true, llvm::GlobalValue::PrivateLinkage,
                               llvm::ConstantArray::get(table_type, checks_.rows), "checks");
  llvm::Value* row = b_.CreateGEP(row_type, table, checks_.row);
  const auto field = [&](unsigned i) {
    return b_.CreateLoad(row_type->getStructElementType(i), b_.CreateStructGEP(row_type, row, i));
  };
  llvm::Value* name = b_.CreateGEP(b_.getInt8Ty(), string(checks_.names), field(3));
  b_.CreateRet(
      b_.CreateCall(k_.runtime_function("tw_raise_argument_error"),
                    {field(1), string(checks_.function), name, field(2), field(0), checks_.got}));
}

}  // namespace tw::codegen
