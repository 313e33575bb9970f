// SPDX-License-Identifier: Apache-2.0
// What a schedule may do to the terms of a reduction. The expression takes them one after the
// other, its last axis fastest: a = f(a, x) for each term x, from the identity on, or from what
// else it starts from. Users give any f and identity (te.comm_reducer), so that whoever takes the
// terms otherwise asks here.
//
// Both answers are found by trying to refute, not by proof: sums, products, minima and maxima with
// their identities are known; of other reducers values of the terms are drawn (small numbers of the
// types that the reducer has; a term that is a constant is that constant), and what the one and the
// other order give is compared, for floats within their rounding. A reducer that takes one of its
// operands whole, by comparing keys, as an argmax does, is compared by its keys: of terms with
// equal keys any may be taken. What cannot be evaluated, such as a call of an extern function, may
// not be taken otherwise.
#pragma once

#include <string>

#include "schedule/te/compute.h"

namespace tw::te {

// Of a compute that is a reduction: why another order of the terms gives something else, with an
// example; "" where none is found.
std::string order_matters(const ComputeNode& reduction);
// Why something else is found where the terms are taken in groups, one after the other and each
// from the identity on, and what the groups give is combined then; "" where nothing else is found.
std::string grouping_matters(const ComputeNode& reduction);

}  // namespace tw::te
