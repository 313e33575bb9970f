// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

namespace tw {

// Which passes an environment variable such as TILEWRIGHT_DUMP=simplify,make_api selects: those
// that it names, or each where "all" stands there. `require` refuses what is no name.
std::function<bool(std::string_view)> selected_names(
    const char* variable, const std::function<void(std::string_view)>& require);

}  // namespace tw
