// SPDX-License-Identifier: Apache-2.0
// A workload by its text, with input data.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "bench/contestant.h"
#include "runtime/error.h"
#include "schedule/te/text.h"

namespace tw::bench {
namespace {

std::vector<int64_t> shape_of(const te::Tensor& tensor) {
  std::vector<int64_t> shape;
  for (const Expr& extent : tensor.shape()) shape.push_back(as<IntImm>(extent)->value);
  return shape;
}

// "gemm:m=512,n=512,k=512" into kind and sizes.
void parse_sizes(const std::string& text, Problem& problem) {
  const size_t colon = text.find(':');
  problem.kind = text.substr(0, colon);
  for (size_t begin = colon + 1; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const size_t equals = text.find('=', begin);
    if (equals < end && std::isdigit(static_cast<unsigned char>(text[equals + 1])) != 0) {
      problem.size[text.substr(begin, equals - begin)] = std::stoll(text.substr(equals + 1));
    }
    begin = end + 1;
  }
}

}  // namespace

Problem make_problem(const std::string& text, std::mt19937& rng) {
  Problem problem{.workload = autotune::parse_workload(text)};
  parse_sizes(problem.workload.text, problem);
  const te::Program& program = problem.workload.program;
  problem.operations = te::count_operations(program);
  problem.output = NDArray::zeros(shape_of(program.outputs.at(0)), program.outputs[0].dtype());
  std::uniform_real_distribution<float> values(-1, 1);
  for (size_t i = 0; i + 1 < program.arguments.size(); ++i) {
    NDArray array = NDArray::empty(shape_of(program.arguments[i]), program.arguments[i].dtype());
    if (array.dtype() != float_type(32)) {
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("workload '{}' is not of float32", text),
             .legal = "float32"});
    }
    std::generate_n(array.data_as<float>(), array.size(), [&] { return values(rng); });
    problem.inputs.push_back(std::move(array));
  }
  return problem;
}

}  // namespace tw::bench
