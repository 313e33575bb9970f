// SPDX-License-Identifier: Apache-2.0
#include "python/constants.h"

#include <fmt/format.h>

#include <utility>

#include "python/array.h"

namespace tw::python {

std::vector<ConstantValue> to_constants(const py::list& pairs) {
  std::vector<ConstantValue> result;
  for (py::handle pair : pairs) {
    const auto& [tensor, array] = pair.cast<std::pair<py::object, py::object>>();
    if (!py::isinstance<te::Tensor>(tensor)) {
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("a value is given for {}", describe(tensor)),
             .legal = "constants={placeholder: array}"});
    }
    result.push_back({tensor.cast<te::Tensor>(), borrow(array).copy()});
  }
  return result;
}

}  // namespace tw::python
