// SPDX-License-Identifier: Apache-2.0
// "Did you mean …": for errors about a name that is not in a table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tw {

// How far `word` is from being `name` misspelt: an edit distance in which a character that is
// missing counts 1 (people abbreviate), one too many or a wrong one 2, and 1 more where the first
// characters differ, which people seldom get wrong. So "zen4" is nearer to "znver4" than to "k8".
inline size_t misspelling(std::string_view word, std::string_view name) {
  constexpr size_t kMissing = 1, kWrong = 2, kFirst = 1;
  std::vector<size_t> row(name.size() + 1);
  for (size_t j = 0; j <= name.size(); ++j) row[j] = j * kMissing;
  for (size_t i = 0; i < word.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = (i + 1) * kWrong;
    for (size_t j = 0; j < name.size(); ++j) {
      const size_t replaced = diagonal + (word[i] == name[j] ? 0 : kWrong);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + kMissing, row[j + 1] + kWrong});
    }
  }
  return row.back() + (word.substr(0, 1) == name.substr(0, 1) ? 0 : kFirst);
}

// Where the candidate is that `word` most likely stands for: one that begins with it before any
// other, then the nearest, then the first. candidates.size() when there are none.
inline size_t nearest_index(std::string_view word,
                            const std::vector<std::string_view>& candidates) {
  const auto rank = [&](std::string_view name) {
    return std::pair(!name.starts_with(word), misspelling(word, name));
  };
  return static_cast<size_t>(std::ranges::min_element(candidates, {}, rank) - candidates.begin());
}

// Whether `word` may have meant `name` at all: two thirds of its characters stand there in their
// order, and it is no more than an abbreviation to a third.
inline bool resembles(std::string_view word, std::string_view name) {
  std::vector<size_t> row(name.size() + 1, 0);  // of the longest common subsequence
  for (const char c : word) {
    size_t diagonal = 0;
    for (size_t j = 0; j < name.size(); ++j) {
      const size_t here = c == name[j] ? diagonal + 1 : std::max(row[j], row[j + 1]);
      diagonal = row[j + 1];
      row[j + 1] = here;
    }
  }
  const size_t common = row.back();
  return common > 0 && (name.starts_with(word) || ((word.size() - common) * 3 <= word.size() &&
                                                   name.size() - common <= 2 * word.size()));
}

// That candidate, where the word resembles it; else empty, for a suggestion of something wholly
// different misleads.
inline std::string_view nearest_word(std::string_view word,
                                     const std::vector<std::string_view>& candidates) {
  const size_t index = nearest_index(word, candidates);
  return index < candidates.size() && resembles(word, candidates[index]) ? candidates[index]
                                                                         : std::string_view();
}

// The end of a message about an unknown name: nothing where none is near.
inline std::string suggestion(std::string_view nearest) {
  return nearest.empty() ? "" : "; the nearest is '" + std::string(nearest) + "'";
}

}  // namespace tw
