// SPDX-License-Identifier: Apache-2.0
// Expressions other than calls and memory.
#include <llvm/IR/Intrinsics.h>

#include "ir/expr.h"
#include "ir/print.h"
#include "ir/visit_count.h"
#include "lower/llvm/emit.h"
#include "lower/llvm/emit_branch.h"
#include "runtime/error.h"
#include "runtime/half.h"

namespace tw::codegen {

llvm::Type* machine_type(llvm::LLVMContext& context, DType t) {
  llvm::Type* scalar = nullptr;
  switch (t.code) {
    case TypeCode::Int:
    case TypeCode::UInt:
      scalar = llvm::Type::getIntNTy(context, t.bits);
      break;
    case TypeCode::Bool:
      scalar = llvm::Type::getInt1Ty(context);
      break;
    case TypeCode::Handle:
      scalar = llvm::PointerType::get(context, 0);
      break;
    case TypeCode::BFloat:  // its bits: of moves of LLVM's own type not every processor has all
      if (t.bits == 16) scalar = llvm::Type::getInt16Ty(context);
      break;
    case TypeCode::Float:
      if (t.bits == 16) scalar = llvm::Type::getHalfTy(context);
      if (t.bits == 32) scalar = llvm::Type::getFloatTy(context);
      if (t.bits == 64) scalar = llvm::Type::getDoubleTy(context);
      break;
  }
  return scalar == nullptr || t.lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, t.lanes);
}

llvm::Type* FunctionEmitter::type(DType t) const {
  llvm::Type* known = machine_type(k_.context, t);
  if (known == nullptr) fail("no machine type for " + to_string(t));
  return known;
}

llvm::Type* FunctionEmitter::memory_type(DType t) const {
  return type(t.is_bool() ? uint_type(8, t.lanes) : t);
}

llvm::Value* FunctionEmitter::constant(DType t, int64_t v) const {
  if (t.is_float()) return real(t, static_cast<double>(v));
  if (t.is_handle()) {
    return llvm::ConstantExpr::getIntToPtr(
        llvm::ConstantInt::get(llvm::Type::getInt64Ty(k_.context), static_cast<uint64_t>(v)),
        type(t));
  }
  return llvm::ConstantInt::get(type(t), static_cast<uint64_t>(v), true);
}

llvm::Value* FunctionEmitter::real(DType t, double v) const {
  return t.code == TypeCode::BFloat ? llvm::ConstantInt::get(type(t), double_to_bfloat16(v))
                                    : llvm::ConstantFP::get(type(t), v);
}

llvm::Value* FunctionEmitter::splat(llvm::Value* v, int lanes) {
  if (lanes == 1 || v->getType()->isVectorTy()) return v;
  const std::pair<llvm::Value*, int> key{v, lanes};
  for (const Region& region : regions_) {
    if (const auto known = region.splats.find(key); known != region.splats.end()) {
      return known->second;
    }
  }
  llvm::Value* const made = b_.CreateVectorSplat(static_cast<unsigned>(lanes), v);
  if (!llvm::isa<llvm::Constant>(v)) regions_.back().splats[key] = made;
  return made;
}

void FunctionEmitter::fail(const std::string& what) const {
  raise({.code = ErrorCode::CodeGeneration,
         .what = what,
         .where = "code generation of '" + k_.kernel_name + "'"});
}

