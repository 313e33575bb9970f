// SPDX-License-Identifier: Apache-2.0
// Calls: mathematics, bits, C functions; and conversions between types.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/Support/ModRef.h>

#include <cmath>
#include <string_view>

#include "ir/expr.h"
#include "ir/intrinsics.h"
#include "lower/llvm/emit.h"
#include "lower/llvm/machine.h"
#include "lower/llvm/vector_math.h"
#include "runtime/error.h"

namespace tw::codegen {
namespace {

// Pure functions of floats that LLVM has as intrinsics of any vector length.
struct NamedIntrinsic {
  std::string_view name;
  llvm::Intrinsic::ID id;
};
constexpr NamedIntrinsic kFloatIntrinsics[] = {
    {"exp", llvm::Intrinsic::exp},
    {"exp2", llvm::Intrinsic::exp2},
    {"log", llvm::Intrinsic::log},
    {"log2", llvm::Intrinsic::log2},
    {"log10", llvm::Intrinsic::log10},
    {"sin", llvm::Intrinsic::sin},
    {"cos", llvm::Intrinsic::cos},
    {"sqrt", llvm::Intrinsic::sqrt},
    {"pow", llvm::Intrinsic::pow},
    {"fabs", llvm::Intrinsic::fabs},
    {"floor", llvm::Intrinsic::floor},
    {"ceil", llvm::Intrinsic::ceil},
    {"trunc", llvm::Intrinsic::trunc},
    {"round", llvm::Intrinsic::round},
    {"nearbyint", llvm::Intrinsic::nearbyint},
    {"fma", llvm::Intrinsic::fma},
};
// Those of the C library, called lane by lane where no vector function is known.
constexpr std::string_view kLibraryFunctions[] = {"tan",  "sinh", "cosh",  "tanh", "asin",
                                                  "acos", "atan", "atan2", "erf",  "fmod"};

}  // namespace

llvm::Value* FunctionEmitter::widen(llvm::Value* v, DType from) {
  if (from.bits != 16) return v;
  return convert(v, from, float_type(32, from.lanes));
}

// Rounds to nearest even once, subnormals kept, on every processor alike. A float64 goes through a
// float32 that was rounded to odd, so that the second rounding sees what the first dropped.
llvm::Value* FunctionEmitter::narrow(llvm::Value* v, DType to) {
  const DType wide = float_type(32, to.lanes);
  const DType bits32 = uint_type(32, to.lanes);
  if (v->getType()->getScalarType()->isDoubleTy()) {
    llvm::Value* nearest = b_.CreateFPTrunc(v, type(wide));
    llvm::Value* back = b_.CreateFPExt(nearest, v->getType());
    llvm::Value* inexact = b_.CreateFCmpONE(back, v);
    llvm::Value* bits = b_.CreateBitCast(nearest, type(bits32));
    llvm::Value* even =
        b_.CreateICmpEQ(b_.CreateAnd(bits, constant(bits32, 1)), constant(bits32, 0));
    llvm::Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v);
    llvm::Value* above =
        b_.CreateFCmpOGT(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back), magnitude);
    llvm::Value* step = b_.CreateSelect(above, constant(bits32, -1), constant(bits32, 1));
    llvm::Value* odd = b_.CreateAdd(bits, step);
    bits = b_.CreateSelect(b_.CreateAnd(inexact, even), odd, bits);
    v = b_.CreateBitCast(bits, type(wide));
  }
  if (to.code == TypeCode::Float) {
    return k_.target.has_f16c ? b_.CreateFPTrunc(v, type(to)) : narrow_half(v, to.lanes);
  }
  llvm::Value* bits = b_.CreateBitCast(v, type(bits32));
  llvm::Value* lowest =
      b_.CreateAnd(b_.CreateLShr(bits, constant(bits32, 16)), constant(bits32, 1));
  llvm::Value* rounded = b_.CreateAdd(bits, b_.CreateAdd(lowest, constant(bits32, 0x7fff)));
  llvm::Value* quiet = b_.CreateOr(bits, constant(bits32, 0x00400000));
  llvm::Value* kept = b_.CreateSelect(b_.CreateFCmpUNO(v, v), quiet, rounded);
  llvm::Value* top =
      b_.CreateTrunc(b_.CreateLShr(kept, constant(bits32, 16)), type(uint_type(16, to.lanes)));
  return b_.CreateBitCast(top, type(to));
}

