// SPDX-License-Identifier: Apache-2.0
// IR as text, in the style of the seeds:
//   produce C { parallel (i0.i1.fused, 0, 21) { C[i0.i1.fused] = 0.000000f } }
// Names that stand for different variables get suffixes (i, i_1) in the order they are met.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/node.h"

namespace tw {

struct PrintOptions {
  // Lines ahead of the text that give the types of free variables, buffers and producers
  // ("declare A: float32*"), so that parse() needs nothing else.
  bool declarations = false;
};

std::string to_string(const Expr& e, const PrintOptions& options = {});
std::string to_string(const Stmt& s, const PrintOptions& options = {});

// Gives each variable and each producer of one text a name of its own: what it is called, made an
// identifier, with a suffix where that is taken. Variables and producers never stand in the same
// place, so a buffer may share the name of the producer it holds. A copy starts from the same
// names and goes its own way: a scope. What was named must outlive the table.
class Names {
 public:
  // An anonymous table disregards what things are called: v, v_1, … and t, t_1, ….
  explicit Names(bool anonymous = false) : anonymous_(anonymous) {}
  const std::string& of(const Variable* v);
  const std::string& of(const Producer* p);
  // In the order in which they were first named.
  const std::vector<ProducerRef>& producers() const { return order_; }

 private:
  std::string choose(const std::string& wanted,
                     const std::function<bool(const std::string&)>& take);
  bool take(const Producer& p, const std::string& name);

  bool anonymous_;
  std::unordered_map<const Variable*, std::string> variables_;
  std::unordered_map<const Producer*, std::string> producers_;
  std::unordered_set<std::string> taken_variables_, taken_producers_;
  std::unordered_map<std::string, int> suffix_;
  std::vector<ProducerRef> order_;
};

// One expression of a text whose names are kept in `names`.
std::string to_string(const Expr& e, Names& names);
std::string to_string(const Stmt& s, Names& names);

}  // namespace tw
