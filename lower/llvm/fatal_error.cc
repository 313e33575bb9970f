// SPDX-License-Identifier: Apache-2.0
#include "lower/llvm/fatal_error.h"

#include <llvm/Support/ErrorHandling.h>

#include <cstdio>

namespace tw::codegen {
namespace {

thread_local int t_scopes = 0;

// LLVM's frames are built without exceptions but with unwind tables: an exception passes through
// them and runs nothing there. Other users of LLVM in the process get what they would without us:
// the message, and then LLVM ends the process.
void handle(void*, const char* reason, bool) {
  if (t_scopes > 0) throw FatalError(reason);
  std::fprintf(stderr, "LLVM ERROR: %s\n", reason);
}

}  // namespace

FatalErrorScope::FatalErrorScope() {
  static const bool installed = [] {
    llvm::install_fatal_error_handler(handle);
    return true;
  }();
  (void)installed;
  ++t_scopes;
}

FatalErrorScope::~FatalErrorScope() { --t_scopes; }

}  // namespace tw::codegen
