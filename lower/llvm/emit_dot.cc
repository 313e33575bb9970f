// SPDX-License-Identifier: Apache-2.0
// Dot products of small groups: what a processor has instructions for that LLVM does not find.
//
//   for (k, 0, 4) {                                  each lane of C takes four products at once:
//     C[ramp(c, 1, 16)] =                              c = load C
//       (C[ramp(c, 1, 16)] +                           a = four bytes of A, in every lane
//        (x16(int32(A[(a + k)]))*                      b = load 64 bytes of B
//         int32x16(B[ramp((b + k), 4, 16)])))          C = vpdpbusd(c, a, b)
//   }
//
// Groups of four 8-bit integers into int32 (AVX512-VNNI, AVX-VNNI), and of two bfloat16 into
// float32 (AVX512-BF16). Integers are exact. The instruction takes bytes without a sign times bytes
// with one; of two that have one, 128 is added to the first and the sum of 128 times the second
// taken off again, here at each step; lower/unsign_dot_products.cc does so after the loop. bfloat16
// is added in another order and its subnormals count as zero, so it is for kernels that may
// contract.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "ir/expr.h"
#include "lower/dot_product.h"
#include "lower/llvm/emit.h"

namespace tw::codegen {
namespace {

llvm::Intrinsic::ID int8_intrinsic(int bits) {
  return bits == 512   ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
         : bits == 256 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                       : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
}
llvm::Intrinsic::ID bf16_intrinsic(int bits) {
  return bits == 512   ? llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512
         : bits == 256 ? llvm::Intrinsic::x86_avx512bf16_dpbf16ps_256
                       : llvm::Intrinsic::x86_avx512bf16_dpbf16ps_128;
}

// 128 in each byte, as a value that LLVM does not see through. It would flip bytes before it puts
// them in all lanes: three instructions for what one does that reads memory.
llvm::Value* bytes_of_128(llvm::IRBuilderBase& b, int lanes) {
  llvm::Type* t = llvm::FixedVectorType::get(b.getInt32Ty(), static_cast<unsigned>(lanes));
  auto* same = llvm::InlineAsm::get(llvm::FunctionType::get(t, {t}, false), "", "=v,0", false);
  llvm::CallInst* value = b.CreateCall(same, {llvm::ConstantInt::get(t, 0x80808080U)});
  value->setDoesNotAccessMemory();
  value->setDoesNotThrow();
  value->addFnAttr(llvm::Attribute::WillReturn);
  return value;
}

}  // namespace

// The first `terms` bytes of each 32-bit element of `t`, zeros for the others, whose memory nobody
// touches.
llvm::Value* FunctionEmitter::load_bytes(const Address& at, llvm::Type* t, int terms,
                                         const Variable* buffer) {
  llvm::Type* byte = b_.getInt8Ty();
  if (!t->isVectorTy()) {
    llvm::Value* all = llvm::ConstantInt::get(t, 0);
    for (int i = 0; i < terms; ++i) {
      llvm::Value* pointer =
          b_.CreateConstInBoundsGEP1_64(byte, at.pointer, static_cast<uint64_t>(i));
      llvm::LoadInst* one = b_.CreateAlignedLoad(byte, pointer, llvm::Align(1));
      annotate(one, buffer);
      all = b_.CreateOr(all, b_.CreateShl(b_.CreateZExt(one, t), static_cast<uint64_t>(8 * i)));
    }
    return all;
  }
  const unsigned count = 4 * llvm::cast<llvm::FixedVectorType>(t)->getNumElements();
  llvm::SmallVector<llvm::Constant*, 64> mask;
  for (unsigned i = 0; i < count; ++i)
    mask.push_back(b_.getInt1(i % 4 < static_cast<unsigned>(terms)));
  auto* bytes = llvm::FixedVectorType::get(byte, count);
  llvm::CallInst* value =
      b_.CreateMaskedLoad(bytes, at.pointer, at.alignment, llvm::ConstantVector::get(mask),
                          llvm::Constant::getNullValue(bytes));
  annotate(value, buffer);
  return b_.CreateBitCast(value, t);
}

bool FunctionEmitter::emit_dot_product(const For& op) {
  if (mask_ != nullptr || nontemporal_) return false;
  const auto found = match_dot_product(op, k_.target);
  if (!found || (!found->integers && !k_.options.contract)) return false;
  const bool integers = found->integers;
  const int lanes = found->lanes, widest = k_.target.vector_bits / 32;
  DotFactor first = found->first, second = found->second;
  // The factor without a sign comes first; a scalar in its place is cheaper to change.
  if (integers && first.is_signed() && (!second.is_signed() || second.broadcast)) {
    std::swap(first, second);
  }

  const Variable* var = op.var.operator->();
  const Linear begin = linear(op.min);
  bindings_[var] = Binding{.linear = begin,
                           .level = begin.terms.empty() ? 0 : begin.terms.back().level,
                           .nonnegative = is_nonnegative(op.min)};
  llvm::Type* i32 = b_.getInt32Ty();
  const auto load = [&](const DotFactor& f) -> llvm::Value* {
    if (f.load == nullptr) return b_.getInt32(static_cast<uint32_t>(f.constant) * 0x01010101U);
    const Variable* buffer = f.load->buffer.operator->();
    const Address at = address(buffer, f.load->type.element(), linear(f.base));
    llvm::Type* t =
        f.broadcast ? i32 : llvm::FixedVectorType::get(i32, static_cast<unsigned>(lanes));
    if (integers && found->terms < 4) return load_bytes(at, t, found->terms, buffer);
    llvm::LoadInst* value = b_.CreateAlignedLoad(t, at.pointer, at.alignment);
    annotate(value, buffer);
    return value;
  };
  llvm::Value* x = first.constant == 128 ? nullptr : load(first);
  llvm::Value* y = load(second);
  const bool shifted = integers && first.is_signed();
  llvm::Value* sum = emit(Expr(found->sum));

  // The lanes of one instruction, whose number `width` is.
  const int width = std::min(lanes, widest);
  const auto part = [&](llvm::Value* v, int begin) -> llvm::Value* {
    if (!v->getType()->isVectorTy()) return splat(v, width);
    if (width == lanes) return v;
    llvm::SmallVector<int, 16> mask;
    for (int i = 0; i < width; ++i) mask.push_back(begin + i);
    return b_.CreateShuffleVector(v, mask);
  };
  const auto first_part = [&](int begin) {
    if (x == nullptr) return bytes_of_128(b_, width);
    llvm::Value* v = part(x, begin);
    return shifted || first.flipped ? b_.CreateXor(v, bytes_of_128(b_, width)) : v;
  };
  const auto dot = [&](llvm::Value* c, llvm::Value* a, llvm::Value* b) -> llvm::Value* {
    if (integers) return b_.CreateIntrinsic(int8_intrinsic(width * 32), {}, {c, a, b});
    auto* pairs = llvm::FixedVectorType::get(b_.getBFloatTy(), static_cast<unsigned>(2 * width));
    return b_.CreateIntrinsic(bf16_intrinsic(width * 32), {},
                              {c, b_.CreateBitCast(a, pairs), b_.CreateBitCast(b, pairs)});
  };
  llvm::SmallVector<llvm::Value*, 4> results;
  for (int begin = 0; begin < lanes; begin += width) {
    llvm::Value* b = part(y, begin);
    llvm::Value* result = dot(part(sum, begin), first_part(begin), b);
    if (shifted) {
      llvm::Value* zero = llvm::Constant::getNullValue(result->getType());
      llvm::Value* offset = llvm::ConstantInt::get(result->getType(), 0x80808080U);
      result = b_.CreateSub(result, dot(zero, offset, b));
    }
    results.push_back(result);
  }
  llvm::Value* whole = results[0];
  for (size_t k = 1; k < results.size(); ++k) {
    const int done = static_cast<int>(k) * width;
    llvm::SmallVector<int, 64> wide, joined;
    for (int i = 0; i < lanes; ++i) {
      wide.push_back(i < width ? i : llvm::PoisonMaskElem);
      joined.push_back(i < done ? i : i < done + width ? lanes + i - done : llvm::PoisonMaskElem);
    }
    if (k == 1) whole = b_.CreateShuffleVector(whole, wide);
    whole = b_.CreateShuffleVector(whole, b_.CreateShuffleVector(results[k], wide), joined);
  }
  store_lanes(*found->store, whole, nullptr);
  bindings_.erase(var);
  return true;
}

}  // namespace tw::codegen
