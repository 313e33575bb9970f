// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "python/bind.h"

namespace tw::python {

void bind_onnx(py::module_& m);

}  // namespace tw::python
