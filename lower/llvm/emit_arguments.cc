// SPDX-License-Identifier: Apache-2.0
// The arguments of the calling convention (runtime/c_api.h).
#include <cstddef>

#include "ir/expr.h"
#include "ir/visit.h"
#include "lower/llvm/emit.h"
#include "runtime/c_api.h"

namespace tw::codegen {

// Before make_api the arguments' variables are free in the body: they get their values unchecked.
// Afterwards the body binds them itself, and its bindings replace these (unused ones vanish).
void FunctionEmitter::bind_arguments(const Kernel& kernel) {
  bool unpacked = false;
  for_each_expr(kernel.body, [&](const Expr& e) {
    const Call* call = as<Call>(e);
    if (call != nullptr && (call->name == "tensor_data" || call->name == "argument_count")) {
      unpacked = true;
    }
  });
  if (unpacked) return;
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const KernelArgument& a = kernel.arguments[i];
    const Expr k(static_cast<int>(i));
    const auto bind_number = [&](const Variable* var, const Expr& value, bool nonnegative) {
      Binding binding{.nonnegative = nonnegative};
      if (is_index_type(var->type)) {
        binding.linear = linear(value);
      } else {
        binding.value = emit(cast(var->type, value));
      }
      bindings_[var] = std::move(binding);
    };
    if (!a.is_tensor) {
      const bool real = a.dtype.is_float();
      const Expr value =
          call(real ? float_type(64) : int_type(64), real ? "argument_float" : "argument_int", {k},
               CallKind::PureIntrinsic);
      bind_number(a.var.operator->(), cast(a.dtype, value), false);
      continue;
    }
    const Variable* var = a.var.operator->();
    Binding binding{.root = var};
    binding.value = emit(call(handle_type(), "tensor_data", {k}, CallKind::PureIntrinsic));
    binding.value->setName(a.name);
    bindings_[var] = std::move(binding);
    for (size_t d = 0; d < a.shape.size(); ++d) {
      const Variable* extent = as<Variable>(a.shape[d]);
      if (extent == nullptr || bindings_.contains(extent)) continue;
      const Expr value = call(int_type(64), "tensor_shape", {k, Expr(static_cast<int>(d))},
                              CallKind::PureIntrinsic);
      bind_number(extent, cast(extent->type, value), true);
    }
  }
}

llvm::Value* FunctionEmitter::argument(const Expr& k) {
  if (args_ == nullptr) fail("a function inside the kernel reads the arguments of the call");
  llvm::Type* pointer = llvm::PointerType::get(k_.context, 0);
  return b_.CreateLoad(pointer, b_.CreateGEP(pointer, args_, index(k)));
}

llvm::Value* FunctionEmitter::tensor_field(const Expr& k, int offset, llvm::Type* t) {
  return b_.CreateLoad(
      t, b_.CreateConstGEP1_64(b_.getInt8Ty(), argument(k), static_cast<uint64_t>(offset)));
}

llvm::Value* FunctionEmitter::argument_intrinsic(const Call& op) {
  const std::string& name = op.name;
  llvm::Type* i32 = b_.getInt32Ty();
  llvm::Type* i64 = b_.getInt64Ty();
  llvm::Type* pointer = llvm::PointerType::get(k_.context, 0);
  const auto as_type = [&](llvm::Value* v, DType from) { return convert(v, from, op.type); };
  if (name == "argument_count") return as_type(num_args_, int_type(32));
  if (name == "argument_int") {
    return as_type(b_.CreateLoad(i64, argument(op.args[0])), int_type(64));
  }
  if (name == "argument_float") {
    return as_type(b_.CreateLoad(b_.getDoubleTy(), argument(op.args[0])), float_type(64));
  }
  if (name == "argument_type") {
    if (type_codes_ == nullptr)
      fail("a function inside the kernel reads the arguments of the call");
    return as_type(b_.CreateLoad(i32, b_.CreateGEP(i32, type_codes_, index(op.args[0]))),
                   int_type(32));
  }
  if (name == "tensor_data") {
    llvm::Value* data = tensor_field(op.args[0], offsetof(DLTensor, data), pointer);
    llvm::Value* offset = tensor_field(op.args[0], offsetof(DLTensor, byte_offset), i64);
    return b_.CreateGEP(b_.getInt8Ty(), data, offset);
  }
  if (name == "tensor_shape" || name == "tensor_stride") {
    const int field =
        name == "tensor_shape" ? offsetof(DLTensor, shape) : offsetof(DLTensor, strides);
    llvm::Value* list = tensor_field(op.args[0], field, pointer);
    return as_type(b_.CreateLoad(i64, b_.CreateGEP(i64, list, index(op.args[1]))), int_type(64));
  }
  if (name == "tensor_has_strides") {
    return b_.CreateIsNotNull(tensor_field(op.args[0], offsetof(DLTensor, strides), pointer));
  }
  if (name == "tensor_rank") {
    return as_type(tensor_field(op.args[0], offsetof(DLTensor, ndim), i32), int_type(32));
  }
  if (name == "tensor_overlap") {
    return as_type(b_.CreateCall(k_.runtime_function("tw_tensor_overlap"),
                                 {argument(op.args[0]), argument(op.args[1])}),
                   int_type(64));
  }
  if (name == "tensor_partial_overlap") {
    const auto begin = [&](const Expr& k) {
      return emit(call(handle_type(), "tensor_data", {k}, CallKind::PureIntrinsic));
    };
    llvm::Value* shared = b_.CreateCall(k_.runtime_function("tw_tensor_overlap"),
                                        {argument(op.args[0]), argument(op.args[1])});
    llvm::Value* same = b_.CreateICmpEQ(begin(op.args[0]), begin(op.args[1]));
    return as_type(b_.CreateSelect(same, b_.getInt64(0), shared), int_type(64));
  }
  if (name == "tensor_dtype") {
    return as_type(tensor_field(op.args[0], offsetof(DLTensor, dtype), i32), uint_type(32));
  }
  if (name == "tensor_device") {
    return as_type(tensor_field(op.args[0], offsetof(DLTensor, device), i32), int_type(32));
  }
  return nullptr;
}

// A stride, or where the tensor has none a constant; without a branch.
llvm::Value* FunctionEmitter::stride_or(const Call& stride, const Expr& otherwise) {
  llvm::Type* i64 = b_.getInt64Ty();
  auto* value = llvm::cast<llvm::Constant>(emit(cast(int_type(64), otherwise)));
  auto* known = new llvm::GlobalVariable(k_.module, i64, true, llvm::GlobalValue::PrivateLinkage,
                                         value, "stride");
  llvm::Value* list = tensor_field(stride.args[0], offsetof(DLTensor, strides),
                                   llvm::PointerType::get(k_.context, 0));
  llvm::Value* at =
      b_.CreateSelect(b_.CreateIsNull(list), known, b_.CreateGEP(i64, list, index(stride.args[1])));
  return convert(b_.CreateLoad(i64, at), int_type(64), stride.type);
}

}  // namespace tw::codegen
