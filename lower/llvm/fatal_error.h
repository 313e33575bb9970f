// SPDX-License-Identifier: Apache-2.0
// LLVM ends the process where it cannot go on ("Cannot select: …"), and where it finds an error in
// what it is given. Inside a FatalErrorScope it throws instead.
#pragma once

#include <stdexcept>

namespace tw::codegen {

// Thrown out of the middle of LLVM. It has cleaned nothing up: what it was working on, module and
// passes, may only be left alone, not even destroyed.
struct FatalError : std::runtime_error {
  using runtime_error::runtime_error;
};

// On the thread that makes it, while it lives.
class FatalErrorScope {
 public:
  FatalErrorScope();
  ~FatalErrorScope();
  FatalErrorScope(const FatalErrorScope&) = delete;
  FatalErrorScope& operator=(const FatalErrorScope&) = delete;
};

}  // namespace tw::codegen
