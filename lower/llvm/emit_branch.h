// SPDX-License-Identifier: Apache-2.0
// Two-sided control flow inside an expression.
#pragma once

#include "lower/llvm/emit.h"

namespace tw::codegen {

template <class Then, class Else>
llvm::Value* FunctionEmitter::branch(llvm::Value* condition, bool likely, Then then_side,
                                     Else else_side) {
  llvm::BasicBlock* on_true = new_block("then");
  llvm::BasicBlock* on_false = new_block("else");
  llvm::BasicBlock* join = new_block("join");
  llvm::MDNode* weights =
      likely ? llvm::MDBuilder(k_.context).createBranchWeights(2000, 1) : nullptr;
  b_.CreateCondBr(condition, on_true, on_false, weights);
  llvm::Value* values[2];
  llvm::BasicBlock* from[2];
  const auto side = [&](int i, llvm::BasicBlock* begin, auto& emit_side) {
    b_.SetInsertPoint(begin);
    regions_.emplace_back();
    values[i] = emit_side();
    regions_.pop_back();
    from[i] = block();
    b_.CreateBr(join);
  };
  side(0, on_true, then_side);
  side(1, on_false, else_side);
  b_.SetInsertPoint(join);
  llvm::PHINode* phi = b_.CreatePHI(values[0]->getType(), 2);
  phi->addIncoming(values[0], from[0]);
  phi->addIncoming(values[1], from[1]);
  return phi;
}

}  // namespace tw::codegen
