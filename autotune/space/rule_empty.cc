// SPDX-License-Identifier: Apache-2.0
// An axis of extent 0: there is nothing to schedule, and nothing that is computed for others.
#include "autotune/space/rules.h"

namespace tw::autotune {
namespace {

int variants(const Builder& b, size_t op) { return b.facts(op).op->has_points() ? 0 : 1; }

void apply(Builder& b, size_t op, int) {
  b.describe("empty", op);
  b.mark_done(op);
}

}  // namespace

const Rule kEmptyRule = {"empty", variants, apply};

}  // namespace tw::autotune
