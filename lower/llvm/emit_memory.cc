// SPDX-License-Identifier: Apache-2.0
// Loads and stores: of scalars and of vectors, under masks, and of lanes that lie apart.
#include <algorithm>

#include "ir/expr.h"
#include "lower/llvm/emit.h"
#include "lower/llvm/emit_branch.h"

namespace tw::codegen {
namespace {

// Greater strides are gathered, or loaded lane by lane.
constexpr int64_t kGreatestShuffledStride = 4;

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
  if (!facts.written && !facts.shared && access->mayReadFromMemory()) {
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

// The element of one lane: `stride` further than the one before, or where `indices` say.
FunctionEmitter::Address FunctionEmitter::lane_address(const Variable* buffer, DType element,
                                                       const Linear& base, int64_t stride,
                                                       llvm::Value* indices, int lane) {
  Linear at;
  if (indices == nullptr) {
    at = base;
    at.constant = wrapping_add(at.constant, wrapping_multiply(stride, lane));
  } else {
    llvm::Value* index = b_.CreateExtractElement(indices, static_cast<uint64_t>(lane));
    at.add(b_.CreateSExtOrTrunc(index, b_.getInt64Ty()), 1, depth());
  }
  return address(buffer, element, at);
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
      (mask == nullptr || k_.target.masks(static_cast<int>(bits)))) {
    return finished(load_shuffled(op, base, stride, mask, masked_type));
  }
  const bool gathers = k_.target.has_masks && (bits == 32 || bits == 64) && lanes >= 4;
  if (mask == nullptr && !gathers) {
    llvm::Value* result = llvm::PoisonValue::get(vector_type);
    llvm::Value* indices = regular ? nullptr : emit(op.index);
    for (int i = 0; i < lanes; ++i) {
      const Address lane = lane_address(buffer, op.type, base, stride, indices, i);
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
                                            llvm::Value* mask, llvm::FixedVectorType* vector_type) {
  const Variable* buffer = op.buffer.operator->();
  const int lanes = op.type.lanes;
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
    const Address lane = lane_address(buffer, t, base, stride, indices, i);
    store_all(b_.CreateExtractElement(value, static_cast<uint64_t>(i)), lane, buffer);
  }
}

}  // namespace tw::codegen
