// SPDX-License-Identifier: Apache-2.0
// Reading machine code as text.
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "lower/llvm/compile.h"

namespace tw::test {

// Of any machine's code.
inline std::string assembly_for(const Target& target, const Kernel& kernel) {
  return compile({kernel}, target, {.keep_sources = true, .cross = true})->source("asm");
}
inline std::string assembly_for(const char* target, const Kernel& kernel) {
  return assembly_for(Target::parse(target), kernel);
}

inline int count(const std::string& text, const std::string& word) {
  int n = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

// The lines of the loop without a loop in it that has the most multiply-adds, or, where none has
// any, the most lines: from the label that is jumped back to up to the jump. Comments are dropped.
inline std::string inner_loop(const std::string& assembly) {
  std::vector<std::string> lines;
  std::map<std::string, size_t> labels;
  std::istringstream stream(assembly);
  for (std::string line; std::getline(stream, line);) {
    line.erase(std::min(line.find('#'), line.size()));
    if (line.starts_with(".L") && line.find(':') != std::string::npos)
      labels[line.substr(0, line.find(':'))] = lines.size();
    lines.push_back(line + "\n");
  }
  std::string best;
  size_t inside = 0;  // no loop that begins before this line is innermost
  for (size_t at = 0; at < lines.size(); ++at) {
    std::istringstream words(lines[at]);
    std::string jump, label;
    if (!(words >> jump >> label) || jump[0] != 'j' || !labels.contains(label)) continue;
    const size_t begin = labels[label];
    if (begin > at || begin < inside) continue;
    inside = at;
    std::string body;
    for (size_t k = begin + 1; k < at; ++k) body += lines[k];
    const int products = count(body, "vfmadd"), most = count(best, "vfmadd");
    if (products > most || (products == most && body.size() > best.size())) best = body;
  }
  return best;
}

}  // namespace tw::test
