// SPDX-License-Identifier: Apache-2.0
// A te program as text: printed, parsed and hashed canonically, so that a worker process, the log
// and a replay on another machine rebuild the workload from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/te/operation.h"

namespace tw::te {

// A program's interface: arguments in call order (placeholders, then outputs, unless said
// otherwise) and the outputs among them.
struct Program {
  std::vector<Tensor> arguments;
  std::vector<Tensor> outputs;
};
// Placeholders in order of first use, then outputs.
Program make_program(const std::vector<Tensor>& outputs);
// The arguments that are constant placeholders.
std::vector<Tensor> constants_of(const Program& program);

// Throws NotTextual when a body holds something that only the process knows (a free variable that
// no shape declares, an unregistered call).
std::string to_text(const Program& program);
// Throws ParseError with line and column.
Program parse_program(std::string_view text);
// Hash of the program with all names, and the arguments that no output is computed from, taken out;
// the same on every machine.
uint64_t workload_hash(const Program& program);
// The hash as 16 hexadecimal digits, for logs and messages.
std::string workload_id(const Program& program);
// Floating-point operations (an fma is two) of one run; integer multiply-adds count the same.
// Symbolic extents are refused (SymbolicExtent).
double count_operations(const Program& program);

}  // namespace tw::te
