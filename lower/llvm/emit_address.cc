// SPDX-License-Identifier: Apache-2.0
// Integer indices as 64-bit sums, and addresses.
//
// An index such as (io*14 + ii)*K + k becomes terms io*14K + ii*K + k, ordered by how deep in the
// loop nest they vary. Each partial address stands in front of the outermost loop that it does not
// vary in and is remembered there, so the innermost loop is left with a pointer and constants.
#include <algorithm>
#include <numeric>

#include "ir/expr.h"
#include "lower/llvm/emit.h"
#include "runtime/error.h"

namespace tw::codegen {
namespace {

// The scalar that all lanes of `e` equal, when it is written as such.
const Expr* broadcast_value(const Expr& e) {
  const Broadcast* b = as<Broadcast>(e);
  return b != nullptr ? &b->value : nullptr;
}

}  // namespace

void Linear::add(llvm::Value* atom, int64_t coefficient, int level) {
  if (coefficient == 0) return;
  if (auto* c = llvm::dyn_cast<llvm::ConstantInt>(atom)) {
    constant = wrapping_add(constant, wrapping_multiply(c->getSExtValue(), coefficient));
    return;
  }
  for (Term& t : terms) {
    if (t.atom == atom) {
      t.coefficient = wrapping_add(t.coefficient, coefficient);
      return;
    }
  }
  terms.push_back({atom, coefficient, level});
}

Linear FunctionEmitter::linear(const Expr& e) {
  Linear out;
  accumulate(e, 1, out);
  // Constant coefficients may have cancelled.
  llvm::erase_if(out.terms, [](const Linear::Term& t) { return t.coefficient == 0; });
  std::ranges::stable_sort(out.terms, {}, &Linear::Term::level);
  return out;
}

void FunctionEmitter::accumulate(const Expr& e, int64_t scale, Linear& out) {
  if (const IntImm* i = as<IntImm>(e)) {
    out.constant = wrapping_add(out.constant, wrapping_multiply(scale, i->value));
    return;
  }
  if (const Variable* v = as<Variable>(e)) {
    const auto it = bindings_.find(v);
    if (it == bindings_.end()) fail("variable '" + v->name + "' has no value");
    if (it->second.linear && is_index_type(v->type)) {
      const Linear known = *it->second.linear;
      for (const Linear::Term& t : known.terms) {
        out.add(t.atom, wrapping_multiply(t.coefficient, scale), t.level);
      }
      out.constant = wrapping_add(out.constant, wrapping_multiply(known.constant, scale));
      return;
    }
  }
  // Signed integers do not overflow, so that sums of 32 bits may be computed in 64.
  if (is_index_type(e.dtype())) {
    if (const Add* op = as<Add>(e)) {
      accumulate(op->a, scale, out);
      accumulate(op->b, scale, out);
      return;
    }
    if (const Sub* op = as<Sub>(e)) {
      accumulate(op->a, scale, out);
      accumulate(op->b, wrapping_multiply(scale, -1), out);
      return;
    }
    if (const Mul* op = as<Mul>(e)) {
      if (const auto c = as_const_int(op->b)) {
        return accumulate(op->a, wrapping_multiply(scale, *c), out);
      }
      if (const auto c = as_const_int(op->a)) {
        return accumulate(op->b, wrapping_multiply(scale, *c), out);
      }
      const Linear a = linear(op->a), b = linear(op->b);
      if (a.terms.empty() || b.terms.empty()) {  // one side turned out to be constant
        const Linear& other = a.terms.empty() ? b : a;
        const int64_t factor = wrapping_multiply(scale, a.terms.empty() ? a.constant : b.constant);
        for (const Linear::Term& t : other.terms) {
          out.add(t.atom, wrapping_multiply(t.coefficient, factor), t.level);
        }
        out.constant = wrapping_add(out.constant, wrapping_multiply(other.constant, factor));
        return;
      }
      const int level = std::max(a.terms.back().level, b.terms.back().level);
      // The factors stand where the product does, their constants included.
      llvm::Value* x = place(level, [&] { return sum(a); });
      llvm::Value* y = place(level, [&] { return sum(b); });
      const StepKey key{{x, y}, INT64_MIN};
      llvm::Value* product = remembered(key);
      if (product == nullptr) {
        product = place(level, [&] { return b_.CreateNSWMul(x, y); });
        regions_[region_of_level(level)].steps[key] = product;
      }
      out.add(product, scale, level);
      return;
    }
    if (const Cast* op = as<Cast>(e); op != nullptr && is_index_type(op->value.dtype()) &&
                                      op->value.dtype().bits <= op->type.bits) {
      accumulate(op->value, scale, out);
      return;
    }
  }
  // Anything else is one atom, computed where it stops varying.
  const int level = level_of(e);
  const auto widened = [&]() -> llvm::Value* {
    llvm::Value* v = emit(e);
    const DType t = e.dtype();
    if (t.is_handle()) fail("a handle is used as an index");
    if (t.is_int()) {
      return is_nonnegative(e) && t.bits < 64
                 ? b_.CreateZExt(v, b_.getInt64Ty(), "", /*IsNonNeg=*/true)
                 : b_.CreateSExtOrTrunc(v, b_.getInt64Ty());
    }
    return b_.CreateZExtOrTrunc(v, b_.getInt64Ty());
  };
  llvm::Value* atom = level < 0 ? widened() : place(level, widened);
  out.add(atom, scale, level < 0 ? depth() : level);
}

bool FunctionEmitter::accumulate_lanes(const Expr& e, int64_t scale, Linear& base,
                                       int64_t& stride) {
  if (const Ramp* op = as<Ramp>(e)) {
    const auto step = as_const_int(op->stride);
    if (!step) return false;
    accumulate(op->base, scale, base);
    stride = wrapping_add(stride, wrapping_multiply(scale, *step));
    return true;
  }
  if (const Expr* value = broadcast_value(e)) {
    accumulate(*value, scale, base);
    return true;
  }
  if (!is_index_type(e.dtype().element())) return false;
  if (const Add* op = as<Add>(e)) {
    return accumulate_lanes(op->a, scale, base, stride) &&
           accumulate_lanes(op->b, scale, base, stride);
  }
  if (const Sub* op = as<Sub>(e)) {
    return accumulate_lanes(op->a, scale, base, stride) &&
           accumulate_lanes(op->b, wrapping_multiply(scale, -1), base, stride);
  }
  if (const Mul* op = as<Mul>(e)) {
    for (const auto& [vector, factor] : {std::pair(&op->a, &op->b), std::pair(&op->b, &op->a)}) {
      const Expr* value = broadcast_value(*factor);
      if (value == nullptr) continue;
      if (const auto c = as_const_int(*value)) {
        return accumulate_lanes(*vector, wrapping_multiply(scale, *c), base, stride);
      }
    }
  }
  return false;
}

llvm::Value* FunctionEmitter::remembered(const StepKey& key) const {
  for (size_t i = regions_.size(); i-- > 0;) {
    const auto it = regions_[i].steps.find(key);
    if (it != regions_[i].steps.end()) return it->second;
  }
  return nullptr;
}

llvm::Value* FunctionEmitter::sum(const Linear& l) {
  llvm::Value* total = nullptr;
  for (const Linear::Term& t : l.terms) {
    const StepKey key{{total, t.atom}, t.coefficient};
    llvm::Value* next = remembered(key);
    if (next == nullptr) {
      next = place(t.level, [&] {
        llvm::Value* scaled =
            t.coefficient == 1
                ? t.atom
                : b_.CreateNSWMul(t.atom, b_.getInt64(static_cast<uint64_t>(t.coefficient)));
        return total == nullptr ? scaled : b_.CreateAdd(total, scaled);
      });
      regions_[region_of_level(t.level)].steps[key] = next;
    }
    total = next;
  }
  llvm::Value* constant = b_.getInt64(static_cast<uint64_t>(l.constant));
  if (total == nullptr) return constant;
  return l.constant == 0 ? total : b_.CreateAdd(total, constant);
}

int FunctionEmitter::level_of(const Expr& e) const {
  const auto both = [&](const Expr& a, const Expr& b) {
    const int x = level_of(a), y = level_of(b);
    return x < 0 || y < 0 ? -1 : std::max(x, y);
  };
  switch (e->kind) {
    case NodeKind::IntImm:
      return 0;
    case NodeKind::Variable: {
      const auto it = bindings_.find(as<Variable>(e));
      return it == bindings_.end() ? -1 : it->second.level;
    }
    case NodeKind::Cast: {
      const Cast& op = *as<Cast>(e);
      return op.value.dtype().is_integer() && op.type.is_integer() ? level_of(op.value) : -1;
    }
#define TW_BOTH(Name)  \
  case NodeKind::Name: \
    return both(as<Name>(e)->a, as<Name>(e)->b);
      TW_BOTH(Add)
      TW_BOTH(Sub)
      TW_BOTH(Mul)
      TW_BOTH(Min)
      TW_BOTH(Max)
#undef TW_BOTH
      // A division that was not reached must not trap.
#define TW_DIVISION(Name)                                           \
  case NodeKind::Name: {                                            \
    const auto divisor = as_const_int(as<Name>(e)->b);              \
    return divisor && *divisor > 0 ? level_of(as<Name>(e)->a) : -1; \
  }
      TW_DIVISION(Div)
      TW_DIVISION(Mod)
      TW_DIVISION(FloorDiv)
      TW_DIVISION(FloorMod)
#undef TW_DIVISION
    case NodeKind::Call: {
      const Call& op = *as<Call>(e);
      const bool bits = op.name == "shift_right" || op.name == "shift_left" ||
                        op.name == "bitwise_and" || op.name == "bitwise_or";
      return bits ? both(op.args[0], op.args[1]) : -1;
    }
    default:
      return -1;
  }
}

bool FunctionEmitter::is_nonnegative(const Expr& e) const {
  if (e.dtype().is_uint() || e.dtype().is_bool()) return true;
  if (const auto c = as_const_int(e)) return *c >= 0;
  switch (e->kind) {
    case NodeKind::Variable: {
      const auto it = bindings_.find(as<Variable>(e));
      return it != bindings_.end() && it->second.nonnegative;
    }
    case NodeKind::Cast: {
      const Cast& op = *as<Cast>(e);
      const DType from = op.value.dtype();
      return from.is_int() && from.bits <= op.type.bits && is_nonnegative(op.value);
    }
    // Narrow integers wrap.
    case NodeKind::Add:
      return e.dtype().bits >= 32 && is_nonnegative(as<Add>(e)->a) && is_nonnegative(as<Add>(e)->b);
    case NodeKind::Mul:
      return e.dtype().bits >= 32 && is_nonnegative(as<Mul>(e)->a) && is_nonnegative(as<Mul>(e)->b);
    case NodeKind::Min:
      return is_nonnegative(as<Min>(e)->a) && is_nonnegative(as<Min>(e)->b);
    case NodeKind::Max:
      return is_nonnegative(as<Max>(e)->a) || is_nonnegative(as<Max>(e)->b);
    case NodeKind::FloorMod:
      return is_nonnegative(as<FloorMod>(e)->b);
    case NodeKind::Mod:
      return is_nonnegative(as<Mod>(e)->a);
    case NodeKind::FloorDiv:
      return is_nonnegative(as<FloorDiv>(e)->a) && is_nonnegative(as<FloorDiv>(e)->b);
    case NodeKind::Div:
      return is_nonnegative(as<Div>(e)->a) && is_nonnegative(as<Div>(e)->b);
    case NodeKind::Broadcast:
      return is_nonnegative(as<Broadcast>(e)->value);
    case NodeKind::Ramp:
      return is_nonnegative(as<Ramp>(e)->base) && is_nonnegative(as<Ramp>(e)->stride);
    case NodeKind::Call: {
      const Call& op = *as<Call>(e);
      if (op.name == "num_threads") return true;
      if (op.name == "shift_right") return is_nonnegative(op.args[0]);
      return op.name == "bitwise_and" && (is_nonnegative(op.args[0]) || is_nonnegative(op.args[1]));
    }
    case NodeKind::Select:
      return is_nonnegative(as<Select>(e)->true_value) &&
             is_nonnegative(as<Select>(e)->false_value);
    default:
      return false;
  }
}

bool FunctionEmitter::is_positive(const Expr& e) const {
  if (const auto c = as_const_int(e)) return e.dtype().is_int() ? *c > 0 : *c != 0;
  const bool wraps = !e.dtype().is_int() || e.dtype().bits < 32;
  const auto sum = [&](const Expr& a, const Expr& b) {
    return !wraps &&
           ((is_positive(a) && is_nonnegative(b)) || (is_nonnegative(a) && is_positive(b)));
  };
  switch (e->kind) {
    case NodeKind::Variable: {
      const auto it = bindings_.find(as<Variable>(e));
      return it != bindings_.end() && it->second.positive;
    }
    case NodeKind::Cast: {
      const Cast& op = *as<Cast>(e);
      const DType from = op.value.dtype();
      return from.is_int() && op.type.is_integer() && from.bits <= op.type.bits &&
             is_positive(op.value);
    }
    case NodeKind::Add:
      return sum(as<Add>(e)->a, as<Add>(e)->b);
    case NodeKind::Ramp:
      return !wraps && is_positive(as<Ramp>(e)->base) && is_nonnegative(as<Ramp>(e)->stride);
    case NodeKind::Mul:
      return !wraps && is_positive(as<Mul>(e)->a) && is_positive(as<Mul>(e)->b);
    case NodeKind::Min:
      return is_positive(as<Min>(e)->a) && is_positive(as<Min>(e)->b);
    case NodeKind::Max:
      return is_positive(as<Max>(e)->a) || is_positive(as<Max>(e)->b);
    case NodeKind::Broadcast:
      return is_positive(as<Broadcast>(e)->value);
    case NodeKind::Call:
      return as<Call>(e)->name == "num_threads";
    default:
      return false;
  }
}

FunctionEmitter::Address FunctionEmitter::address(const Variable* buffer, DType element,
                                                  const Linear& index) {
  const auto it = bindings_.find(buffer);
  if (it == bindings_.end()) fail("buffer '" + buffer->name + "' has no memory");
  const Binding& binding = it->second;
  if (binding.tile >= 0) {
    raise({.code = ErrorCode::CannotTensorize,
           .what = "what is in tile registers is reached by tensor intrinsics only",
           .stage = buffer->name,
           .legal = "tensorize the stage and its consumers, or another scope"});
  }
  llvm::Value* pointer = binding.value;
  llvm::Type* t = memory_type(element.element());
  const int64_t bytes = element.element_bytes();
  // Every address is base + bytes * (multiple of each coefficient + constant).
  int64_t common = wrapping_multiply(index.constant, bytes);
  int level = binding.level;
  for (const Linear::Term& term : index.terms) {
    common = std::gcd(common, wrapping_multiply(term.coefficient, bytes));
    level = std::max(level, term.level);
    const StepKey key{{pointer, term.atom}, wrapping_multiply(term.coefficient, bytes)};
    llvm::Value* next = remembered(key);
    if (next == nullptr) {
      next = place(level, [&] {
        llvm::Value* offset =
            term.coefficient == 1
                ? term.atom
                : b_.CreateNSWMul(term.atom, b_.getInt64(static_cast<uint64_t>(term.coefficient)));
        return b_.CreateGEP(t, pointer, offset);
      });
      if (level > 0 && level <= depth()) {
        Loop& loop = loops_[static_cast<size_t>(level - 1)];
        if (term.atom == loop.variable) {
          loop.strides.push_back({llvm::cast<llvm::Instruction>(next), pointer, key.second});
        }
      }
      regions_[region_of_level(level)].steps[key] = next;
    }
    pointer = next;
  }
  const KnownMemory::Place place{binding.root, pointer, wrapping_multiply(index.constant, bytes)};
  if (index.constant != 0) {
    const StepKey key{{pointer, nullptr}, place.offset};
    pointer = remembered(key);
    if (pointer == nullptr) {
      pointer = b_.CreateConstGEP1_64(t, place.base, static_cast<uint64_t>(index.constant));
      regions_.back().steps[key] = pointer;
    }
  }
  uint64_t alignment = std::max<uint64_t>(binding.alignment, static_cast<uint64_t>(bytes));
  if (common != 0) alignment = std::gcd(alignment, static_cast<uint64_t>(std::abs(common)));
  return {pointer, llvm::Align(alignment & (~alignment + 1)), place};
}

}  // namespace tw::codegen
