// SPDX-License-Identifier: Apache-2.0
// Typed errors. A message says what was wrong, where, and what would be legal.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "runtime/api.h"

namespace tw {

enum class ErrorKind : uint8_t { User, Internal, Measure };

enum class ErrorCode : uint16_t {
#define ERROR_CODE(Name, Kind, Text) Name,
#include "runtime/error_codes.def"
#undef ERROR_CODE
};

TW_API ErrorKind kind_of(ErrorCode code);
// The stable id, such as "not-a-leaf-axis".
TW_API std::string_view to_string(ErrorCode code);

// Everything an error knows. `what` alone is required. Text is lower-case, no final period.
struct ErrorInfo {
  ErrorCode code = ErrorCode::Internal;
  std::string what;   // what was wrong
  std::string stage;  // name of the stage, where there is one
  std::string axis;   // name of the axis, where there is one
  std::string where;  // "script.py:12", "layer.te:3", a pass, an argument
  std::string legal;  // what would be legal
};

class TW_API Error : public std::runtime_error {
 public:
  explicit Error(ErrorInfo info);
  ~Error() override;
  const ErrorInfo& info() const { return info_; }
  ErrorCode code() const { return info_.code; }

 private:
  ErrorInfo info_;
};

// What the user asked for is wrong, and can be put right by the user.
class TW_API UserError : public Error {
 public:
  using Error::Error;
  ~UserError() override;
};
// The project is wrong.
class TW_API InternalError : public Error {
 public:
  using Error::Error;
  ~InternalError() override;
};
// A candidate failed to compile, run or compute the right thing.
class TW_API MeasureError : public Error {
 public:
  using Error::Error;
  ~MeasureError() override;
};

// Throws the class that the code's kind asks for.
[[noreturn]] TW_API void raise(ErrorInfo info);

// An invariant of ours; `raise`s ErrorCode::Internal with file and line.
#define TW_CHECK(condition, ...) \
  ((condition) ? void(0) : ::tw::check_failed(__FILE__, __LINE__, #condition, ##__VA_ARGS__))
[[noreturn]] TW_API void check_failed(const char* file, int line, const char* condition,
                                      std::string_view detail = {});

}  // namespace tw