llvm::Value* FunctionEmitter::convert(llvm::Value* v, DType from, DType to) {
  if (from == to) return v;
  llvm::Type* t = type(to);
  if (to.is_bool()) {
    llvm::Value* zero = llvm::Constant::getNullValue(v->getType());
    if (from.is_float()) {
      return b_.CreateFCmpUNE(widen(v, from),
                              llvm::Constant::getNullValue(widen(v, from)->getType()));
    }
    return b_.CreateICmpNE(v, zero);
  }
  if (from.is_handle() || to.is_handle()) {
    if (from.is_handle() && to.is_handle()) return v;
    return from.is_handle() ? b_.CreatePtrToInt(v, t) : b_.CreateIntToPtr(v, t);
  }
  const bool from_unsigned = from.is_uint() || from.is_bool();
  if (from.is_float() && to.is_float()) {
    if (from.code == TypeCode::BFloat) {  // the upper half of a float32
      const DType bits32 = uint_type(32, from.lanes);
      llvm::Value* bits = b_.CreateBitCast(v, type(uint_type(16, from.lanes)));
      bits = b_.CreateShl(b_.CreateZExt(bits, type(bits32)), constant(bits32, 16));
      return convert(b_.CreateBitCast(bits, type(float_type(32, from.lanes))),
                     float_type(32, from.lanes), to);
    }
    if (to.bits == 16 && from.bits == 16) return narrow(widen(v, from), to);
    if (to.bits == 16) return narrow(v, to);
    if (from.bits == 16 && !k_.target.has_f16c) {
      const DType wide = float_type(32, from.lanes);
      return convert(widen_half(v, from.lanes), wide, to);
    }
    return from.bits < to.bits ? b_.CreateFPExt(v, t) : b_.CreateFPTrunc(v, t);
  }
  if (from.is_float()) {
    v = widen(v, from);
    // Narrow and unsigned types take the low bits of a wider signed integer, as the IR defines.
    if (to.is_uint() && to.bits == 64) return b_.CreateFPToUI(v, t);
    const int bits = to.is_int() && to.bits >= 32 ? to.bits : to.bits < 32 ? 32 : 64;
    return b_.CreateTrunc(b_.CreateFPToSI(v, type(int_type(bits, to.lanes))), t);
  }
  if (to.is_float()) {
    if (to.bits == 16) {
      const DType wide = float_type(64, to.lanes);
      return narrow(convert(v, from, wide), to);
    }
    return from_unsigned ? b_.CreateUIToFP(v, t) : b_.CreateSIToFP(v, t);
  }
  return from_unsigned ? b_.CreateZExtOrTrunc(v, t) : b_.CreateSExtOrTrunc(v, t);
}

