// SPDX-License-Identifier: Apache-2.0
// A workload by its text, with input data.
#include <algorithm>
#include <cctype>

#include "bench/contestant.h"
#include "runtime/element.h"
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

// Floats uniform in [-1, 1), integers of 8 bits any, wider ones small.
void fill(const NDArray& array, std::mt19937& rng) {
  const DType type = array.dtype();
  auto* at = static_cast<char*>(array.data());
  std::uniform_real_distribution<float> reals(-1, 1);
  std::uniform_int_distribution<int> integers(type.is_uint() ? 0 : -128,
                                              type.is_uint() ? 255 : 127);
  for (int64_t i = 0; i < array.size(); ++i, at += type.element_bytes()) {
    if (type.is_float()) {
      store_double(at, type, reals(rng));
    } else {
      store_int(at, type, integers(rng));
    }
  }
}

}  // namespace

int64_t size_or(const Problem& problem, const char* name, int64_t otherwise) {
  const auto found = problem.size.find(name);
  return found == problem.size.end() ? otherwise : found->second;
}

bool is_float32(const Problem& problem) {
  return problem.output.dtype() == float_type(32) &&
         std::ranges::all_of(problem.inputs,
                             [](const NDArray& a) { return a.dtype() == float_type(32); });
}

Problem make_problem(const std::string& text, std::mt19937& rng) {
  Problem problem{.workload = autotune::parse_workload(text)};
  parse_sizes(problem.workload.text, problem);
  const te::Program& program = problem.workload.program;
  problem.operations = te::count_operations(program);
  problem.output = NDArray::zeros(shape_of(program.outputs.at(0)), program.outputs[0].dtype());
  for (size_t i = 0; i + 1 < program.arguments.size(); ++i) {
    NDArray array = NDArray::empty(shape_of(program.arguments[i]), program.arguments[i].dtype());
    fill(array, rng);
    problem.inputs.push_back(std::move(array));
  }
  return problem;
}

}  // namespace tw::bench
