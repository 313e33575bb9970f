// SPDX-License-Identifier: Apache-2.0
// Operators that take parts of a tensor, or its elements in reverse. Element types stay.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi {

// The elements that begin:end:stride takes of an extent: the first, from one to the next, how many.
// As Python's slice.indices: a position behind the end is the end, one before the beginning is
// that. A stride longer than the extent takes one element, as one of its length does.
struct SliceRange {
  int64_t begin, stride, count;
};
SliceRange slice_range(int64_t begin, int64_t end, int64_t stride, int64_t extent);
// NumPy's a[begin:end:strides] for each dimension: counted from the end where negative, cut to the
// extent, backward where the stride is negative. What the lists do not reach is taken whole.
// BadShape where an extent that is cut is not constant; BadArgument for strides of 0, for lists
// that are longer than the rank or of different lengths, and where nothing is left of a dimension.
Tensor strided_slice(const Tensor& a, const std::vector<int64_t>& begin,
                     const std::vector<int64_t>& end, const std::vector<int64_t>& strides = {},
                     const std::string& name = "T_strided_slice",
                     const std::string& tag = kInjective);
// So many equal parts, or the positions at which parts begin, but for the first.
using Sections = std::variant<int64_t, std::vector<int64_t>>;
// `a` in parts along `axis`, whose extent must be constant. BadArgument where it is no multiple of
// the number of parts, or a part would be empty. NumPy split.
std::vector<Tensor> split(const Tensor& a, const Sections& sections, int axis = 0,
                          const std::string& name = "T_split", const std::string& tag = kInjective);
// The elements along `axis` from the last to the first. NumPy flip.
Tensor flip(const Tensor& a, int axis = 0, const std::string& name = "T_flip",
            const std::string& tag = kInjective);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> slice_rows();

}  // namespace tw::topi
