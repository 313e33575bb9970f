// SPDX-License-Identifier: Apache-2.0
#include "autotune/task/machine_kind.h"

#include <fmt/format.h>
#include <unistd.h>

#include "lower/llvm/target.h"
#include "runtime/machine.h"

namespace tw::autotune {
namespace {

constexpr std::string_view kSeparator = "; ";

std::string_view model(std::string_view kind) { return kind.substr(0, kind.find(kSeparator)); }
bool names_model_alone(std::string_view kind) { return kind == model(kind); }

}  // namespace

const std::string& host_name() {
  static const std::string name = [] {
    char text[256] = "";
    gethostname(text, sizeof text - 1);
    return std::string(text);
  }();
  return name;
}

const std::string& machine_kind() {
  static const std::string kind =
      fmt::format("{}{}{}", host().cpu_name, kSeparator, Target::host().text());
  return kind;
}

bool same_kind(std::string_view a, std::string_view b) {
  if (a == b || a.empty() || b.empty()) return true;
  return (names_model_alone(a) || names_model_alone(b)) && model(a) == model(b);
}

}  // namespace tw::autotune
