// SPDX-License-Identifier: Apache-2.0
// Sketch rules: how each operation of a program may be scheduled. A rule says whether it applies to
// an operation, in which variants, and applies one of them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/space/builder.h"

namespace tw::autotune {

struct Rule {
  std::string_view name;
  // How many ways there are to apply it to the operation; 0: it does not apply. Sketches try each
  // way; see decisions.h.
  int (*variants)(const Builder&, size_t op);
  void (*apply)(Builder&, size_t op, int variant);
  // Whether rules after this one are alternatives to it.
  bool has_alternatives = false;
};

// An operation whose loops do not run stays as it is; rule_empty.cc.
extern const Rule kEmptyRule;
// A product in tile registers; rule_tile_registers.cc. What follows remains possible.
extern const Rule kTileRegistersRule;
// S-S-R-S-R-S multi-level tiling of a reduction with reuse; rule_tile.cc.
extern const Rule kTileRule;
// A cheap operation between others is substituted into its consumers; rule_inline.cc.
extern const Rule kInlineRule;
// The same of an operation with a condition, whose consumer reads it anew for every element; what
// follows remains possible; rule_inline.cc.
extern const Rule kInlineConditionRule;
// Vectors along a reduction over what lies side by side; rule_lanes.cc.
extern const Rule kLanesRule;
// Tiles that are read along another axis than they are written; rule_transpose.cc.
extern const Rule kTransposeRule;
// The fall-back: parallel outer loops, the last axis in vectors; rule_loops.cc.
extern const Rule kLoopsRule;

// Vectors, and threads by choice, in the steps of a scan; rule_scan.cc.
extern const Rule kScanRule;

// A user's own rule, asked before those above.
struct UserRule {
  std::string name;
  std::function<int(const Builder&, size_t op)> variants;
  std::function<void(Builder&, size_t op, int variant)> apply;
  bool has_alternatives = true;  // ours remain possible
};

// All sketches of a task.
std::vector<Sketch> make_sketches(const Task& task, std::span<const UserRule> own = {});

}  // namespace tw::autotune
