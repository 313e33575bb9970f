// SPDX-License-Identifier: Apache-2.0
#include "autotune/task/packed_arguments.h"

#include <algorithm>
#include <iterator>

namespace tw::autotune {
namespace {

class ArgumentNumbers {
 public:
  explicit ArgumentNumbers(const te::Program& program) : arguments_(program.arguments) {}

  std::vector<size_t> of(const Kernel& kernel) {
    std::vector<size_t> numbers;
    size_t output = 0;  // those of an entry stand in the program's order
    for (const KernelArgument& a : kernel.arguments) {
      if (te::as_op<te::OperationNode>(a.producer)->is_placeholder()) {
        numbers.push_back(
            number_of([&](const te::Tensor& t) { return t.op().get() == a.producer.get(); }));
      } else if (kernel.role == KernelRole::Entry && a.is_output) {
        output = number_of([](const te::Tensor& t) { return !t.op()->is_placeholder(); }, output);
        numbers.push_back(output++);
      } else {
        auto known =
            std::ranges::find_if(prepared_, [&](const Var& v) { return v.same_as(a.var); });
        if (known == prepared_.end()) known = prepared_.insert(known, a.var);
        numbers.push_back(arguments_.size() + static_cast<size_t>(known - prepared_.begin()));
      }
    }
    return numbers;
  }

 private:
  template <class F>
  size_t number_of(F is_it, size_t from = 0) const {
    const auto place =
        std::find_if(arguments_.begin() + static_cast<ptrdiff_t>(from), arguments_.end(), is_it);
    return static_cast<size_t>(place - arguments_.begin());
  }

  const std::vector<te::Tensor>& arguments_;
  std::vector<Var> prepared_;
};

}  // namespace

std::vector<te::Tensor> read_constants(const te::Program& program) {
  const std::vector<te::Tensor> read = te::placeholders(program.outputs);
  std::vector<te::Tensor> constants;
  std::ranges::copy_if(program.arguments, std::back_inserter(constants), [&](const auto& t) {
    return te::is_constant(t) && std::ranges::find(read, t) != read.end();
  });
  return constants;
}

PackedArguments packed_arguments(const te::Program& program, const KernelModule& module) {
  ArgumentNumbers numbers(program);
  PackedArguments result;
  if (const Kernel* preparation = module.preparation())
    result.preparation = numbers.of(*preparation);
  result.entry = numbers.of(module.entry());
  return result;
}

}  // namespace tw::autotune
