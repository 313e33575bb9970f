// SPDX-License-Identifier: Apache-2.0
// What sketch rules ask of a program. Everything is read off the expressions; no operator has a
// name here. Facts about the graph of operations are found in one walk over it, here, so that no
// rule walks it again.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/te/compute.h"
#include "schedule/te/text.h"

namespace tw::autotune {

// An operation that reads another.
struct Consumer {
  size_t op;
  int64_t reads;  // of the other, as its body writes them
  // A reduction that reads an element for several of its points: what is computed where it is read
  // is computed again and again.
  bool repeats;
  // It reads all of the other, each element once, and in the same place in each read: which of its
  // axes moves along each dimension, if any. Empty where it reads otherwise.
  std::vector<std::optional<size_t>> permutation = {};
};

struct OperationFacts {
  te::Operation op;
  // Null for placeholders, and for what keeps the loops that it has: scans and externs.
  const te::ComputeNode* compute = nullptr;
  // Computed in the steps of a scan, or begins its states: it stays there, and no other operation's
  // loops are its own.
  bool in_scan = false;
  bool is_output = false;  // or read by what keeps its loops: it is stored whole
  bool is_reduction = false;
  // A reduction whose inputs are each read for several points, in any order: tiling pays.
  bool has_reuse = false;
  // Another order of a reduction's terms gives something else, or groups of them do.
  bool order_matters = false, grouping_matters = false;
  bool has_condition = false;  // if_then_else or select: padding and the like
  bool has_math = false;       // calls exp, tanh, …
  // It, or an operation that is read by nothing but it and such operations, has math.
  bool carries_math = false;
  // Results of reductions enter, also through other operations.
  bool reads_reduction = false;
  std::vector<Consumer> consumers;  // each once, in order
  // Read by one operation only, at positions that move with each of its data axes: nothing but
  // overlapping windows reads an element twice.
  bool read_anew = false;
  std::vector<int64_t> extents;  // of the data axes
  std::vector<int64_t> reduce_extents;
  // Which data axes some reduce axis is longer or shorter by: the rows of a triangle, those of a
  // sparse matrix. The reduction's loops stand inside of theirs. Its extent is then the one
  // expected; empty where all are fixed.
  std::vector<bool> decides_length;
  bool is_ragged() const { return !decides_length.empty(); }

  bool is_tiled() const { return has_reuse && !extents.empty(); }

  // Tails: the elementwise operations behind a tiled reduction, which its tiles compute too. Where
  // the tails of several meet, the one with the most arithmetic owns what follows. The others are
  // its company: they end before it, or are computed in its tiles with all that leads to it.
  int tail_owner = -1;          // the reduction whose tiles may compute the operation
  std::vector<size_t> tail;     // of a reduction: its own, in order; the last is stored
  std::vector<size_t> company;  // of a reduction: those whose tails end in its own
  std::vector<size_t> way;      // of one in company: what is between its tail and the owner's
  // Behind a tail that one operation alone reads, with the axes in another order: that operation
  // and what follows point for point, which tiles may compute too. `permutation` says of each data
  // axis which one of theirs it is; nothing where there is but one position.
  std::vector<size_t> permuted_tail;
  std::vector<std::optional<size_t>> permutation;
};

// In the program's canonical order of operations. NoDesignSpace when an extent is symbolic.
std::vector<OperationFacts> analyze(const te::Program& program);

// The order in which tiled reductions choose their schedules: consumers first, and owners of tails
// before their company.
std::vector<size_t> tiling_order(const std::vector<OperationFacts>& facts);

// Operations are written into their consumers' expressions so many times at most.
inline constexpr int64_t kMostCopies = 8;

}  // namespace tw::autotune
