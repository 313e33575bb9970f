// SPDX-License-Identifier: Apache-2.0
// "Did you mean …": for errors about a name that is not in a table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <vector>

namespace tw {

// Insertions, deletions and replacements of a character that make one word of the other.
inline size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// The candidate closest to `word`, the first of several; empty when there are none.
inline std::string_view nearest_word(std::string_view word,
                                     const std::vector<std::string_view>& candidates) {
  const auto nearest = std::min_element(candidates.begin(), candidates.end(),
                                        [&](std::string_view a, std::string_view b) {
                                          return edit_distance(word, a) < edit_distance(word, b);
                                        });
  return nearest == candidates.end() ? std::string_view() : *nearest;
}

}  // namespace tw
