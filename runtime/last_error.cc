// SPDX-License-Identifier: Apache-2.0
#include "runtime/last_error.h"

#include <cstring>
#include <exception>
#include <new>
#include <string>

namespace tw {

void LastError::assign(ErrorCode new_code, std::string_view text) {
  present = true;
  code = new_code;
  const size_t length = text.size() < sizeof message ? text.size() : sizeof message - 1;
  // The text may be this very message: an error passed on.
  std::memmove(message, text.data(), length);
  message[length] = '\0';
}

LastError& last_error() {
  static thread_local LastError error;
  return error;
}

void raise_last_error(const LastError& error, std::string_view function) {
  std::string what = error.present ? std::string(error.message) : std::string();
  if (what.empty()) what = "'" + std::string(function) + "' failed and said nothing";
  raise({.code = error.present ? error.code : ErrorCode::Internal, .what = std::move(what)});
}

void keep_current_exception() {
  LastError& error = last_error();
  try {
    throw;
  } catch (const Error& e) {
    error.assign(e.code(), e.what());
  } catch (const std::bad_alloc&) {
    error.assign(ErrorCode::OutOfMemory, "out of memory");
  } catch (const std::exception& e) {
    error.assign(ErrorCode::Internal, e.what());
  } catch (...) {
    error.assign(ErrorCode::Internal, "an exception of unknown type");
  }
}

}  // namespace tw
