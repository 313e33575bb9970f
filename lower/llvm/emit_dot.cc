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
// Groups of four 8-bit integers into int32 (AVX512-VNNI), and of two bfloat16 into
// float32 (AVX512-BF16). Integers are exact. The instruction takes bytes without a sign times bytes
// with one; of two that have one, 128 is added to the first and the sum of 128 times the second
// taken off again, which is the same for all rows of a tile. bfloat16 is added in another order and
// its subnormals count as zero, so it is for kernels that may contract.
#include <llvm/IR/IntrinsicsX86.h>

#include <optional>

#include "ir/arithmetic/analyzer.h"
#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/substitute.h"
#include "lower/llvm/emit.h"

namespace tw::codegen {
namespace {

// One factor of the products: a scalar in all lanes, or lanes side by side.
struct Factor {
  const Load* load = nullptr;
  Expr base;  // where the group of the first lane begins, a function of the loop variable
  bool broadcast = false;
};

// `e` without the conversion to `wide`, and whether it is a scalar in all lanes.
std::optional<Factor> factor_of(const Expr& e, DType wide, int64_t group) {
  Expr inner = e;
  bool broadcast = false;
  const auto strip = [&] {
    if (const Broadcast* b = as<Broadcast>(inner)) {
      broadcast = true;
      inner = b->value;
    } else if (const Cast* c = as<Cast>(inner);
               c != nullptr && c->dtype.element() == wide.element()) {
      inner = c->value;
    }
  };
  strip();
  strip();
  const Load* load = as<Load>(inner);
  if (load == nullptr || load->predicate.defined()) return {};
  if (broadcast) return Factor{load, load->index, true};
  const Ramp* ramp = as<Ramp>(load->index);
  if (ramp == nullptr || as_const_int(ramp->stride) != group) return {};
  return Factor{load, ramp->base, false};
}

// Whether base(k) is base(0) + k in each iteration.
bool walks(const Expr& base, const For& loop, int64_t extent) {
  const Expr first = substitute(base, VarMap{{loop.var, loop.min}});
  for (int64_t k = 1; k < extent; ++k) {
    const Expr at = loop.min + make_const(loop.min.dtype(), k);
    const Expr step = simplify(substitute(base, VarMap{{loop.var, at}}) - first);
    if (as_const_int(step) != k) return false;
  }
  return true;
}

struct Match {
  const Store* store;
  const Load* sum;
  Factor x, y;
};

std::optional<Match> match(const For& op, DType element, DType wide, int64_t group) {
  const Store* store = as<Store>(op.body);
  if (store == nullptr || store->predicate.defined() || uses(store->index, op.var)) return {};
  const Add* add = as<Add>(store->value);
  if (add == nullptr || add->dtype.element() != wide) return {};
  const auto is_sum = [&](const Expr& e) {
    const Load* load = as<Load>(e);
    return load != nullptr && load->buffer.same_as(store->buffer) && !load->predicate.defined() &&
           equal(load->index, store->index);
  };
  const bool left = is_sum(add->a);
  if (!left && !is_sum(add->b)) return {};
  const Mul* product = as<Mul>(left ? add->b : add->a);
  if (product == nullptr) return {};
  const auto x = factor_of(product->a, wide, group), y = factor_of(product->b, wide, group);
  if (!x || !y || (x->broadcast && y->broadcast)) return {};
  for (const Factor* f : {&*x, &*y}) {
    const DType t = f->load->type.element();
    const bool fits = element.is_float() ? t == element : t.is_integer() && t.bits == element.bits;
    if (!fits || f->load->buffer.same_as(store->buffer)) return {};
    if (!walks(f->base, op, group)) return {};
  }
  return Match{store, as<Load>(left ? add->a : add->b), *x, *y};
}

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

}  // namespace

bool FunctionEmitter::emit_dot_product(const For& op) {
  const auto extent = as_const_int(op.extent);
  if (!extent || mask_ != nullptr || nontemporal_ || !op.var.dtype().is_integer()) return false;
  std::optional<Match> found;
  const bool integers = *extent == 4 && k_.target.has_int8_dot;
  const bool floats = *extent == 2 && k_.target.has_bf16_dot && k_.options.contract;
  if (integers) found = match(op, int_type(8), int_type(32), 4);
  if (floats) found = match(op, bfloat_type(16), float_type(32), 2);
  if (!found) return false;
  const int lanes = found->store->value.dtype().lanes;
  const int widest = k_.target.vector_bits / 32;
  if (lanes % 4 != 0 || (lanes > widest ? lanes % widest != 0 : (lanes & (lanes - 1)) != 0)) {
    return false;
  }
  const auto is_signed = [](const Factor& f) { return f.load->type.is_int(); };
  // The factor without a sign comes first; a scalar in its place is cheaper to change.
  if (integers && (is_signed(found->x) && (!is_signed(found->y) || found->y.broadcast))) {
    std::swap(found->x, found->y);
  }
  if (integers && !is_signed(found->y)) return false;

  const Variable* var = op.var.operator->();
  const Linear first = linear(op.min);
  bindings_[var] = Binding{.linear = first,
                           .level = first.terms.empty() ? 0 : first.terms.back().level,
                           .nonnegative = is_nonnegative(op.min)};
  llvm::Type* i32 = b_.getInt32Ty();
  const auto load = [&](const Factor& f) -> llvm::Value* {
    const Variable* buffer = f.load->buffer.operator->();
    const Address at = address(buffer, f.load->type.element(), linear(f.base));
    llvm::Type* t =
        f.broadcast ? i32 : llvm::FixedVectorType::get(i32, static_cast<unsigned>(lanes));
    llvm::LoadInst* value = b_.CreateAlignedLoad(t, at.pointer, at.alignment);
    annotate(value, buffer);
    return value;
  };
  const auto in_lanes = [&](llvm::Value* v) {
    return v->getType()->isVectorTy() ? v : splat(v, lanes);
  };
  llvm::Value *x = load(found->x), *y = in_lanes(load(found->y));
  const bool shifted = integers && is_signed(found->x);
  if (shifted) x = b_.CreateXor(x, llvm::ConstantInt::get(x->getType(), 0x80808080U));
  x = in_lanes(x);
  llvm::Value* sum = emit(Expr(found->sum));

  const int width = std::min(lanes, widest);
  const auto part = [&](llvm::Value* v, int begin) {
    if (width == lanes) return v;
    llvm::SmallVector<int, 16> mask;
    for (int i = 0; i < width; ++i) mask.push_back(begin + i);
    return b_.CreateShuffleVector(v, mask);
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
    llvm::Value* result = dot(part(sum, begin), part(x, begin), b);
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
