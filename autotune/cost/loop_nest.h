// SPDX-License-Identifier: Apache-2.0
// The loop nest of a scheduled program as numbers: every store with the loops around it and the
// memory it touches at each depth. Features and the analytical prior both read this.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "ir/node.h"
#include "schedule/relation.h"

namespace tw::autotune {

inline constexpr double kLineBytes = 64, kPageBytes = 4096;
// Of narrow terms that stand side by side and are multiplied at once: see space/dot_product.h.
inline constexpr int kWordBytes = 4;

struct NestLoop {
  int64_t extent = 1;
  ForKind kind = ForKind::Serial;
  bool reduces = false;  // the store's position does not depend on it
  int id = -1;           // the same in all statements below one loop
  // Statements that it may become where it is serial: what the nearest pragma around it allows.
  int64_t auto_unroll_max_step = 0;
};

// A box of a buffer as addresses: runs of bytes, and steps from one to the next, inner ones first.
// Neighbours that touch have joined.
struct Box {
  struct Step {
    double count, bytes;
  };
  double run = 0;        // bytes
  double alignment = 1;  // what all places where runs begin are multiples of
  std::vector<Step> steps;
  double runs() const;
  double lines() const;  // on average over the places where it may lie
  double pages() const;
};

// One tensor as a statement touches it, all its reads taken together. Depth d means: the loops from
// d inwards run, those outside stand still; depth 0 is the whole nest.
struct Access {
  const Producer* producer = nullptr;
  bool is_store = false;
  bool is_local = false;    // realized with scope "local", or in tile registers
  bool is_cold = false;     // at the beginning of a call it is in no cache
  bool is_fetched = false;  // other statements' or its own prefetches bring it into the caches
  DType element;
  int element_bytes = 4;
  std::vector<double> elements;   // distinct elements touched, by depth; size loops + 1
  std::vector<double> lines;      // distinct cache lines
  std::vector<double> rows;       // distinct runs of consecutive elements
  std::vector<double> pages;      // distinct pages
  std::vector<Box> boxes;         // of one read, if several
  std::vector<int64_t> strides;   // elements the address moves by when loop l steps; by loop
  bool has_reuse = false;         // some loop does not move it
  size_t realize_depth = 0;       // loops outside its realization; 0 for arguments
  double allocated_elements = 0;  // of the realized buffer; of the tensor for arguments
  double row_bytes = 0;           // from one row of the innermost dimension to the next
};

// Operations of one execution of a statement, by class.
struct OperationCounts {
  double add = 0, multiply = 0, divide = 0, compare = 0, select = 0, math = 0, integer = 0,
         convert = 0;
  // Comparisons of indices, which decide which lanes are on or which path is taken; and how often
  // they do, for what is read.
  double condition = 0, guarded = 0;
  // Multiplications whose product is added at once: what becomes one fma.
  double fused = 0;
  // Of the functions in `math`, those that are arithmetic on processors with multiply-adds, and
  // what that is.
  double expanded = 0, expanded_operations = 0, expanded_divide = 0;
  double floating() const { return add + multiply + divide + compare + math; }
  OperationCounts& operator+=(const OperationCounts& o);
};

// Loops as bits, the outermost first; those from the 63rd on share one.
using LoopSet = uint64_t;
constexpr LoopSet loop_bit(size_t loop) { return LoopSet{1} << std::min<size_t>(loop, 63); }
// Operations whose values change with the same loops. In iterations of others they need not run.
struct OperationGroup {
  LoopSet loops = 0;
  OperationCounts counts;
};

struct NestStatement {
  std::vector<NestLoop> loops;         // outermost first
  std::vector<Access> accesses;        // the store first
  OperationCounts operations;          // of all groups
  std::vector<OperationGroup> groups;  // of different loops each
  bool is_init = false;                // initialises a reduction
  bool nontemporal = false;            // its vectors are stored around the caches
  bool prefetched = false;             // lines that it stores, or reads from memory, were fetched
  double prefetches = 0;               // instructions that fetch what it reads
  DType dtype;
  // The tensor intrinsic that stands for the loops from `intrin_depth` inwards; empty: none.
  std::string intrin = {};
  size_t intrin_depth = 0;
  double iterations() const;
  LoopSet all_loops() const;  // of more than one iteration
};

// `stmt` is what schedule_ops gives, all extents constant (others count as 1). `cold`: tensors that
// no call finds in the caches; look-ups only.
using Producers = std::set<const Producer*>;
std::vector<NestStatement> analyze_nest(const Stmt& stmt, const Producers& cold = {});

}  // namespace tw::autotune
