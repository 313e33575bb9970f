// SPDX-License-Identifier: Apache-2.0
// The error that compiled code left behind on this thread. Kernels return a number; what it means
// is kept here until the caller asks, as errno does.
#pragma once

#include <string_view>

#include "runtime/api.h"
#include "runtime/error.h"

namespace tw {

// A fixed buffer: keeping an error allocates nothing, so it works out of memory and while a thread
// ends. Longer messages are cut.
struct LastError {
  bool present = false;
  ErrorCode code = ErrorCode::Internal;
  char message[1022] = {};

  TW_API void assign(ErrorCode new_code, std::string_view text);
};

// This thread's.
TW_API LastError& last_error();
// Throws the typed error that `error` stands for; `function` names the kernel in a message that
// has no text of its own.
[[noreturn]] TW_API void raise_last_error(const LastError& error, std::string_view function);
// Keeps the exception being handled (call in a catch block) as this thread's last error.
TW_API void keep_current_exception();
// Runs body() and turns what it throws into this thread's last error.
template <class Result, class Body>
Result guarded(Result on_failure, Body body) {
  try {
    return body();
  } catch (...) {
    keep_current_exception();
    return on_failure;
  }
}

}  // namespace tw
