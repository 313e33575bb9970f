// SPDX-License-Identifier: Apache-2.0
// float16 and float32 into each other in integer instructions, for processors without F16C: LLVM
// would call a compiler's own library, which exported kernels do without. As runtime/half.h.
#include "lower/llvm/emit.h"

namespace tw::codegen {
namespace {

constexpr int kShift = 13;                // a float32 has that many more bits of significand
constexpr int64_t kRebias = 112LL << 23;  // what the exponents' biases differ by
constexpr int64_t kInfinity = 0x7f800000;
constexpr int64_t kQuiet = 0x00400000;

}  // namespace

llvm::Value* FunctionEmitter::widen_half(llvm::Value* v, int lanes) {
  const DType bits = uint_type(32, lanes), wide = float_type(32, lanes);
  const auto number = [&](int64_t n) { return constant(bits, n); };
  llvm::Value* h = b_.CreateBitCast(v, type(uint_type(16, lanes)));
  h = b_.CreateZExt(h, type(bits));
  llvm::Value* sign = b_.CreateShl(b_.CreateAnd(h, number(0x8000)), number(16));
  llvm::Value* magnitude = b_.CreateAnd(h, number(0x7fff));
  llvm::Value* shifted = b_.CreateShl(magnitude, number(kShift));
  llvm::Value* normal = b_.CreateAdd(shifted, number(kRebias));
  // Infinities and NaN: the greatest exponent here is the greatest there, and NaN becomes quiet.
  llvm::Value* beyond = b_.CreateOr(shifted, number(kInfinity));
  beyond = b_.CreateSelect(b_.CreateICmpUGT(magnitude, number(0x7c00)),
                           b_.CreateOr(beyond, number(kQuiet)), beyond);
  // Zero and subnormals: an integer times 2⁻²⁴, exact.
  llvm::Value* tiny = b_.CreateFMul(b_.CreateSIToFP(magnitude, type(wide)),
                                    llvm::ConstantFP::get(type(wide), 0x1p-24));
  llvm::Value* result =
      b_.CreateSelect(b_.CreateICmpUGE(magnitude, number(0x7c00)), beyond, normal);
  result = b_.CreateSelect(b_.CreateICmpULT(magnitude, number(0x0400)),
                           b_.CreateBitCast(tiny, type(bits)), result);
  return b_.CreateBitCast(b_.CreateOr(result, sign), type(wide));
}

llvm::Value* FunctionEmitter::narrow_half(llvm::Value* v, int lanes) {
  const DType bits = uint_type(32, lanes), wide = float_type(32, lanes);
  const auto number = [&](int64_t n) { return constant(bits, n); };
  llvm::Value* x = b_.CreateBitCast(v, type(bits));
  llvm::Value* sign = b_.CreateAnd(b_.CreateLShr(x, number(16)), number(0x8000));
  llvm::Value* magnitude = b_.CreateAnd(x, number(0x7fffffff));
  // To nearest even: half a unit less one, and one more where what stays is odd. A carry climbs
  // into the exponent; what climbs beyond the greatest is infinity.
  llvm::Value* odd = b_.CreateAnd(b_.CreateLShr(magnitude, number(kShift)), number(1));
  llvm::Value* normal = b_.CreateSub(magnitude, number(kRebias - 0xfff));
  normal = b_.CreateLShr(b_.CreateAdd(normal, odd), number(kShift));
  normal = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, normal, number(0x7c00));
  // Below 2⁻¹⁴ the result counts units of 2⁻²⁴, which is what the last bit of 0.5 + |x| is worth.
  const llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
  b_.clearFastMathFlags();
  llvm::Value* sum = b_.CreateFAdd(b_.CreateBitCast(magnitude, type(wide)),
                                   llvm::ConstantFP::get(type(wide), 0.5));
  llvm::Value* tiny = b_.CreateSub(b_.CreateBitCast(sum, type(bits)), number(0x3f000000));
  llvm::Value* nan = b_.CreateOr(
      b_.CreateAnd(b_.CreateLShr(magnitude, number(kShift)), number(0x03ff)), number(0x7e00));
  llvm::Value* result =
      b_.CreateSelect(b_.CreateICmpULT(magnitude, number(0x38800000)), tiny, normal);
  result = b_.CreateSelect(b_.CreateICmpUGT(magnitude, number(kInfinity)), nan, result);
  result = b_.CreateTrunc(b_.CreateOr(result, sign), type(uint_type(16, lanes)));
  return b_.CreateBitCast(result, type(float_type(16, lanes)));
}

}  // namespace tw::codegen
