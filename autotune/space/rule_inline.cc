// SPDX-License-Identifier: Apache-2.0
#include "autotune/space/rules.h"

namespace tw::autotune {
namespace {

// It may be written into its consumers, and what that makes of their expressions stays small.
bool may_inline(const Builder& b, size_t op) {
  const OperationFacts& f = b.facts(op);
  return !f.is_output && !f.is_reduction && f.op->num_outputs() == 1 &&
         b.reads_of(op).copies <= kMostCopies;
}

int variants(const Builder& b, size_t op) {
  const OperationFacts& f = b.facts(op);
  if (!may_inline(b, op)) return 0;
  if (f.has_condition) return 0;  // a test at every use costs more than a copy without
  const Builder::Reads reads = b.reads_of(op);
  return !f.carries_math || (reads.copies == 1 && !reads.repeated) ? 1 : 0;
}

int variants_of_condition(const Builder& b, size_t op) {
  const OperationFacts& f = b.facts(op);
  return may_inline(b, op) && f.has_condition && !f.carries_math && f.read_anew ? 1 : 0;
}

void apply(Builder& b, size_t op, int) {
  b.describe("inline", op);
  b.stage(op).compute_inline();
  b.inherit_attach_points(op, b.common_attach_points(op));
  b.mark_done(op);
  b.mark_inlined(op);
}

}  // namespace

const Rule kInlineRule = {"inline", variants, apply};
const Rule kInlineConditionRule = {"inline condition", variants_of_condition, apply,
                                   /*has_alternatives=*/true};

}  // namespace tw::autotune