// Clamps, then converts: LLVM's own saturating conversions take vectors apart. Integers narrow
// through the processor's saturating packs.
llvm::Value* FunctionEmitter::saturate(llvm::Value* v, DType from, DType to) {
  if (!to.is_integer() || from.is_bool()) return convert(v, from, to);
  using I = llvm::Intrinsic::ID;
  // The greatest value is 2ⁿ - 1.
  const int magnitude_bits = to.is_int() ? to.bits - 1 : to.bits;
  const llvm::APInt least =
      to.is_int() ? llvm::APInt::getSignedMinValue(to.bits) : llvm::APInt::getMinValue(to.bits);
  const llvm::APInt greatest =
      to.is_int() ? llvm::APInt::getSignedMaxValue(to.bits) : llvm::APInt::getMaxValue(to.bits);
  if (!from.is_float()) {
    llvm::Type* t = v->getType();
    const auto limit = [&](I id, const llvm::APInt& end) {
      v = b_.CreateBinaryIntrinsic(id, v, llvm::ConstantInt::get(t, end));
    };
    if (from.is_int() && to.is_uint()) limit(llvm::Intrinsic::smax, llvm::APInt(from.bits, 0));
    const int source_bits = from.is_int() ? from.bits - 1 : from.bits;
    if (magnitude_bits < source_bits) {
      if (from.is_int() && to.is_int()) limit(llvm::Intrinsic::smax, least.sext(from.bits));
      limit(from.is_int() ? llvm::Intrinsic::smin : llvm::Intrinsic::umin,
            greatest.zextOrTrunc(from.bits));
    }
    return convert(v, from.is_int() && to.is_uint() ? uint_type(from.bits, from.lanes) : from, to);
  }
  v = widen(v, from);
  llvm::Type* t = v->getType();
  const auto real = [&](double x) { return llvm::ConstantFP::get(t, x); };
  const double low = to.is_int() ? -std::ldexp(1.0, magnitude_bits) : 0.0;
  const double above = std::ldexp(1.0, magnitude_bits);
  // The lesser of two comes second, which is what the instruction gives where v is no number.
  llvm::Value* inside = b_.CreateSelect(b_.CreateFCmpOGT(v, real(low)), v, real(low));
  const bool exact = magnitude_bits <= t->getScalarType()->getFPMantissaWidth();
  if (exact) {
    inside = b_.CreateSelect(b_.CreateFCmpOLT(inside, real(above - 1)), inside, real(above - 1));
  }
  const DType wide = to.bits < 32 ? int_type(32, to.lanes) : to;
  llvm::Value* result =
      wide.is_int() ? b_.CreateFPToSI(inside, type(wide)) : b_.CreateFPToUI(inside, type(wide));
  llvm::Type* integer = result->getType();
  if (!exact) {
    result = b_.CreateSelect(b_.CreateFCmpOGE(v, real(above)),
                             llvm::ConstantInt::get(integer, greatest), result);
  }
  if (to.is_int()) {
    result = b_.CreateSelect(b_.CreateFCmpORD(v, v), result, llvm::Constant::getNullValue(integer));
  }
  return b_.CreateTrunc(result, type(to));
}

llvm::Value* FunctionEmitter::call_lanewise(llvm::StringRef name,
                                            llvm::ArrayRef<llvm::Value*> args) {
  llvm::Type* scalar = args[0]->getType()->getScalarType();
  llvm::SmallVector<llvm::Type*, 2> types(args.size(), scalar);
  llvm::FunctionCallee callee =
      k_.module.getOrInsertFunction(name, llvm::FunctionType::get(scalar, types, false));
  auto* f = llvm::cast<llvm::Function>(callee.getCallee());
  f->setMemoryEffects(llvm::MemoryEffects::none());
  f->setDoesNotThrow();
  f->addFnAttr(llvm::Attribute::WillReturn);
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(args[0]->getType());
  if (vector == nullptr) return b_.CreateCall(callee, args);
  llvm::Value* result = llvm::PoisonValue::get(vector);
  for (unsigned i = 0; i < vector->getNumElements(); ++i) {
    llvm::SmallVector<llvm::Value*, 2> lane;
    for (llvm::Value* a : args) lane.push_back(b_.CreateExtractElement(a, uint64_t{i}));
    result = b_.CreateInsertElement(result, b_.CreateCall(callee, lane), uint64_t{i});
  }
  return result;
}