llvm::Value* FunctionEmitter::emit(const Expr& e) {
  count_visits(1);
  switch (e->kind) {
    case NodeKind::Variable:
      return emit_variable(*as<Variable>(e));
    case NodeKind::IntImm:
      return constant(as<IntImm>(e)->type, as<IntImm>(e)->value);
    case NodeKind::FloatImm:
      return real(as<FloatImm>(e)->type, as<FloatImm>(e)->value);
    case NodeKind::StringImm:
      return string(as<StringImm>(e)->value);
    case NodeKind::Cast:
      return emit_cast(*as<Cast>(e));
    case NodeKind::Add:
      return emit_arithmetic(*as<Add>(e));
    case NodeKind::Sub:
      return emit_arithmetic(*as<Sub>(e));
    case NodeKind::Mul:
      return emit_arithmetic(*as<Mul>(e));
    case NodeKind::Div:
      return emit_arithmetic(*as<Div>(e));
    case NodeKind::Mod:
      return emit_arithmetic(*as<Mod>(e));
    case NodeKind::FloorDiv:
      return emit_arithmetic(*as<FloorDiv>(e));
    case NodeKind::FloorMod:
      return emit_arithmetic(*as<FloorMod>(e));
    case NodeKind::Min:
      return emit_arithmetic(*as<Min>(e));
    case NodeKind::Max:
      return emit_arithmetic(*as<Max>(e));
    case NodeKind::Equal:
      return emit_comparison(*as<Equal>(e));
    case NodeKind::NotEqual:
      return emit_comparison(*as<NotEqual>(e));
    case NodeKind::Less:
      return emit_comparison(*as<Less>(e));
    case NodeKind::LessEqual:
      return emit_comparison(*as<LessEqual>(e));
    case NodeKind::Greater:
      return emit_comparison(*as<Greater>(e));
    case NodeKind::GreaterEqual:
      return emit_comparison(*as<GreaterEqual>(e));
    case NodeKind::And: {
      llvm::Value* a = emit(as<And>(e)->a);
      return b_.CreateAnd(a, emit(as<And>(e)->b));
    }
    case NodeKind::Or: {
      llvm::Value* a = emit(as<Or>(e)->a);
      return b_.CreateOr(a, emit(as<Or>(e)->b));
    }
    case NodeKind::Not:
      return b_.CreateNot(emit(as<Not>(e)->a));
    case NodeKind::Select: {
      const Select& op = *as<Select>(e);
      llvm::Value* condition = emit(op.condition);
      llvm::Value* a = emit(op.true_value);
      return b_.CreateSelect(condition, a, emit(op.false_value));
    }
    case NodeKind::Load:
      return emit_load(*as<Load>(e));
    case NodeKind::Ramp:
      return emit_ramp(*as<Ramp>(e));
    case NodeKind::Broadcast:
      return splat(emit(as<Broadcast>(e)->value), as<Broadcast>(e)->lanes);
    case NodeKind::Shuffle:
      return emit_shuffle(*as<Shuffle>(e));
    case NodeKind::Call:
      return emit_call(*as<Call>(e));
    case NodeKind::Let:
      return emit_let(*as<Let>(e));
    default:
      fail(std::string(to_string(e->kind)) + " has no machine code; it must be lowered first");
  }
}

llvm::Value* FunctionEmitter::emit_variable(const Variable& op) {
  const auto it = bindings_.find(&op);
  if (it == bindings_.end()) fail("variable '" + op.name + "' has no value");
  Binding& binding = it->second;
  if (binding.value != nullptr) return binding.value;
  // An integer known in 64 bits only.
  const Linear& l = *binding.linear;
  if (l.terms.empty()) return constant(op.type, l.constant);
  if (binding.loop_header != nullptr) {
    Builder::InsertPointGuard guard(b_);
    b_.SetInsertPoint(binding.loop_header, binding.loop_header->getFirstInsertionPt());
    return binding.value = b_.CreateTrunc(l.terms[0].atom, type(op.type), op.name);
  }
  return b_.CreateSExtOrTrunc(sum(l), type(op.type));
}

template <class T>
llvm::Value* FunctionEmitter::emit_arithmetic(const T& op) {
  constexpr bool divides = T::node_kind == NodeKind::Div || T::node_kind == NodeKind::Mod ||
                           T::node_kind == NodeKind::FloorDiv || T::node_kind == NodeKind::FloorMod;
  llvm::Value* a = emit(op.a);
  llvm::Value* b = emit(op.b);
  if (!divides || op.dtype.is_float()) return arithmetic(T::node_kind, op.dtype, a, b);
  const bool positive_divisor = is_positive(op.b);
  if (positive_divisor && mask_ != nullptr && op.dtype.lanes > 1 &&
      op.dtype.lanes ==
          static_cast<int>(llvm::cast<llvm::FixedVectorType>(mask_->getType())->getNumElements()) &&
      !llvm::isa<llvm::Constant>(b)) {
    // What is known does not hold of lanes that are off, which must not trap.
    b = b_.CreateSelect(mask_, b, constant(op.dtype, 1));
  }
  return division(T::node_kind, op.dtype, a, b,
                  {.nonnegative = is_nonnegative(op.a) && is_nonnegative(op.b),
                   .positive_divisor = positive_divisor});
}

