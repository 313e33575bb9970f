// SPDX-License-Identifier: Apache-2.0
// share_arguments: finds which inputs may begin at the address of an output, so that the kernel
// works in place. It writes that to the arguments and leaves the body as it is, before and after:
//
//   for (i, 0, n) {
//     for (j, 0, 4) {
//       C[((i*4) + j)] = (A[((i*4) + j)] + (B[j]*D[((i*4) + j)]))
//     }
//   }
//
// Here C may share its memory with A and D, not with B.
// An input may when all that reads it are stores to that output at the very place they read, and
// each element of the output is written once: then nothing is read after it was replaced, in
// whatever order and on whatever thread elements are computed. That an output is written once is
// known of its stage (KernelArgument::written_once); all passes keep it. Elements must have one
// size, shapes may differ.
#include <unordered_map>

#include "ir/equal.h"
#include "ir/visit.h"
#include "lower/passes.h"

namespace tw::pass {
namespace {

// For each input the one output whose stores read it, each at its own place; null where anything
// else does too.
class FindReaders : public Visitor {
 public:
  std::unordered_map<const Variable*, const Variable*> reader;

 protected:
  using Visitor::on;

  void on(const Store& op) override {
    store_ = &op;
    visit(op.value);
    store_ = nullptr;
    visit(op.index);
    visit(op.predicate);
  }
  void on(const Load& op) override {
    const Variable* buffer = op.buffer.operator->();
    const bool in_place = store_ != nullptr && equal(op.index, store_->index);
    read(buffer, in_place ? store_->buffer.operator->() : nullptr);
    visit(op.index);
    visit(op.predicate);
  }
  // Fetched lines change nothing.
  void on(const Call& op) override {
    if (op.name != "prefetch") Visitor::on(op);
  }
  // A buffer whose address is taken may be read anywhere.
  void on(const Variable& op) override {
    if (op.type.is_handle()) read(&op, nullptr);
  }

 private:
  void read(const Variable* buffer, const Variable* by) {
    const auto [known, first] = reader.try_emplace(buffer, by);
    if (!first && known->second != by) known->second = nullptr;
  }

  const Store* store_ = nullptr;
};

}  // namespace

Kernel share_arguments(Kernel kernel, const PassContext&) {
  FindReaders found;
  found.visit(kernel.body);
  for (KernelArgument& output : kernel.arguments) {
    output.may_share.clear();
    if (!output.is_output || !output.written_once) continue;
    for (size_t k = 0; k < kernel.arguments.size(); ++k) {
      const KernelArgument& input = kernel.arguments[k];
      if (!input.is_tensor || input.is_output ||
          input.dtype.element_bytes() != output.dtype.element_bytes()) {
        continue;
      }
      const auto reader = found.reader.find(input.var.operator->());
      if (reader != found.reader.end() && reader->second == output.var.operator->())
        output.may_share.push_back(static_cast<int>(k));
    }
  }
  return kernel;
}

}  // namespace tw::pass
