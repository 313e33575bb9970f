// SPDX-License-Identifier: Apache-2.0
// What a Module of Python is.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/module.h"

namespace tw::python {

// Which arguments a kernel writes; unknown (empty) for loaded libraries.
using Written = std::shared_ptr<const std::vector<bool>>;

struct PyModule {
  std::shared_ptr<Module> module;
  std::map<std::string, Written> written;
  std::string origin = {};
};

}  // namespace tw::python
