// SPDX-License-Identifier: Apache-2.0
// set_scope
#include "schedule/primitives/apply.h"
#include "schedule/primitives/checks.h"

namespace tw {

StepResults apply_set_scope(const PrimitiveCall& call) {
  const std::string& scope = call.text(1);
  require_scope(call, scope);
  if (call.stage().is_output && scope != "global") {
    call.fail({.code = ErrorCode::BadArgument,
               .what = "the memory of an output belongs to the caller",
               .legal = "cache_write, and the scope of the cache"});
  }
  call.stage().scope = scope;
  return {};
}

}  // namespace tw
