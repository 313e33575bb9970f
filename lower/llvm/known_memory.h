// SPDX-License-Identifier: Apache-2.0
// What the memory of buffers is known to hold while a basic block is written. Unrolled bodies load
// the same operands again and again, and load what they have just stored: each is made once. A
// store whose value nothing reads before the next one takes its place is taken back.
#pragma once

#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

namespace tw::codegen {

class KnownMemory {
 public:
  struct Place {
    const void* buffer;  // different ones never overlap
    llvm::Value* base;
    int64_t offset;  // in bytes
  };

  // The value of this type there, or null.
  llvm::Value* value(const llvm::BasicBlock* block, const Place& at, const llvm::Type* type);

  // Each instruction, when it is inserted. What it may do to memory counts for all buffers unless
  // one of the functions below says better before the next instruction.
  void made(const llvm::Instruction& i);
  void loaded(const Place& at, llvm::LoadInst* load);
  void stored(const Place& at, llvm::StoreInst* store);                // may erase one before it
  void accessed(const void* buffer, const llvm::Instruction* access);  // no other buffer

 private:
  struct Held {
    int64_t bytes;
    llvm::Value* value;
    llvm::StoreInst* unread;  // the store that put it there, when nobody has loaded it since
  };
  using Offset = std::pair<llvm::Value*, int64_t>;
  struct Buffer {
    std::map<Offset, Held> held;
    bool unread = false;  // some of it
  };

  void enter(const llvm::BasicBlock* block);
  void settle();
  bool claim(const llvm::Instruction* i);
  template <class F>
  void for_overlapping(Buffer& buffer, const Place& at, int64_t bytes, F f);
  static void mark_read(Buffer& buffer);

  const llvm::BasicBlock* block_ = nullptr;  // all that is known is known in this block
  std::unordered_map<const void*, Buffer> buffers_;
  int64_t widest_ = 0;  // of what is held, in bytes
  const llvm::Instruction* unclaimed_ = nullptr;
  bool unclaimed_writes_ = false;
};

}  // namespace tw::codegen
