// SPDX-License-Identifier: Apache-2.0
// Which values an index takes while loops run: a symbolic minimum and an extent that is a constant
// wherever possible, since extents size buffers and loops. Where the exact extent would depend on
// an outer loop, as for a window that starts anywhere in a row, the largest one is taken.
#pragma once

#include "ir/arithmetic/analyzer.h"
#include "schedule/relation.h"

namespace tw {

// Undefined members: nothing is known.
inline bool is_known(const Range& r) { return r.min.defined() && r.extent.defined(); }
bool is_single(const Range& r);
// Whether both are written alike, be it in nodes of their own: a program that was read from text
// has an expression for each place that names a size.
bool is_same(const Range& a, const Range& b);
// What positions of an axis of that extent are divided by. An empty axis has none, and anything but
// zero will do.
Expr divisor_of(const Expr& extent);

class IndexRange {
 public:
  // Variables that are not in `ranges` are symbols that stay. Both arguments must outlive this.
  IndexRange(const DomainMap& ranges, Analyzer& analyzer) : ranges_(ranges), analyzer_(analyzer) {}
  Range operator()(const Expr& index) const;

 private:
  const DomainMap& ranges_;
  Analyzer& analyzer_;
};

// The smallest range found that covers both.
Range unite(const Range& a, const Range& b, Analyzer& analyzer);
// The range when it is known to be smaller than `whole`, otherwise `whole`.
Range clip(const Range& r, const Range& whole);
// Values of floor_div(v, divisor) and floor_mod(v, divisor), divisor > 0, for v in `r`.
Range floor_div(const Range& r, const Expr& divisor, Analyzer& analyzer);
Range floor_mod(const Range& r, const Expr& divisor, Analyzer& analyzer);

}  // namespace tw
