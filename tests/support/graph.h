// SPDX-License-Identifier: Apache-2.0
// What tests of graphs are written with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/symbol.h"

namespace tw::graph {

// An operator on inputs by position.
inline Symbol call(std::string_view op, std::string name, const std::vector<Symbol>& inputs,
                   Attributes attributes = {}) {
  return Symbol::call(op, std::move(name), inputs, {}, std::move(attributes));
}

}  // namespace tw::graph