llvm::Value* FunctionEmitter::arithmetic(NodeKind kind, DType t, llvm::Value* a, llvm::Value* b) {
  if (t.is_float()) {
    if (t.bits > 16) return float_arithmetic(kind, a, b);
    // 16-bit floats compute in 32 bits and round once, which is exact for these operations.
    return narrow(float_arithmetic(kind, widen(a, t), widen(b, t)), t);
  }
  const bool is_signed = t.is_int();
  // Vectors of narrow integers wrap in practice; the IR leaves signed overflow undefined.
  const bool no_wrap = is_signed && t.bits >= 32;
  switch (kind) {
    case NodeKind::Add:
      if (t.is_bool()) return b_.CreateOr(a, b);
      return b_.CreateAdd(a, b, "", false, no_wrap);
    case NodeKind::Sub:
      return b_.CreateSub(a, b, "", false, no_wrap);
    case NodeKind::Mul:
      return b_.CreateMul(a, b, "", false, no_wrap);
    case NodeKind::Min:
      if (t.is_bool()) return b_.CreateAnd(a, b);
      return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a,
                                      b);
    case NodeKind::Max:
      if (t.is_bool()) return b_.CreateOr(a, b);
      return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a,
                                      b);
    default:
      fail("not arithmetic");
  }
}

// product + sum in one instruction, where products may be contracted and this one has no other use;
// else null. Code generation would find it, but from twice as many operations.
llvm::Value* FunctionEmitter::fuse(llvm::Value* product, llvm::Value* sum) {
  auto* multiply = llvm::dyn_cast<llvm::BinaryOperator>(product);
  if (multiply == nullptr || multiply->getOpcode() != llvm::Instruction::FMul ||
      !multiply->hasAllowContract() || !multiply->use_empty() || held_.contains(multiply)) {
    return nullptr;
  }
  llvm::Value* fused = b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {multiply->getType()},
                                          {multiply->getOperand(0), multiply->getOperand(1), sum});
  multiply->eraseFromParent();
  return fused;
}

llvm::Value* FunctionEmitter::float_arithmetic(NodeKind kind, llvm::Value* a, llvm::Value* b) {
  switch (kind) {
    case NodeKind::Add:
      if (llvm::Value* fused = fuse(a, b)) return fused;
      if (llvm::Value* fused = fuse(b, a)) return fused;
      return b_.CreateFAdd(a, b);
    case NodeKind::Sub:
      return b_.CreateFSub(a, b);
    case NodeKind::Mul:
      return b_.CreateFMul(a, b);
    case NodeKind::Div:
      return b_.CreateFDiv(a, b);
    case NodeKind::Mod:
      return b_.CreateFRem(a, b);
    // As the instructions: the second operand when either is not a number.
    case NodeKind::Min:
      return b_.CreateSelect(b_.CreateFCmpOLT(a, b), a, b);
    case NodeKind::Max:
      return b_.CreateSelect(b_.CreateFCmpOGT(a, b), a, b);
    case NodeKind::FloorDiv:
      return b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, b_.CreateFDiv(a, b));
    case NodeKind::FloorMod: {
      llvm::Value* quotient = b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, b_.CreateFDiv(a, b));
      return b_.CreateFSub(a, b_.CreateFMul(quotient, b));
    }
    default:
      fail("not arithmetic on floats");
  }
}

namespace {

// The constant that all lanes of `v` are; null where there is none.
const llvm::ConstantInt* one_constant(llvm::Value* v) {
  auto* c = llvm::dyn_cast<llvm::Constant>(v);
  if (c != nullptr && c->getType()->isVectorTy()) c = c->getSplatValue();
  return llvm::dyn_cast_or_null<llvm::ConstantInt>(c);
}

}  // namespace

// A divisor of 1 takes the place of one that the instruction traps on. That gives the remainder 0
// in every such case, the quotient of the least number by -1, and in vectors costs no branch.
llvm::Value* FunctionEmitter::division(NodeKind kind, DType t, llvm::Value* a, llvm::Value* b,
                                       Operands known) {
  const bool quotient = kind == NodeKind::Div || kind == NodeKind::FloorDiv;
  llvm::Value* zero = llvm::Constant::getNullValue(a->getType());
  const bool overflows = t.is_int() && !known.nonnegative;
  if (const llvm::ConstantInt* c = one_constant(b)) {
    if (c->isZero()) return zero;
    if (t.is_int() && c->isMinusOne()) return quotient ? b_.CreateNeg(a) : zero;
    return plain_division(kind, t, a, b, known.nonnegative);
  }
  if (known.positive_divisor) return plain_division(kind, t, a, b, known.nonnegative);
  // Where sums overflowed, code generation may reason that a divisor is not zero which is.
  b = b_.CreateFreeze(b);
  llvm::Value* by_zero = b_.CreateICmpEQ(b, zero);
  llvm::Value* traps = by_zero;
  if (overflows) {
    a = b_.CreateFreeze(a);
    llvm::Value* least =
        llvm::ConstantInt::get(a->getType(), llvm::APInt::getSignedMinValue(t.bits));
    traps = b_.CreateOr(
        traps, b_.CreateAnd(b_.CreateICmpEQ(b, constant(t, -1)), b_.CreateICmpEQ(a, least)));
  }
  llvm::Value* divisor = b_.CreateSelect(traps, constant(t, 1), b);
  llvm::Value* result = plain_division(kind, t, a, divisor, known.nonnegative);
  return quotient ? b_.CreateSelect(by_zero, zero, result) : result;
}