// Null where there is no such function.
llvm::Value* FunctionEmitter::call_vector(std::string_view name,
                                          llvm::ArrayRef<llvm::Value*> args) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(args[0]->getType());
  if (type == nullptr) return nullptr;
  llvm::Type* element = type->getElementType();
  const auto lanes = static_cast<int>(type->getNumElements());
  const VectorFunction function = find_vector_function(
      name, static_cast<int>(element->getPrimitiveSizeInBits()), lanes, k_.target);
  if (function.symbol.empty()) return nullptr;
  const int width = function.lanes;
  auto* part_type = llvm::FixedVectorType::get(element, static_cast<unsigned>(width));
  const llvm::SmallVector<llvm::Type*, 2> types(args.size(), part_type);
  llvm::FunctionCallee callee = k_.module.getOrInsertFunction(
      function.symbol, llvm::FunctionType::get(part_type, types, false));
  auto* f = llvm::cast<llvm::Function>(callee.getCallee());
  f->setMemoryEffects(llvm::MemoryEffects::none());
  f->setDoesNotThrow();
  f->addFnAttr(llvm::Attribute::WillReturn);
  add_target_attributes(*f, k_.target);
  return in_parts(width, args, [&](llvm::ArrayRef<llvm::Value*> part) -> llvm::Value* {
    return b_.CreateCall(callee, part);
  });
}

// Vectors that are wider are cut, narrower ones filled up with their first lane, which can be no
// more special than it is already.
llvm::Value* FunctionEmitter::in_parts(
    int width, llvm::ArrayRef<llvm::Value*> args,
    llvm::function_ref<llvm::Value*(llvm::ArrayRef<llvm::Value*>)> part_of) {
  const auto lanes =
      static_cast<int>(llvm::cast<llvm::FixedVectorType>(args[0]->getType())->getNumElements());
  if (lanes == width) return part_of(args);
  // Lanes begin … begin + count of `v`, the rest lane `otherwise`.
  const auto lanes_of = [&](llvm::Value* v, int begin, int end, int count, int otherwise) {
    llvm::SmallVector<int, 32> mask;
    for (int i = begin; i < begin + count; ++i) mask.push_back(i < end ? i : otherwise);
    return b_.CreateShuffleVector(v, mask);
  };
  llvm::Value* result = nullptr;
  for (int begin = 0; begin < lanes; begin += width) {
    llvm::SmallVector<llvm::Value*, 2> part;
    for (llvm::Value* a : args) part.push_back(lanes_of(a, begin, lanes, width, begin));
    // As wide as the whole, so that the parts can be put together.
    llvm::Value* value =
        lanes_of(part_of(part), 0, std::min(width, lanes), lanes, llvm::PoisonMaskElem);
    if (result == nullptr) {
      result = value;
      continue;
    }
    llvm::SmallVector<int, 32> both;
    for (int i = 0; i < lanes; ++i)
      both.push_back(i < begin ? i : i < begin + width ? lanes + i - begin : llvm::PoisonMaskElem);
    result = b_.CreateShuffleVector(result, value, both);
  }
  return result;
}

