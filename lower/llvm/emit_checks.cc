// SPDX-License-Identifier: Apache-2.0
// Assertions. A kernel begins with some dozens of argument checks, which would take longer to
// compile than the kernel itself: those with constant operands become rows of a table, which one
// call of the runtime goes through.
#include <algorithm>
#include <utility>

#include "ir/expr.h"
#include "lower/llvm/emit.h"
#include "runtime/c_api.h"

namespace tw::codegen {
namespace {

const Expr& without_casts(const Expr& e) {
  const Cast* cast = as<Cast>(e);
  return cast != nullptr && cast->value.dtype().is_integer() ? without_casts(cast->value) : e;
}

bool is_call(const Expr& e, std::string_view name, const std::vector<int64_t>& args) {
  const Call* call = as<Call>(e);
  return call != nullptr && call->name == name && call->args.size() == args.size() &&
         std::ranges::equal(call->args, args,
                            [](const Expr& a, int64_t b) { return as_const_int(a) == b; });
}

// How make_api writes what TW_CHECK_ number `which` reads of argument k.
struct Field {
  int which;
  std::string_view intrinsic;
};
constexpr Field kFields[] = {
    {TW_CHECK_Kind, "argument_type"},     {TW_CHECK_Rank, "tensor_rank"},
    {TW_CHECK_DType, "tensor_dtype"},     {TW_CHECK_Device, "tensor_device"},
    {TW_CHECK_Shape, "tensor_shape"},     {TW_CHECK_Strides, "tensor_stride"},
    {TW_CHECK_Overlap, "tensor_overlap"}, {TW_CHECK_PartialOverlap, "tensor_partial_overlap"},
};

// The address whose bits these are; null for anything else.
const Variable* address_in(const Expr& bits) {
  const Call* call = as<Call>(bits);
  return call != nullptr && call->name == "address_bits" ? as<Variable>(call->args[0]) : nullptr;
}

// k when `condition` is what check `which` of argument k, with these numbers, means in
// tw_check_arguments. `data` is the argument whose data a variable is, or -1.
template <class Data>
std::optional<int64_t> argument_checked(const Expr& condition, int which, int64_t index,
                                        int64_t expected, Data data) {
  const auto of_address = [&](const Expr& bits) -> std::optional<int64_t> {
    const Variable* v = address_in(bits);
    const int64_t k = v != nullptr ? data(v) : -1;
    return k >= 0 ? std::optional(k) : std::nullopt;
  };
  if (which == TW_CHECK_Null) {
    const NotEqual* op = as<NotEqual>(condition);
    return op != nullptr && is_const_int(op->b, 0) ? of_address(op->a) : std::nullopt;
  }
  const Equal* op = as<Equal>(condition);
  if (op == nullptr) return std::nullopt;
  const Expr& read = without_casts(op->a);
  if (which == TW_CHECK_Alignment) {
    const Call* bits = as<Call>(read);
    const bool low = bits != nullptr && bits->name == "bitwise_and" && is_const_int(op->b, 0) &&
                     is_const_int(bits->args[1], expected - 1);
    return low ? of_address(bits->args[0]) : std::nullopt;
  }
  if (!is_const_int(op->b, expected)) return std::nullopt;
  if (which == TW_CHECK_Count)
    return is_call(read, "argument_count", {}) ? std::optional<int64_t>(0) : std::nullopt;

  const Call* call = as<Call>(read);
  if (call == nullptr) return std::nullopt;
  const bool strides = which == TW_CHECK_Strides;
  if (strides && (call->name != "if_then_else" || !is_const_int(call->args[2], expected)))
    return std::nullopt;
  const Call* field = strides ? as<Call>(call->args[1]) : call;
  const auto row = std::ranges::find(kFields, which, &Field::which);
  if (row == std::end(kFields) || field == nullptr || field->args.empty()) return std::nullopt;
  const auto k = as_const_int(field->args[0]);
  if (!k) return std::nullopt;
  // The dimension, or the other tensor.
  const bool indexed = strides || which == TW_CHECK_Shape || which == TW_CHECK_Overlap ||
                       which == TW_CHECK_PartialOverlap;
  if (!is_call(Expr(field), row->intrinsic, indexed ? std::vector{*k, index} : std::vector{*k}))
    return std::nullopt;
  if (strides && !is_call(call->args[0], "tensor_has_strides", {*k})) return std::nullopt;
  return k;
}

llvm::MDNode* hardly_ever(llvm::LLVMContext& context) {
  return llvm::MDBuilder(context).createBranchWeights(1 << 20, 1);
}

}  // namespace

void FunctionEmitter::emit_assert(const AssertStmt& op) {
  if (leaves_out_checks_) return emit(op.body);
  const Call* call = as<Call>(op.message);
  const bool argument_error = call != nullptr && call->name == "argument_error";
  if (argument_error && call->args.size() != 6) fail("argument_error takes six arguments");
  if (argument_error && collect_check(op.condition, *call)) return emit(op.body);
  make_checks();

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

bool FunctionEmitter::collect_check(const Expr& condition, const Call& message) {
  const auto check = as_const_int(message.args[0]), index = as_const_int(message.args[3]),
             expected = as_const_int(message.args[4]);
  const StringImm* function = as<StringImm>(message.args[1]);
  const StringImm* argument = as<StringImm>(message.args[2]);
  if (!check || !index || !expected || function == nullptr || argument == nullptr ||
      args_ == nullptr || !workspaces_.empty() || !loops_.empty()) {
    return false;
  }
  const auto data = [&](const Variable* v) {
    const auto it = std::ranges::find_if(
        checks_.data, [&](const Checks::Data& d) { return d.let->var.operator->() == v; });
    return it == checks_.data.end() ? -1 : it->argument;
  };
  const auto k = argument_checked(condition, static_cast<int>(*check), *index, *expected, data);
  if (!k) return false;
  if (checks_.function != function->value) make_checks();
  checks_.function = function->value;

  const auto i32 = [&](int64_t v) { return b_.getInt32(static_cast<uint32_t>(v)); };
  checks_.rows.push_back(llvm::ConstantStruct::getAnon(
      {b_.getInt64(static_cast<uint64_t>(*expected)), i32(*check), i32(*k), i32(*index),
       i32(static_cast<int64_t>(checks_.names.size()))}));
  checks_.names += argument->value;
  checks_.names += '\0';
  return true;
}

void FunctionEmitter::make_checks() {
  if (checks_.rows.empty()) return;
  Checks now = std::exchange(checks_, Checks{.any = true});
  auto* type = llvm::ArrayType::get(now.rows[0]->getType(), now.rows.size());
  auto* table = new llvm::GlobalVariable(k_.module, type, true, llvm::GlobalValue::PrivateLinkage,
                                         llvm::ConstantArray::get(type, now.rows), "checks");
  return_on_failure(
      b_.CreateCall(k_.runtime_function("tw_check_arguments"),
                    {table, b_.getInt32(static_cast<uint32_t>(now.rows.size())),
                     string(now.function), string(now.names), args_, type_codes_, num_args_}));
  for (const Checks::Data& data : now.data) bind_let(*data.let);
}

void FunctionEmitter::finish_checks() {
  make_checks();
  // What runs once a call is compiled the quick way; its loops, if any, are in functions of their
  // own.
  if (checks_.any && !has_loops_) {
    function_->addFnAttr(llvm::Attribute::OptimizeNone);
    function_->addFnAttr(llvm::Attribute::NoInline);
  }
}

}  // namespace tw::codegen
