// SPDX-License-Identifier: Apache-2.0
// Tensor intrinsics, and LLVM's own by their names.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "ir/expr.h"
#include "lower/llvm/emit.h"
#include "runtime/error.h"
#include "schedule/tensor_intrin.h"

namespace tw::codegen {

// The condition of the two sides that the pass `tensorize` leaves: the intrinsic and its loops.
void FunctionEmitter::emit_intrinsic(const Call& condition, const Stmt& statements) {
  const TensorIntrin intrin = tensor_intrin(as<StringImm>(condition.args[0])->value);
  std::vector<std::string> missing;
  for (const std::string& feature : intrin->features) {
    if (!k_.target.has_feature(feature)) missing.push_back(feature);
  }
  if (!missing.empty()) {
    raise({.code = ErrorCode::TargetFeature,
           .what = fmt::format("tensor intrinsic '{}' needs {}, which '{}' has not", intrin->name,
                               fmt::join(missing, ", "), k_.target.text()),
           .where = "code generation of '" + k_.kernel_name + "'",
           .legal = "another intrinsic, or a target with that"});
  }
  emit(statements);
}

// The address and not the value.
llvm::Value* FunctionEmitter::address_of(const Load& load) {
  Linear at;
  int64_t stride = 0;
  if (!accumulate_lanes(load.index, 1, at, stride)) at = linear(load.index);
  std::stable_sort(at.terms.begin(), at.terms.end(),
                   [](const auto& a, const auto& b) { return a.level < b.level; });
  return address(load.buffer.operator->(), load.type.element(), at).pointer;
}

// Types that an intrinsic leaves open are found from its arguments and its result.
llvm::Value* FunctionEmitter::emit_llvm_intrinsic(const Call& op,
                                                  llvm::ArrayRef<llvm::Value*> args) {
  k_.result.names_llvm_intrinsics = true;
  const llvm::Intrinsic::ID id = llvm::Function::lookupIntrinsicID(op.name);
  if (id == llvm::Intrinsic::not_intrinsic) {
    raise({.code = ErrorCode::UnknownIntrinsic,
           .what = fmt::format("LLVM {} has no intrinsic '{}'", llvm_version(), op.name),
           .where = "code generation of '" + k_.kernel_name + "'"});
  }
  llvm::SmallVector<llvm::Intrinsic::IITDescriptor, 8> table;
  llvm::Intrinsic::getIntrinsicInfoTableEntries(id, table);
  llvm::SmallVector<llvm::Type*, 4> types, open;
  for (llvm::Value* a : args) types.push_back(a->getType());
  const auto fits = [&](llvm::Type* result) {
    llvm::ArrayRef<llvm::Intrinsic::IITDescriptor> rest = table;
    open.clear();
    return llvm::Intrinsic::matchIntrinsicSignature(llvm::FunctionType::get(result, types, false),
                                                    rest, open) ==
           llvm::Intrinsic::MatchIntrinsicTypes_Match;
  };
  // What gives nothing may be called with any type of result.
  if (!fits(type(op.type)) && !fits(b_.getVoidTy())) {
    std::vector<std::string> given;
    for (const Expr& a : op.args) given.push_back(to_string(a.dtype()));
    raise({.code = ErrorCode::TypeMismatch,
           .what = fmt::format("'{}' does not take ({}) and give {}", op.name,
                               fmt::join(given, ", "), to_string(op.type)),
           .where = "code generation of '" + k_.kernel_name + "'",
           .legal = "the types of LLVM's language reference"});
  }
  llvm::Value* result = b_.CreateIntrinsic(id, open, args);
  return result->getType()->isVoidTy() ? llvm::Constant::getNullValue(type(op.type)) : result;
}

}  // namespace tw::codegen
