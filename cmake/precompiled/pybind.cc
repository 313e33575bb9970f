// SPDX-License-Identifier: Apache-2.0
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "cmake/precompiled/std.h"
