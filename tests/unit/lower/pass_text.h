// SPDX-License-Identifier: Apache-2.0
// Runs one pass on IR given as text.
#pragma once

#include <string>
#include <string_view>

#include "ir/parse.h"
#include "ir/print.h"
#include "lower/passes.h"

namespace tw {

inline Kernel run_pass(KernelPass pass, Kernel kernel, const PassOptions& options = {},
                       const Target& target = {}) {
  return pass(std::move(kernel), PassContext{options, target});
}

// `text` starts with declarations, as parse_stmt takes them; the result has none.
inline std::string run_pass(KernelPass pass, std::string_view text,
                            const PassOptions& options = {}) {
  return to_string(run_pass(pass, Kernel{.body = parse_stmt(text)}, options).body);
}

}  // namespace tw
