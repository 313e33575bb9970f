// SPDX-License-Identifier: Apache-2.0
// A case that failed, as a file that a test runs again: tests/fuzz/reproducers/*.txt.
#pragma once

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "ir/visit.h"
#include "tests/support/schedule_case.h"

namespace tw::test {

inline constexpr char kTraceBegins[] = "--- trace\n", kValuesBegin[] = "--- values\n";

// The variables that the shapes of the arguments name.
inline std::map<std::string, Var> symbols_of(const te::Program& program) {
  std::map<std::string, Var> symbols;
  for (const te::Tensor& t : program.arguments) {
    for (const Expr& extent : t.shape()) {
      for_each_expr(extent, [&](const Expr& e) {
        if (const Variable* v = as<Variable>(e)) symbols.emplace(Var(v).name(), Var(v));
      });
    }
  }
  return symbols;
}

// The program, the trace, and the values of symbols and of the seed that fills the inputs.
inline std::string to_text(const ScheduleCase& c) {
  const std::map<std::string, Var> symbols = symbols_of(c.program);
  std::string text = te::to_text(c.program) + kTraceBegins + to_text(c.trace) + kValuesBegin;
  for (const auto& [var, value] : c.scalars) {
    if (symbols.contains(var.name())) text += fmt::format("{} = {}\n", var.name(), value);
  }
  return text + fmt::format("seed = {}\n", c.data_seed);
}

inline ScheduleCase parse_case(const std::string& text) {
  const size_t trace = text.find(kTraceBegins), values = text.find(kValuesBegin);
  if (trace == std::string::npos || values == std::string::npos || values < trace)
    throw std::runtime_error("a case is a program, a trace and values");
  const size_t steps = trace + std::string_view(kTraceBegins).size();
  ScheduleCase c{.program = te::parse_program(text.substr(0, trace)),
                 .trace = parse_trace(text.substr(steps, values - steps))};
  const std::map<std::string, Var> symbols = symbols_of(c.program);
  std::istringstream lines(text.substr(values + std::string_view(kValuesBegin).size()));
  std::string name, equals;
  for (uint64_t value = 0; lines >> name >> equals >> value;) {
    if (name == "seed") {
      c.data_seed = value;
    } else {
      c.scalars.emplace_back(symbols.at(name), static_cast<int64_t>(value));
    }
  }
  return c;
}

// Writes the case into the folder that TW_FUZZ_KEEP names; gives the file, or nothing without one.
inline std::string keep_reproducer(const ScheduleCase& c, const std::string& name) {
  const char* folder = std::getenv("TW_FUZZ_KEEP");
  if (folder == nullptr) return "";
  std::filesystem::create_directories(folder);
  const std::string file = (std::filesystem::path(folder) / (name + ".txt")).string();
  std::ofstream(file) << to_text(c);
  return file;
}

}  // namespace tw::test
