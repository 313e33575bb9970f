// SPDX-License-Identifier: Apache-2.0
#include "lower/llvm/known_memory.h"

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <iterator>

namespace tw::codegen {
namespace {

int64_t bytes_of(const llvm::Instruction& i, llvm::Type* type) {
  return static_cast<int64_t>(
      i.getModule()->getDataLayout().getTypeStoreSize(type).getFixedValue());
}

bool is_prefetch(const llvm::Instruction& i) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
  return call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::prefetch;
}

}  // namespace

void KnownMemory::mark_read(Buffer& buffer) {
  if (!std::exchange(buffer.unread, false)) return;
  for (auto& [offset, held] : buffer.held) held.unread = nullptr;
}

void KnownMemory::settle() {
  if (unclaimed_ == nullptr) return;
  unclaimed_ = nullptr;
  if (unclaimed_writes_) {
    buffers_.clear();
  } else {
    for (auto& [root, buffer] : buffers_) mark_read(buffer);
  }
}

void KnownMemory::made(const llvm::Instruction& i) {
  settle();
  if (!i.mayReadOrWriteMemory() || is_prefetch(i)) return;
  unclaimed_ = &i;
  unclaimed_writes_ = i.mayWriteToMemory();
}

bool KnownMemory::claim(const llvm::Instruction* i) {
  if (unclaimed_ == i) {
    unclaimed_ = nullptr;
    return true;
  }
  settle();
  return false;
}

void KnownMemory::enter(const llvm::BasicBlock* block) {
  if (block == block_) return;
  block_ = block;
  buffers_.clear();
}

llvm::Value* KnownMemory::value(const llvm::BasicBlock* block, const Place& at,
                                const llvm::Type* type) {
  settle();
  enter(block);
  const auto& held = buffers_[at.buffer].held;
  const auto found = held.find({at.base, at.offset});
  if (found == held.end() || found->second.value->getType() != type) return nullptr;
  return found->second.value;
}

// Calls f with what may share bytes with [at, at + bytes), and forgets what it returns true for.
template <class F>
void KnownMemory::for_overlapping(Buffer& buffer, const Place& at, int64_t bytes, F f) {
  auto& held = buffer.held;
  if (held.empty()) return;
  auto it = held.begin(), end = held.end();
  const bool one_base = it->first.first == at.base && std::prev(end)->first.first == at.base;
  if (one_base) {
    it = held.upper_bound({at.base, at.offset - widest_});
    end = held.lower_bound({at.base, at.offset + bytes});
  }
  while (it != end) {
    const auto [base, offset] = it->first;
    const bool apart =
        base == at.base && (offset + it->second.bytes <= at.offset || at.offset + bytes <= offset);
    it = !apart && f(it->first, it->second) ? held.erase(it) : std::next(it);
  }
}

void KnownMemory::loaded(const Place& at, llvm::LoadInst* load) {
  claim(load);
  enter(load->getParent());
  Buffer& buffer = buffers_[at.buffer];
  const int64_t bytes = bytes_of(*load, load->getType());
  if (buffer.unread) {
    for_overlapping(buffer, at, bytes, [](const Offset&, Held& held) {
      held.unread = nullptr;
      return false;
    });
  }
  buffer.held[{at.base, at.offset}] = {bytes, load, nullptr};
  widest_ = std::max(widest_, bytes);
}

void KnownMemory::stored(const Place& at, llvm::StoreInst* store) {
  claim(store);
  enter(store->getParent());
  Buffer& buffer = buffers_[at.buffer];
  const int64_t bytes = bytes_of(*store, store->getValueOperand()->getType());
  for_overlapping(buffer, at, bytes, [&](const Offset& offset, Held& held) {
    const bool replaced = offset == Offset{at.base, at.offset} && held.bytes <= bytes;
    if (replaced && held.unread != nullptr) held.unread->eraseFromParent();
    return true;
  });
  buffer.held[{at.base, at.offset}] = {bytes, store->getValueOperand(), store};
  buffer.unread = true;
  widest_ = std::max(widest_, bytes);
}

void KnownMemory::accessed(const void* buffer, const llvm::Instruction* access) {
  const bool writes = unclaimed_writes_;
  if (!claim(access)) return;
  const auto known = buffers_.find(buffer);
  if (known == buffers_.end()) return;
  if (writes) {
    buffers_.erase(known);
  } else {
    mark_read(known->second);
  }
}

}  // namespace tw::codegen
