// SPDX-License-Identifier: Apache-2.0
#include "runtime/error.h"

#include <fmt/format.h>

#include <utility>

namespace tw {
namespace {

struct CodeRow {
  ErrorKind kind;
  std::string_view text;
};

constexpr CodeRow kCodes[] = {
#define ERROR_CODE(Name, Kind, Text) {ErrorKind::Kind, Text},
#include "runtime/error_codes.def"
#undef ERROR_CODE
};

// "stage 'C', axis 'i' (conv.py:12): factor is 0; legal: a positive integer"
std::string message(const ErrorInfo& info) {
  std::string place;
  if (!info.stage.empty()) place += fmt::format("stage '{}'", info.stage);
  if (!info.axis.empty()) place += fmt::format("{}axis '{}'", place.empty() ? "" : ", ", info.axis);
  if (!info.where.empty()) place += fmt::format("{}{}", place.empty() ? "" : ", ", info.where);
  std::string text = place.empty() ? info.what : fmt::format("{}: {}", place, info.what);
  if (!info.legal.empty()) text += fmt::format("; legal: {}", info.legal);
  return text;
}

// The path from the project's root, so that a message is the same on every machine.
std::string_view project_path(std::string_view file) {
  for (std::string_view folder :
       {"/runtime/", "/ir/", "/schedule/", "/lower/", "/autotune/", "/graph/", "/python/"}) {
    if (auto at = file.rfind(folder); at != std::string_view::npos) file = file.substr(at + 1);
  }
  return file;
}

}  // namespace

ErrorKind kind_of(ErrorCode code) { return kCodes[static_cast<size_t>(code)].kind; }
std::string_view to_string(ErrorCode code) { return kCodes[static_cast<size_t>(code)].text; }

Error::Error(ErrorInfo info) : std::runtime_error(message(info)), info_(std::move(info)) {}
Error::~Error() = default;
UserError::~UserError() = default;
InternalError::~InternalError() = default;
MeasureError::~MeasureError() = default;

void raise(ErrorInfo info) {
  switch (kind_of(info.code)) {
    case ErrorKind::User:
      throw UserError(std::move(info));
    case ErrorKind::Internal:
      throw InternalError(std::move(info));
    case ErrorKind::Measure:
      throw MeasureError(std::move(info));
  }
  throw InternalError(std::move(info));
}

void check_failed(const char* file, int line, const char* condition, std::string_view detail) {
  raise({.code = ErrorCode::Internal,
         .what = fmt::format("{}{}{}", condition, detail.empty() ? "" : ": ", detail),
         .where = fmt::format("{}:{}", project_path(file), line),
         .legal = {}});
}

}  // namespace tw
