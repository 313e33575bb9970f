// SPDX-License-Identifier: Apache-2.0
// Arrays that cross between Python and kernels.
#pragma once

#include "python/bind.h"
#include "runtime/ndarray.h"

namespace tw::python {

// A view of the object's memory, without a copy: an NDArray, a NumPy array (bfloat16 of ml_dtypes
// too), or anything with __dlpack__. The view keeps the object alive. Throws ArgumentDType,
// ArgumentStrides, ArgumentDevice, ArgumentNull; BadArgument for what is no array.
NDArray borrow(py::handle object);
bool is_array(py::handle object);

}  // namespace tw::python
