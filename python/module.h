// SPDX-License-Identifier: Apache-2.0
// Modules and functions as Python holds them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "python/bind.h"
#include "runtime/module.h"

namespace tw::python {

// Which arguments a kernel writes; unknown (null) for loaded libraries.
using Written = std::shared_ptr<const std::vector<bool>>;

struct PyFunction {
  Function function;
  Written written;
};
struct PyModule {
  std::shared_ptr<Module> module;
  std::map<std::string, Written> written;
  std::string origin = {};
};

}  // namespace tw::python