// x · 2^exponent
llvm::Value* FunctionEmitter::scale(llvm::Value* x, llvm::Value* exponent, DType type) {
  if (type.bits != 32 || !k_.target.has_ldexp) {
    const DType integer = int_type(32, type.lanes);
    llvm::Value* n = saturate(exponent, type, integer);
    // Code generation does not take vectors of these apart.
    const auto scaled = [&](llvm::Value* lane, llvm::Value* by) {
      return b_.CreateIntrinsic(llvm::Intrinsic::ldexp, {lane->getType(), by->getType()},
                                {lane, by});
    };
    if (type.lanes == 1) return scaled(x, n);
    llvm::Value* result = llvm::PoisonValue::get(x->getType());
    for (uint64_t i = 0; i < static_cast<uint64_t>(type.lanes); ++i) {
      llvm::Value* lane = scaled(b_.CreateExtractElement(x, i), b_.CreateExtractElement(n, i));
      result = b_.CreateInsertElement(result, lane, i);
    }
    return result;
  }
  const auto as_vector = [&](llvm::Value* v) -> llvm::Value* {
    if (v->getType()->isVectorTy()) return v;
    auto* single = llvm::FixedVectorType::get(v->getType(), 1);
    return b_.CreateInsertElement(llvm::PoisonValue::get(single), v, uint64_t{0});
  };
  struct Width {
    int lanes;
    llvm::Intrinsic::ID id;
  };
  constexpr Width kWidths[] = {{4, llvm::Intrinsic::x86_avx512_mask_scalef_ps_128},
                               {8, llvm::Intrinsic::x86_avx512_mask_scalef_ps_256},
                               {16, llvm::Intrinsic::x86_avx512_mask_scalef_ps_512}};
  size_t w = 0;
  while (w < 2 && kWidths[w].lanes < type.lanes) ++w;
  llvm::Value* result =
      in_parts(kWidths[w].lanes, {as_vector(x), as_vector(exponent)},
               [&](llvm::ArrayRef<llvm::Value*> part) -> llvm::Value* {
                 constexpr unsigned kCurrentRounding = 4;
                 llvm::SmallVector<llvm::Value*, 5> args(part);
                 args.push_back(llvm::PoisonValue::get(part[0]->getType()));
                 args.push_back(llvm::Constant::getAllOnesValue(b_.getIntNTy(w == 2 ? 16 : 8)));
                 if (w == 2) args.push_back(b_.getInt32(kCurrentRounding));
                 return b_.CreateIntrinsic(kWidths[w].id, {}, args);
               });
  return type.lanes > 1 ? result : b_.CreateExtractElement(result, uint64_t{0});
}

llvm::Value* FunctionEmitter::emit_call(const Call& op) {
  if (op.call_kind == CallKind::Extern || op.call_kind == CallKind::PureExtern) {
    return emit_extern(op);
  }
  const std::string& name = op.name;
  if (name == "likely") return emit(op.args[0]);
  if (name == "launch") return emit_launch(op);
  if (name == "if_then_else") return emit_if_then_else(op);
  if (name == "prefetch") return emit_prefetch(op);
  if (name.starts_with("amx_")) return emit_tile_operation(op);
  if (name == "address_of") return address_of(*as<Load>(op.args[0]));
  if (name == "num_threads") return b_.CreateCall(k_.runtime_function("tw_num_threads"));
  if (name == "address_bits") return b_.CreatePtrToInt(emit(op.args[0]), type(op.type));
  if (name == "reinterpret") {
    llvm::Value* v = emit(op.args[0]);
    if (op.args[0].dtype().is_handle() || op.type.is_handle()) {
      return convert(v, op.args[0].dtype(), op.type);
    }
    return b_.CreateBitCast(v, type(op.type));
  }
  if (name == "saturating_cast") return saturate(emit(op.args[0]), op.args[0].dtype(), op.type);
  if (llvm::Value* v = argument_intrinsic(op)) return v;
  if (find_intrinsic(name) == nullptr) {
    raise({.code = ErrorCode::UnknownIntrinsic,
           .what = "unknown intrinsic '" + name + "'",
           .where = "code generation of '" + k_.kernel_name + "'",
           .legal = "the names in ir/intrinsics.def"});
  }
  return emit_math(op);
}

