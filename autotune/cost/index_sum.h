// SPDX-License-Identifier: Apache-2.0
// An index as loops move it: a sum of loop variables and of digits of such sums, times constants.
// A digit is (sum // divisor) % modulus; p//56 and p%56, which a fused loop gives, are digits of p.
// Digits that follow one another join: (p//56)*56 + p%56 is p.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ir/node.h"

namespace tw::autotune {

struct IndexSum {
  struct Term {
    Expr atom;                                // a variable, or what is neither a sum nor a digit
    std::shared_ptr<const IndexSum> of = {};  // else the sum whose digit it is
    int64_t divisor = 1, modulus = 0;         // of the digit; modulus 0: none
    int64_t coefficient = 1;
  };
  std::vector<Term> terms;
  int64_t constant = 0;

  int digits() const;  // those within digits too
};

// `divisions`: how many quotients and remainders by constants the expression computes; those that
// join in the sum are counted.
IndexSum index_sum(const Expr& e, int* divisions = nullptr);
// outer * extent + inner, the position of an element in two dimensions taken as one.
IndexSum joined(const IndexSum& outer, int64_t extent, const IndexSum& inner);

}  // namespace tw::autotune