llvm::Value* FunctionEmitter::plain_division(NodeKind kind, DType t, llvm::Value* a, llvm::Value* b,
                                             bool nonnegative) {
  // Unsigned division is the cheaper one.
  const bool unsigned_division = !t.is_int() || nonnegative;
  if (kind == NodeKind::Div) return unsigned_division ? b_.CreateUDiv(a, b) : b_.CreateSDiv(a, b);
  if (kind == NodeKind::Mod) return unsigned_division ? b_.CreateURem(a, b) : b_.CreateSRem(a, b);
  const bool quotient = kind == NodeKind::FloorDiv;
  const llvm::ConstantInt* c = one_constant(b);
  const bool power =
      c != nullptr && c->getValue().isPowerOf2() && (!t.is_int() || !c->isNegative());
  if (power) {  // shifts and masks round towards minus infinity
    const DType s = t;
    if (!quotient) return b_.CreateAnd(a, constant(s, c->getSExtValue() - 1));
    llvm::Value* shift = constant(s, c->getValue().logBase2());
    return t.is_int() ? b_.CreateAShr(a, shift) : b_.CreateLShr(a, shift);
  }
  if (unsigned_division) return quotient ? b_.CreateUDiv(a, b) : b_.CreateURem(a, b);
  llvm::Value* zero = llvm::Constant::getNullValue(a->getType());
  llvm::Value* remainder = b_.CreateSRem(a, b);
  llvm::Value* off = b_.CreateAnd(b_.CreateICmpNE(remainder, zero),
                                  b_.CreateICmpSLT(b_.CreateXor(remainder, b), zero));
  if (!quotient) return b_.CreateSelect(off, b_.CreateAdd(remainder, b), remainder);
  return b_.CreateAdd(b_.CreateSDiv(a, b), b_.CreateSExt(off, a->getType()));
}

namespace {

llvm::CmpInst::Predicate comparison(NodeKind kind, DType t) {
  using P = llvm::CmpInst;
  if (t.is_float()) {
    switch (kind) {
      case NodeKind::Equal:
        return P::FCMP_OEQ;
      case NodeKind::NotEqual:
        return P::FCMP_UNE;
      case NodeKind::Less:
        return P::FCMP_OLT;
      case NodeKind::LessEqual:
        return P::FCMP_OLE;
      case NodeKind::Greater:
        return P::FCMP_OGT;
      default:
        return P::FCMP_OGE;
    }
  }
  const bool s = t.is_int();
  switch (kind) {
    case NodeKind::Equal:
      return P::ICMP_EQ;
    case NodeKind::NotEqual:
      return P::ICMP_NE;
    case NodeKind::Less:
      return s ? P::ICMP_SLT : P::ICMP_ULT;
    case NodeKind::LessEqual:
      return s ? P::ICMP_SLE : P::ICMP_ULE;
    case NodeKind::Greater:
      return s ? P::ICMP_SGT : P::ICMP_UGT;
    default:
      return s ? P::ICMP_SGE : P::ICMP_UGE;
  }
}

}  // namespace

template <class T>
llvm::Value* FunctionEmitter::emit_comparison(const T& op) {
  const DType t = op.a.dtype();
  if (is_index_type(t)) {
    llvm::Value* a = index(op.a);
    return b_.CreateICmp(comparison(T::node_kind, t), a, index(op.b));
  }
  llvm::Value* a = emit(op.a);
  llvm::Value* b = emit(op.b);
  if (t.is_float()) {
    if (t.bits == 16) a = widen(a, t), b = widen(b, t);
    return b_.CreateFCmp(comparison(T::node_kind, t), a, b);
  }
  return b_.CreateICmp(comparison(T::node_kind, t), a, b);
}

llvm::Value* FunctionEmitter::emit_cast(const Cast& op) {
  return convert(emit(op.value), op.value.dtype(), op.type);
}