llvm::Value* FunctionEmitter::emit_math(const Call& op) {
  const std::string& name = op.name;
  DType t = op.args[0].dtype();
  llvm::SmallVector<llvm::Value*, 3> args;
  for (const Expr& a : op.args) args.push_back(emit(a));

  if (t.is_integer() || t.is_bool()) {
    if (name == "bitwise_and") return b_.CreateAnd(args[0], args[1]);
    if (name == "bitwise_or") return b_.CreateOr(args[0], args[1]);
    if (name == "bitwise_xor") return b_.CreateXor(args[0], args[1]);
    if (name == "bitwise_not") return b_.CreateNot(args[0]);
    if (name == "shift_left") return b_.CreateShl(args[0], args[1]);
    if (name == "shift_right") {
      return t.is_int() ? b_.CreateAShr(args[0], args[1]) : b_.CreateLShr(args[0], args[1]);
    }
    if (name == "popcount") {
      return convert(b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, args[0]),
                     uint_type(t.bits, t.lanes), op.type);
    }
    if (name == "fabs") {
      if (!t.is_int()) return args[0];
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, args[0], b_.getInt1(false));
    }
    if (name == "floor" || name == "ceil" || name == "trunc" || name == "round" ||
        name == "nearbyint") {
      return args[0];
    }
    fail("intrinsic '" + name + "' is not for " + to_string(t));
  }

  const bool half = t.bits == 16;
  if (half) {
    for (llvm::Value*& a : args) a = widen(a, t);
  }
  const DType wide = half ? float_type(32, t.lanes) : t;
  const auto rounded = [&](llvm::Value* v) { return half ? narrow(v, t) : v; };
  if (name == "isnan") return b_.CreateFCmpUNO(args[0], args[0]);
  if (name == "isinf") {
    llvm::Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, args[0]);
    return b_.CreateFCmpOEQ(magnitude, llvm::ConstantFP::getInfinity(type(wide)));
  }
  if (name == "ldexp") return rounded(scale(args[0], args[1], wide));
  if (llvm::Value* v = call_vector(name, args)) return rounded(v);
  for (const NamedIntrinsic& row : kFloatIntrinsics) {
    if (row.name != name) continue;
    return rounded(b_.CreateIntrinsic(row.id, {type(wide)}, args));
  }
  for (std::string_view function : kLibraryFunctions) {
    if (function != name) continue;
    return rounded(call_lanewise(wide.bits == 32 ? name + "f" : name, args));
  }
  fail("intrinsic '" + name + "' is not for " + to_string(t));
}

llvm::Value* FunctionEmitter::emit_extern(const Call& op) {
  llvm::SmallVector<llvm::Value*, 4> args;
  llvm::SmallVector<llvm::Type*, 4> types;
  const bool is_llvm = op.name.starts_with("llvm.");
  for (const Expr& a : op.args) {
    if (a.dtype().is_vector() && !is_llvm) fail("C function '" + op.name + "' is given a vector");
    args.push_back(emit(a));
    types.push_back(args.back()->getType());
  }
  if (is_llvm) return emit_llvm_intrinsic(op, args);
  if (op.type.is_vector()) fail("C function '" + op.name + "' gives a vector");
  llvm::FunctionCallee callee =
      k_.module.getOrInsertFunction(op.name, llvm::FunctionType::get(type(op.type), types, false));
  auto* f = llvm::dyn_cast<llvm::Function>(callee.getCallee());
  if (f == nullptr || f->getFunctionType() != callee.getFunctionType()) {
    fail("C function '" + op.name + "' is called with different types");
  }
  f->setDoesNotThrow();
  if (op.call_kind == CallKind::PureExtern) {
    f->setMemoryEffects(llvm::MemoryEffects::none());
    f->addFnAttr(llvm::Attribute::WillReturn);
  }
  return b_.CreateCall(callee, args);
}

llvm::Value* FunctionEmitter::emit_prefetch(const Call& op) {
  const Load* load = as<Load>(op.args[0]);
  llvm::Value* pointer = load != nullptr ? address_of(*load) : emit(op.args[0]);
  const auto number = [&](size_t i) {
    return b_.getInt32(static_cast<uint32_t>(as_const_int(op.args[i]).value_or(0)));
  };
  llvm::CallInst* call = b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer->getType()},
                                            {pointer, number(1), number(2), number(3)});
  // A hint reads no memory that anybody sees: sums stay in registers across it.
  call->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
  return call;
}

}  // namespace tw::codegen
