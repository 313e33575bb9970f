// SPDX-License-Identifier: Apache-2.0
// Statements that bring the elements of one row in order, all of them or the first few; equal ones
// keep theirs.
#pragma once

#include <cstdint>
#include <functional>

#include "schedule/topi/statements.h"

namespace tw::topi {

// As what elements are compared: integers, of which the processor knows at once which goes first.
DType key_type(DType type);
// An integer whose order is that of the elements: of floats the magnitude with the sign, which is
// the same for both zeros, and the greatest one for NaN.
Expr key_of(const Expr& element);

using KeyAt = std::function<Expr(const Expr&)>;  // of an element of the row, by its number

// How rows of a length are brought in order.
struct RowOrder {
  int64_t memory;  // elements that `keys` and `places` have
  int64_t chunk;   // and `ranks`
  Expr result;     // where in `places` those of the elements in order begin
  // Of the first `count` elements of a row: all of them, unless every element is kept.
  std::function<Stmt(const Memory& keys, const Memory& places, const Memory& ranks,
                     const Expr& count, const KeyAt& key_at)>
      run;
};
// Of rows of `extent` elements the first `keep`.
RowOrder row_order(int64_t extent, int64_t keep, bool ascending);

}  // namespace tw::topi
