// SPDX-License-Identifier: Apache-2.0
// A compiled candidate, and the arrays that its calls need.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autotune/task/cold_constants.h"
#include "autotune/task/packed_arguments.h"
#include "autotune/task/task.h"
#include "lower/llvm/target.h"
#include "runtime/module.h"
#include "runtime/ndarray.h"
#include "schedule/te/text.h"

namespace tw::autotune {

// Hot: constants are bound to the code, as a build of a single program has them; calls find them
// where the one before left them. ColdConstants: they are arguments, packed by the preparation, as
// a network's kernels take them, and cold at each call (cold_constants.h).
class CompiledCandidate {
 public:
  // Replays the trace, lowers and compiles, exactly as a build from the record will. `arrays` gives
  // one array for each argument of the program; it is called where constants are to be bound.
  CompiledCandidate(const te::Program& program, const std::string& trace, const Target& target,
                    CacheState caches, const std::function<const std::vector<NDArray>&()>& arrays);

  // Structural hash of the lowered kernel.
  const std::string& ir_hash() const { return ir_hash_; }
  // Before the first call: packs what is packed. Any call after the first does nothing.
  void prepare(const te::Program& program, const std::vector<NDArray>& arrays);
  // The first one has the arrays that were given; only its result is right.
  void call();

 private:
  CacheState caches_;
  std::string ir_hash_;
  Function function_;
  Function preparation_;       // undefined where nothing is precomputed
  PackedArguments arguments_;  // of the functions
  std::optional<ArgumentRotation> calls_;
};

}  // namespace tw::autotune
