// SPDX-License-Identifier: Apache-2.0
// Tile registers (AMX): eight of sixteen rows of 64 bytes. A buffer of scope amx.tile is a range of
// them; its elements are blocks of sixteen rows and 64 bytes, in row-major order, and which block
// an address means must be known when code is generated.
//
// All registers are configured alike and once in each function that has them, at its begin: the
// kernel's, and that of each parallel body, since the configuration is a thread's own. Tasks that
// this thread ran have left theirs released, so that what comes after a launch configures anew.
#include <fmt/format.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <array>

#include "ir/expr.h"
#include "lower/llvm/emit.h"
#include "runtime/error.h"

namespace tw::codegen {
namespace {

constexpr int kRegisters = 8;
constexpr int64_t kRows = 16, kRowBytes = 64;

struct Product {
  std::string_view name;
  llvm::Intrinsic::ID id;
};
// The first letter is the first operand's sign: s signed, u unsigned bytes.
constexpr Product kProducts[] = {
    {"s8s8", llvm::Intrinsic::x86_tdpbssd},   {"s8u8", llvm::Intrinsic::x86_tdpbsud},
    {"u8s8", llvm::Intrinsic::x86_tdpbusd},   {"u8u8", llvm::Intrinsic::x86_tdpbuud},
    {"bf16", llvm::Intrinsic::x86_tdpbf16ps},
};

}  // namespace

// The layout is that of the instruction: palette 1; bytes of a row from byte 16, rows from byte 48.
void FunctionEmitter::configure_tiles() {
  llvm::GlobalVariable* table = k_.module.getNamedGlobal("tile_configuration");
  if (table == nullptr) {
    std::array<uint8_t, 64> bytes = {1};
    for (size_t r = 0; r < kRegisters; ++r) {
      bytes[16 + 2 * r] = kRowBytes;
      bytes[48 + r] = kRows;
    }
    llvm::Constant* content = llvm::ConstantDataArray::get(k_.context, bytes);
    table =
        new llvm::GlobalVariable(k_.module, content->getType(), true,
                                 llvm::GlobalValue::PrivateLinkage, content, "tile_configuration");
    table->setAlignment(llvm::Align(64));
  }
  b_.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {table});
}

void FunctionEmitter::emit_tiles(const Allocate& op) {
  int64_t elements = op.type.lanes;
  for (const Expr& e : op.extents) elements *= as_const_int(e).value_or(1 << 20);
  const int64_t per_register = kRows * kRowBytes / op.type.element().element_bytes();
  const auto count = static_cast<int>((elements + per_register - 1) / per_register);
  const std::string& name = op.buffer.name();
  if (tiles_taken_ + count > kRegisters) {
    raise({.code = ErrorCode::CannotTensorize,
           .what = fmt::format("{} tile registers are wanted at once, {} of them for '{}'",
                               tiles_taken_ + count, count, name),
           .stage = name,
           .legal =
               fmt::format("{}: smaller blocks, or fewer stages of scope amx.tile", kRegisters)});
  }
  if (!has_tiles_) {
    Builder::InsertPointGuard guard(b_);
    b_.SetInsertPoint(entry_->getTerminator());
    configure_tiles();
  }
  if (has_launched_ && tiles_taken_ == 0) configure_tiles();
  has_tiles_ = true;
  k_.result.uses_tiles = true;
  const Variable* var = op.buffer.operator->();
  bindings_[var] = Binding{.level = 0, .root = var, .tile = tiles_taken_};
  tiles_taken_ += count;
  emit(op.body);
  tiles_taken_ -= count;
  bindings_.erase(var);
}

void FunctionEmitter::release_tiles() {
  if (has_tiles_) b_.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {});
}

llvm::Value* FunctionEmitter::tile_register(const Expr& address, const Expr& pitch) {
  const Call* call = as<Call>(address);
  const Load* first = call != nullptr ? as<Load>(call->args.at(0)) : nullptr;
  const auto binding =
      first != nullptr ? bindings_.find(first->buffer.operator->()) : bindings_.end();
  if (binding == bindings_.end() || binding->second.tile < 0) {
    fail("a tile operand that is not in tile registers");
  }
  const std::string& name = first->buffer.name();
  const Linear place = linear(first->index);
  const auto row = as_const_int(pitch);
  const auto refuse = [&](std::string what, std::string legal) {
    raise({.code = ErrorCode::CannotTensorize,
           .what = std::move(what),
           .stage = name,
           .legal = std::move(legal)});
  };
  if (!place.terms.empty() || !row) {
    refuse("which tile register it is depends on a loop", "unroll the loops over tiles");
  }
  const int64_t columns = kRowBytes / first->type.element().element_bytes();
  const int64_t y = place.constant / *row, x = place.constant % *row;
  if (*row % columns != 0 || y % kRows != 0 || x % columns != 0) {
    refuse(fmt::format("element {} of rows of {} is not the first of a tile", place.constant, *row),
           fmt::format("blocks of {} rows and {} columns", kRows, columns));
  }
  const int64_t number = binding->second.tile + y / kRows * (*row / columns) + x / columns;
  return b_.getInt8(static_cast<uint8_t>(number));
}

// A call of an amx_ row of ir/intrinsics.def.
llvm::Value* FunctionEmitter::emit_tile_operation(const Call& op) {
  const auto memory = [&](size_t k) { return emit(op.args[k]); };
  // In bytes.
  const auto pitch = [&](size_t k) -> llvm::Value* {
    const Load* first = as<Load>(as<Call>(op.args[k - 1])->args[0]);
    const int bytes = first->type.element().element_bytes();
    return index(cast(int_type(64), op.args[k]) * make_const(int_type(64), bytes));
  };
  const auto tile = [&](size_t k) { return tile_register(op.args[k], op.args[k + 1]); };
  if (op.name == "amx_tile_zero") {
    b_.CreateIntrinsic(llvm::Intrinsic::x86_tilezero, {}, {tile(0)});
  } else if (op.name == "amx_tile_load" || op.name == "amx_tile_stream") {
    const llvm::Intrinsic::ID load = op.name == "amx_tile_load"
                                         ? llvm::Intrinsic::x86_tileloadd64
                                         : llvm::Intrinsic::x86_tileloaddt164;
    llvm::Value* stride = pitch(3);
    b_.CreateIntrinsic(load, {}, {tile(0), memory(2), stride});
  } else if (op.name == "amx_tile_store") {
    llvm::Value* stride = pitch(1);
    b_.CreateIntrinsic(llvm::Intrinsic::x86_tilestored64, {}, {tile(2), memory(0), stride});
  } else {
    const std::string& name = as<StringImm>(op.args[0])->value;
    for (const Product& p : kProducts) {
      if (p.name == name) b_.CreateIntrinsic(p.id, {}, {tile(1), tile(3), tile(5)});
    }
  }
  return b_.getInt32(0);
}

}  // namespace tw::codegen
