// SPDX-License-Identifier: Apache-2.0
// From the Intel 64 and IA-32 Architectures Optimization Reference Manual, "Intel AMX": a product
// of tiles is begun every 16 cycles, one row of the right factor each (1,024 multiply-accumulates
// of bytes a cycle, 512 of bfloat16), and takes 52; a tile is loaded in 8 and stored in 16, as its
// rows are.
#include "autotune/cost/intrin_rate.h"

#include <algorithm>
#include <iterator>

namespace tw::autotune {
namespace {

struct Row {
  std::string_view prefix;
  IntrinRate rate;
};
// Loads run while other tiles are multiplied, so that of most nothing is felt.
constexpr Row kRates[] = {
    {"amx.dot_", {.arithmetic = 16, .latency = 52}},
    {"amx.load_", {.moves = 3}},
    {"amx.stream_", {.moves = 3}},
    {"amx.store_", {.moves = 16}},
    {"avx512.interleave_", {.moves = 6}},  // four loads, as many shuffles, a store
};
constexpr IntrinRate kReset = {.moves = 1};

}  // namespace

const IntrinRate* intrin_rate(std::string_view name, bool resets) {
  const auto row =
      std::ranges::find_if(kRates, [&](const Row& r) { return name.starts_with(r.prefix); });
  if (row == std::end(kRates)) return nullptr;
  return resets ? &kReset : &row->rate;
}

}  // namespace tw::autotune