llvm::Value* FunctionEmitter::emit_ramp(const Ramp& op) {
  const DType t = op.base.dtype();
  llvm::Value* base = splat(emit(op.base), op.lanes);
  llvm::SmallVector<llvm::Constant*, 16> steps;
  for (int i = 0; i < op.lanes; ++i) {
    steps.push_back(llvm::cast<llvm::Constant>(constant(t, i)));
  }
  llvm::Value* lanes = llvm::ConstantVector::get(steps);
  const DType vector = t.with_lanes(op.lanes);
  if (!is_one(op.stride)) {
    lanes = arithmetic(NodeKind::Mul, vector, lanes, splat(emit(op.stride), op.lanes));
  }
  return arithmetic(NodeKind::Add, vector, base, lanes);
}

llvm::Value* FunctionEmitter::emit_shuffle(const Shuffle& op) {
  std::vector<std::pair<llvm::Value*, int>> lanes;  // where each lane of the concatenation is
  llvm::SmallVector<llvm::Value*, 4> vectors;
  for (const Expr& v : op.vectors) {
    vectors.push_back(emit(v));
    for (int i = 0; i < v.dtype().lanes; ++i) {
      lanes.emplace_back(vectors.back(), v.dtype().lanes == 1 ? -1 : i);
    }
  }
  const int count = static_cast<int>(op.indices.size());
  const bool one_shuffle = count > 1 && vectors.size() <= 2 &&
                           vectors[0]->getType()->isVectorTy() &&
                           vectors.front()->getType() == vectors.back()->getType();
  if (one_shuffle) {
    llvm::Value* v = b_.CreateShuffleVector(vectors.front(), vectors.back(), op.indices);
    // Of networks of shuffles each is an instruction as it stands (lower/transpose_loads.cc), and
    // code generation would look long for better ones across all of them.
    const bool in_place = vectors.size() == 2 && v->getType() == vectors[0]->getType();
    const bool fits = op.dtype.bits * op.dtype.lanes <= k_.target.vector_bits;
    const bool fenced = in_place && fits && op.dtype.is_float() && op.dtype.bits >= 32;
    return fenced ? b_.CreateArithmeticFence(v, v->getType()) : v;
  }
  const auto lane = [&](int i) -> llvm::Value* {
    const auto& [v, at] = lanes[static_cast<size_t>(i)];
    return at < 0 ? v : b_.CreateExtractElement(v, static_cast<uint64_t>(at));
  };
  if (count == 1) return lane(op.indices[0]);
  llvm::Value* result = llvm::PoisonValue::get(type(op.dtype));
  for (int i = 0; i < count; ++i) {
    result = b_.CreateInsertElement(result, lane(op.indices[static_cast<size_t>(i)]),
                                    static_cast<uint64_t>(i));
  }
  return result;
}

llvm::Value* FunctionEmitter::emit_let(const Let& op) {
  const DType t = op.value.dtype();
  Binding binding{.level = depth()};
  if (is_index_type(t)) {
    binding.linear = linear(op.value);
  } else {
    binding.value = emit(op.value);
    held_.insert(binding.value);
  }
  binding.nonnegative = is_nonnegative(op.value);
  binding.positive = is_positive(op.value);
  const Variable* var = op.var.operator->();
  bindings_[var] = std::move(binding);
  llvm::Value* body = emit(op.body);
  bindings_.erase(var);
  return body;
}

llvm::Value* FunctionEmitter::emit_if_then_else(const Call& op) {
  const Expr& condition = op.args[0];
  const Call* test = as<Call>(condition);
  const Call* stride = as<Call>(op.args[1]);
  if (test != nullptr && test->name == "tensor_has_strides" && stride != nullptr &&
      stride->name == "tensor_stride" && is_const(op.args[2])) {
    return stride_or(*stride, op.args[2]);
  }
  if (condition.dtype().lanes == 1) {
    llvm::Value* c = emit(condition);
    if (is_const(op.args[1]) && is_const(op.args[2])) {
      llvm::Value* a = emit(op.args[1]);
      return b_.CreateSelect(c, a, emit(op.args[2]));
    }
    return branch(c, false, [&] { return emit(op.args[1]); }, [&] { return emit(op.args[2]); });
  }
  // Lanes choose for themselves: each side is evaluated with memory masked by who wants it.
  llvm::Value* c = emit(condition);
  llvm::Value* outer = mask_;
  mask_ = outer != nullptr ? b_.CreateAnd(outer, c) : c;
  llvm::Value* a = emit(op.args[1]);
  llvm::Value* negated = b_.CreateNot(c);
  mask_ = outer != nullptr ? b_.CreateAnd(outer, negated) : negated;
  llvm::Value* b = emit(op.args[2]);
  mask_ = outer;
  return b_.CreateSelect(c, a, b);
}

}  // namespace tw::codegen
