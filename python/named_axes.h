// SPDX-License-Identifier: Apache-2.0
// The axes that a Python function names while it makes the body of a compute. A variable does not
// know that it is a reduction's; what was handed over as an expression does.
#pragma once

#include <vector>

#include "ir/node.h"

namespace tw::python {

class NamedAxes {
 public:
  NamedAxes() : around_(innermost_) { innermost_ = this; }
  ~NamedAxes() { innermost_ = around_; }
  NamedAxes(const NamedAxes&) = delete;
  NamedAxes& operator=(const NamedAxes&) = delete;

  const std::vector<IterVar>& list() const { return list_; }
  // An axis was used as an expression on this thread.
  static void add(const IterVar& axis) {
    if (innermost_ != nullptr) innermost_->list_.push_back(axis);
  }

 private:
  NamedAxes* around_;
  std::vector<IterVar> list_;
  static inline thread_local NamedAxes* innermost_ = nullptr;
};

}  // namespace tw::python
