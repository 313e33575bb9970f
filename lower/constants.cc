// SPDX-License-Identifier: Apache-2.0
// Values for the constants of kernels.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/expr.h"
#include "lower/pipeline.h"
#include "runtime/error.h"

namespace tw {
namespace {

std::vector<int64_t> shape_of(const KernelConstant& constant) {
  std::vector<int64_t> shape;
  for (const Expr& extent : constant.shape) shape.push_back(as_const_int(extent).value());
  return shape;
}

void check_value(const KernelConstant& constant, const NDArray& value) {
  const auto refuse = [&](ErrorCode code, std::string what, std::string legal) {
    raise({.code = code,
           .what = fmt::format("constant '{}': {}", constant.name, what),
           .legal = std::move(legal)});
  };
  if (!value.defined()) refuse(ErrorCode::BadArgument, "the array is undefined", "an array");
  if (value.dtype() != constant.dtype) {
    refuse(ErrorCode::ArgumentDType, fmt::format("the type is {}", to_string(value.dtype())),
           to_string(constant.dtype));
  }
  const std::vector<int64_t> shape = shape_of(constant);
  if (!std::ranges::equal(value.shape(), shape)) {
    refuse(ErrorCode::ArgumentShape,
           fmt::format("the shape is [{}]", fmt::join(value.shape(), ", ")),
           fmt::format("[{}]", fmt::join(shape, ", ")));
  }
  if (!value.is_contiguous()) {
    refuse(ErrorCode::ArgumentStrides, "the array is not compact", "a row-major copy of it");
  }
}

// The constants of all kernels, those that are one array together.
std::vector<std::vector<KernelConstant*>> arrays_of(KernelModule& module) {
  std::vector<std::vector<KernelConstant*>> arrays;
  for (Kernel& kernel : module.kernels) {
    for (KernelConstant& c : kernel.constants) {
      auto same = std::ranges::find_if(
          arrays, [&](const auto& array) { return array.front()->var.same_as(c.var); });
      if (same == arrays.end()) same = arrays.insert(arrays.end(), std::vector<KernelConstant*>());
      same->push_back(&c);
    }
  }
  return arrays;
}

KernelArgument as_argument(const KernelConstant& constant, bool is_output) {
  return {.name = constant.name,
          .dtype = constant.dtype,
          .shape = constant.shape,
          .var = constant.var,
          .is_output = is_output,
          .producer = constant.producer,
          .value_index = constant.value_index};
}

bool is_precomputed(const KernelConstant& constant) {
  return !te::as_op<te::OperationNode>(constant.producer)->is_placeholder();
}

}  // namespace

KernelModule constants_to_arguments(KernelModule module) {
  for (Kernel& kernel : module.kernels) {
    const bool fills = kernel.role == KernelRole::Preparation;
    std::vector<KernelArgument> inputs, outputs;
    for (const KernelConstant& c : kernel.constants) {
      const bool is_output = fills && is_precomputed(c);
      (is_output ? outputs : inputs).push_back(as_argument(c, is_output));
    }
    const auto first_output = std::ranges::find(kernel.arguments, true, &KernelArgument::is_output);
    kernel.arguments.insert(first_output, inputs.begin(), inputs.end());
    kernel.arguments.insert(kernel.arguments.end(), outputs.begin(), outputs.end());
    kernel.constants.clear();
  }
  return module;
}

void bind_constants(KernelModule& module, const std::vector<ConstantValue>& values) {
  for (const std::vector<KernelConstant*>& array : arrays_of(module)) {
    const KernelConstant& constant = *array.front();
    const auto given = std::ranges::find_if(values, [&](const ConstantValue& v) {
      return v.placeholder.op().get() == constant.producer.get();
    });
    NDArray value;
    if (given != values.end()) {
      value = given->value;
      check_value(constant, value);
      // Code generation relies on it.
      if (reinterpret_cast<uintptr_t>(value.data()) % NDArray::kAlignment != 0)
        value = value.copy();
    } else if (is_precomputed(constant)) {
      // Lanes of padding stay as they are and are reckoned with: what an allocator left there may
      // be denormal numbers, which take a hundred times as long.
      value = NDArray::zeros(shape_of(constant), constant.dtype);
    } else {
      raise({.code = ErrorCode::ArgumentNotInProgram,
             .what = fmt::format("constant '{}' has no value", constant.name),
             .legal = "a value for each constant"});
    }
    for (KernelConstant* c : array) c->value = value;
  }
}

}  // namespace tw
