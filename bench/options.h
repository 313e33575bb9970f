// SPDX-License-Identifier: Apache-2.0
// Options of the benchmark program: --name=value, or --name alone for "1".
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lower/llvm/target.h"

namespace tw::bench {

class Options {
 public:
  // `legal` are names, separated by spaces. Throws UserError (BadArgument) for a word that is none.
  Options(const std::vector<std::string>& words, std::string_view legal);

  // The value, or `otherwise` where the option was not given. Throws BadArgument for a number that
  // is none.
  std::string text(const std::string& name, const std::string& otherwise = "") const;
  double number(const std::string& name, double otherwise) const;
  int count(const std::string& name, int otherwise) const;
  bool flag(const std::string& name) const;
  // Separated by semicolons, since workloads hold commas.
  std::vector<std::string> list(const std::string& name, const std::string& otherwise) const;
  // --threads: all usable cores unless said otherwise.
  int threads() const;
  std::vector<int> thread_counts() const;  // --threads=1;4
  // --target: the host unless said otherwise.
  Target target() const;

 private:
  std::map<std::string, std::string> values_;
  std::set<std::string> legal_;
};

}  // namespace tw::bench
