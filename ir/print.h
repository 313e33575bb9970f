// SPDX-License-Identifier: Apache-2.0
// IR as text, in the style of the seeds:
//   produce C { parallel (i0.i1.fused, 0, 21) { C[i0.i1.fused] = 0.000000f } }
// Names that stand for different variables get suffixes (i, i_1) in the order they are met.
#pragma once

#include <string>
#include <vector>

#include "ir/node.h"

namespace tw {

struct PrintOptions {
  // Lines ahead of the text that give the types of free variables, buffers and producers
  // ("declare A: float32*"), so that parse() needs nothing else.
  bool declarations = false;
};

std::string to_string(const Expr& e, const PrintOptions& options = {});
std::string to_string(const Stmt& s, const PrintOptions& options = {});

}  // namespace tw
