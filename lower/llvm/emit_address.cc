// SPDX-License-Identifier: Apache-2.0
// Integer indices as 64-bit sums, addresses, loads and stores.
//
// An index such as (io*14 + ii)*K + k becomes terms io*14K + ii*K + k, ordered by how deep in the
// loop nest they vary. Each partial address stands in front of the outermost loop that it does not
// vary in and is remembered there, so the innermost loop is left with a pointer and constants.
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <numeric>

#include "ir/expr.h"
#include "lower/llvm/emit.h"
#include "lower/llvm/emit_branch.h"
#include "runtime/error.h"

namespace tw::codegen {
namespace {

// Greater strides are gathered, or loaded lane by lane.
constexpr int64_t kGreatestShuffledStride = 4;

bool is_signed_index(DType t) { return t.is_int() && t.bits >= 32 && !t.is_vector(); }

int64_t wrapping_multiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// The scalar that all lanes of `e` equal, when it is written as such.
const Expr* broadcast_value(const Expr& e) {
  const Broadcast* b = as<Broadcast>(e);
  return b != nullptr ? &b->value : nullptr;
}

// Whether all of a vector at this address lies in a local array, so that lanes that nobody wants
// may be read all the same.
bool is_inside_of_alloca(const llvm::Module& module, const llvm::Value* pointer, llvm::Type* type) {
  const llvm::DataLayout& layout = module.getDataLayout();
  llvm::APInt offset(64, 0);
  const llvm::Value* base =
      pointer->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true);
  const auto* array = llvm::dyn_cast<llvm::AllocaInst>(base);
  if (array == nullptr || offset.isNegative()) return false;
  const uint64_t end = offset.getZExtValue() + layout.getTypeStoreSize(type).getFixedValue();
  return end <= layout.getTypeAllocSize(array->getAllocatedType()).getFixedValue();
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
    if (it->second.linear && is_signed_index(v->type)) {
      const Linear known = *it->second.linear;
      for (const Linear::Term& t : known.terms) {
        out.add(t.atom, wrapping_multiply(t.coefficient, scale), t.level);
      }
      out.constant = wrapping_add(out.constant, wrapping_multiply(known.constant, scale));
      return;
    }
  }
  // Signed integers do not overflow, so that sums of 32 bits may be computed in 64.
  if (is_signed_index(e.dtype())) {
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
    if (const Cast* op = as<Cast>(e); op != nullptr && is_signed_index(op->value.dtype()) &&
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
  if (!is_signed_index(e.dtype().element())) return false;
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
    case NodeKind::Add:
      return is_nonnegative(as<Add>(e)->a) && is_nonnegative(as<Add>(e)->b);
    case NodeKind::Mul:
      return is_nonnegative(as<Mul>(e)->a) && is_nonnegative(as<Mul>(e)->b);
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

// Loads and stores without a mask, of consecutive elements.
llvm::Value* FunctionEmitter::load_all(llvm::Type* type, const Address& at,
                                       const Variable* buffer) {
  if (llvm::Value* known = memory_.value(block(), at.place, type)) return known;
  llvm::LoadInst* load = b_.CreateAlignedLoad(type, at.pointer, at.alignment);
  memory_.loaded(at.place, load);
  annotate(load, buffer);
  return load;
}
llvm::StoreInst* FunctionEmitter::store_all(llvm::Value* value, const Address& at,
                                            const Variable* buffer) {
  llvm::StoreInst* store = b_.CreateAlignedStore(value, at.pointer, at.alignment);
  memory_.stored(at.place, store);
  annotate(store, buffer);
  return store;
}

void FunctionEmitter::annotate(llvm::Instruction* access, const Variable* buffer) {
  const auto binding = bindings_.find(buffer);
  if (binding == bindings_.end()) return;
  const auto it = k_.buffers.find(binding->second.root);
  if (it == k_.buffers.end()) return;
  memory_.accessed(binding->second.root, access);
  const BufferFacts& facts = it->second;
  if (facts.scope != nullptr) access->setMetadata(llvm::LLVMContext::MD_alias_scope, facts.scope);
  if (facts.others != nullptr) access->setMetadata(llvm::LLVMContext::MD_noalias, facts.others);
  if (!facts.written && access->mayReadFromMemory()) {
    access->setMetadata(llvm::LLVMContext::MD_invariant_load,
                        llvm::MDNode::get(k_.context, std::nullopt));
  }
}

llvm::Value* FunctionEmitter::from_memory(llvm::Value* v, DType t) {
  return t.is_bool() ? b_.CreateTrunc(v, type(t)) : v;
}
llvm::Value* FunctionEmitter::to_memory(llvm::Value* v, DType t) {
  return t.is_bool() ? b_.CreateZExt(v, memory_type(t)) : v;
}

llvm::Value* FunctionEmitter::vector_of_pointers(const Variable* buffer, DType element,
                                                 const Expr& index_expr) {
  llvm::Type* t = memory_type(element.element());
  Linear base;
  int64_t stride = 0;
  if (accumulate_lanes(index_expr, 1, base, stride)) {
    std::ranges::stable_sort(base.terms, {}, &Linear::Term::level);
    // The gather instructions take offsets of 32 bits at twice the lanes of 64.
    const int lanes = index_expr.dtype().lanes;
    const bool narrow = std::abs(stride) < INT32_MAX / lanes;
    llvm::SmallVector<llvm::Constant*, 16> offsets;
    for (int i = 0; i < lanes; ++i) {
      offsets.push_back(llvm::ConstantInt::get(narrow ? b_.getInt32Ty() : b_.getInt64Ty(),
                                               static_cast<uint64_t>(wrapping_multiply(stride, i)),
                                               true));
    }
    return b_.CreateGEP(t, address(buffer, element, base).pointer,
                        llvm::ConstantVector::get(offsets));
  }
  const auto it = bindings_.find(buffer);
  if (it == bindings_.end()) fail("buffer '" + buffer->name + "' has no memory");
  return b_.CreateGEP(t, it->second.value, emit(index_expr));
}

llvm::Value* FunctionEmitter::emit_load(const Load& op) {
  llvm::Value* mask = op.predicate.defined() ? emit(op.predicate) : nullptr;
  if (auto* c = llvm::dyn_cast_or_null<llvm::Constant>(mask); c && c->isAllOnesValue()) {
    mask = nullptr;
  }
  const Variable* buffer = op.buffer.operator->();
  if (op.type.lanes > 1) {
    if (mask_ != nullptr) {
      if (llvm::cast<llvm::FixedVectorType>(mask_->getType())->getNumElements() != op.type.lanes) {
        fail("a conditional expression mixes vectors of different lengths");
      }
      mask = mask != nullptr ? b_.CreateAnd(mask, mask_) : mask_;
    }
    return load_lanes(op, mask);
  }
  if (mask_ != nullptr) {  // the scalar is wanted when any lane is
    llvm::Value* any = b_.CreateOrReduce(mask_);
    mask = mask != nullptr ? b_.CreateAnd(mask, any) : any;
  }
  const auto read = [&]() -> llvm::Value* {
    const Address at = address(buffer, op.type, linear(op.index));
    return from_memory(load_all(memory_type(op.type), at, buffer), op.type);
  };
  if (mask == nullptr) return read();
  return branch(mask, true, read, [&] { return llvm::Constant::getNullValue(type(op.type)); });
}

llvm::Value* FunctionEmitter::load_lanes(const Load& op, llvm::Value* mask) {
  const Variable* buffer = op.buffer.operator->();
  const int lanes = op.type.lanes;
  llvm::Type* element = memory_type(op.type.element());
  Linear base;
  int64_t stride = 0;
  const bool regular = accumulate_lanes(op.index, 1, base, stride);
  if (regular) std::ranges::stable_sort(base.terms, {}, &Linear::Term::level);
  // LLVM masks integers and 32- or 64-bit floats.
  const bool as_bits = element->is16bitFPTy();
  llvm::Type* masked_element = as_bits ? b_.getInt16Ty() : element;
  auto* masked_type = llvm::FixedVectorType::get(masked_element, static_cast<unsigned>(lanes));
  auto* vector_type = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
  const auto finished = [&](llvm::Value* v) {
    return from_memory(as_bits ? b_.CreateBitCast(v, vector_type) : v, op.type);
  };
  if (regular && (stride == 1 || stride == -1)) {
    if (stride == -1) base.constant = wrapping_add(base.constant, 1 - lanes);
    const Address at = address(buffer, op.type, base);
    llvm::Value* result = nullptr;
    if (mask == nullptr || is_inside_of_alloca(k_.module, at.pointer, vector_type)) {
      result = from_memory(load_all(vector_type, at, buffer), op.type);
      // Masked accesses would keep accumulators in memory.
      if (mask != nullptr) {
        if (stride == -1) mask = b_.CreateVectorReverse(mask);
        result = b_.CreateSelect(mask, result, llvm::Constant::getNullValue(result->getType()));
      }
    } else {
      if (stride == -1) mask = b_.CreateVectorReverse(mask);
      llvm::Instruction* load = b_.CreateMaskedLoad(masked_type, at.pointer, at.alignment, mask,
                                                    llvm::Constant::getNullValue(masked_type));
      annotate(load, buffer);
      result = finished(load);
    }
    return stride == -1 ? b_.CreateVectorReverse(result) : result;
  }
  const unsigned bits = element->isPointerTy() ? 64 : element->getScalarSizeInBits();
  if (regular && stride >= 2 && stride <= kGreatestShuffledStride && lanes >= 4 &&
      (mask == nullptr || (k_.target.has_masks && (bits == 32 || bits == 64)))) {
    return from_memory(load_shuffled(op, base, stride, mask), op.type);
  }
  const bool gathers = k_.target.has_masks && (bits == 32 || bits == 64) && lanes >= 4;
  if (mask == nullptr && !gathers) {
    llvm::Value* result = llvm::PoisonValue::get(vector_type);
    llvm::Value* indices = regular ? nullptr : emit(op.index);
    const Linear start = base;
    for (int i = 0; i < lanes; ++i) {
      Linear at = start;
      if (regular) {
        at.constant = wrapping_add(at.constant, wrapping_multiply(stride, i));
      } else {
        at = {};
        at.add(b_.CreateSExtOrTrunc(b_.CreateExtractElement(indices, static_cast<uint64_t>(i)),
                                    b_.getInt64Ty()),
               1, depth());
      }
      const Address lane = address(buffer, op.type, at);
      result =
          b_.CreateInsertElement(result, load_all(element, lane, buffer), static_cast<uint64_t>(i));
    }
    return from_memory(result, op.type);
  }
  llvm::Value* pointers = vector_of_pointers(buffer, op.type, op.index);
  llvm::CallInst* load = b_.CreateMaskedGather(
      masked_type, pointers, llvm::Align(static_cast<uint64_t>(op.type.element_bytes())),
      mask != nullptr ? mask : llvm::Constant::getAllOnesValue(type(bool_type(lanes))),
      llvm::Constant::getNullValue(masked_type));
  annotate(load, buffer);
  return finished(load);
}

// Lanes a small stride apart: vectors of all that lies between, of which a shuffle takes every
// stride-th element. Nothing is read but between the first lane and the last.
llvm::Value* FunctionEmitter::load_shuffled(const Load& op, const Linear& base, int64_t stride,
                                            llvm::Value* mask) {
  const Variable* buffer = op.buffer.operator->();
  const int lanes = op.type.lanes;
  auto* vector_type =
      llvm::FixedVectorType::get(memory_type(op.type.element()), static_cast<unsigned>(lanes));
  llvm::Value* result = llvm::PoisonValue::get(vector_type);
  std::vector<int> taken(static_cast<size_t>(lanes));
  for (int64_t part = 0; part < stride; ++part) {
    // Part k holds elements from k * lanes on; the last would end past the last lane.
    const bool last = part + 1 == stride;
    const int64_t begin = part * lanes - (last && mask == nullptr ? stride - 1 : 0);
    Linear from = base;
    from.constant = wrapping_add(from.constant, begin);
    const Address at = address(buffer, op.type, from);
    llvm::Value* load = nullptr;
    if (mask == nullptr) {
      load = load_all(vector_type, at, buffer);
    } else {
      // Lane l is element l * stride; the elements between are off.
      std::vector<int> source(static_cast<size_t>(lanes));
      for (int e = 0; e < lanes; ++e) {
        const int64_t element = begin + e;
        source[static_cast<size_t>(e)] =
            element % stride == 0 ? static_cast<int>(element / stride) : lanes;
      }
      llvm::Value* on =
          b_.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), source);
      llvm::Instruction* masked = b_.CreateMaskedLoad(vector_type, at.pointer, at.alignment, on,
                                                      llvm::Constant::getNullValue(vector_type));
      annotate(masked, buffer);
      load = masked;
    }
    for (int l = 0; l < lanes; ++l) {
      const int64_t element = l * stride - begin;
      const bool here = element >= 0 && element < lanes && (l * stride) / lanes == part;
      taken[static_cast<size_t>(l)] = here ? lanes + static_cast<int>(element) : l;
    }
    result = b_.CreateShuffleVector(result, load, taken);
  }
  return result;
}

void FunctionEmitter::store_lanes(const Store& op, llvm::Value* value, llvm::Value* mask) {
  const Variable* buffer = op.buffer.operator->();
  const DType t = op.value.dtype();
  const int lanes = t.lanes;
  value = to_memory(value, t);
  Linear base;
  int64_t stride = 0;
  const bool regular = accumulate_lanes(op.index, 1, base, stride);
  if (regular) std::ranges::stable_sort(base.terms, {}, &Linear::Term::level);
  const auto maskable = [&](llvm::Value* v) -> llvm::Value* {
    if (!v->getType()->getScalarType()->is16bitFPTy()) return v;
    return b_.CreateBitCast(
        v, llvm::FixedVectorType::get(b_.getInt16Ty(), static_cast<unsigned>(lanes)));
  };
  if (regular && (stride == 1 || stride == -1)) {
    if (stride == -1) {
      base.constant = wrapping_add(base.constant, 1 - lanes);
      value = b_.CreateVectorReverse(value);
      if (mask != nullptr) mask = b_.CreateVectorReverse(mask);
    }
    const Address at = address(buffer, t, base);
    if (mask != nullptr) {
      annotate(b_.CreateMaskedStore(maskable(value), at.pointer, at.alignment, mask), buffer);
      return;
    }
    llvm::StoreInst* store = store_all(value, at, buffer);
    // Wider ones than a register are stored in parts.
    const auto bytes =
        static_cast<uint64_t>(std::min(t.element_bytes() * lanes, k_.target.vector_bits / 8));
    if (nontemporal_ && at.alignment.value() >= bytes) {
      has_nontemporal_ = true;
      store->setMetadata(
          llvm::LLVMContext::MD_nontemporal,
          llvm::MDNode::get(k_.context, llvm::ConstantAsMetadata::get(b_.getInt32(1))));
    }
    return;
  }
  if (mask != nullptr) {
    llvm::Value* pointers = vector_of_pointers(buffer, t, op.index);
    annotate(b_.CreateMaskedScatter(maskable(value), pointers,
                                    llvm::Align(static_cast<uint64_t>(t.element_bytes())), mask),
             buffer);
    return;
  }
  llvm::Value* indices = regular ? nullptr : emit(op.index);
  for (int i = 0; i < lanes; ++i) {
    Linear at = base;
    if (regular) {
      at.constant = wrapping_add(at.constant, wrapping_multiply(stride, i));
    } else {
      at = {};
      at.add(b_.CreateSExtOrTrunc(b_.CreateExtractElement(indices, static_cast<uint64_t>(i)),
                                  b_.getInt64Ty()),
             1, depth());
    }
    const Address lane = address(buffer, t, at);
    store_all(b_.CreateExtractElement(value, static_cast<uint64_t>(i)), lane, buffer);
  }
}

}  // namespace tw::codegen
