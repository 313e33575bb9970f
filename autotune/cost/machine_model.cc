// SPDX-License-Identifier: Apache-2.0
#include "autotune/cost/machine_model.h"

#include <algorithm>
#include <iterator>

namespace tw::autotune {
namespace {

constexpr double kKiB = 1 << 10, kMiB = 1 << 20;

// Sizes from the makers' optimization manuals and data sheets. Of an L3 that all cores share counts
// a quarter of a common part's: one thread finds most of it free, all threads little. AMD's is one
// for each four (Zen, Zen 2) or eight cores, of which half counts.
struct CacheRow {
  std::string_view cpu;  // the beginning of LLVM's name for it
  double l1, l2, l3;     // bytes
  // Under a hypervisor LLVM may name another part, but not more instructions than there are.
  std::string_view feature = {};
};
constexpr CacheRow kCaches[] = {
    {"sapphirerapids", 48 * kKiB, 2 * kMiB, 26 * kMiB},
    {"emeraldrapids", 48 * kKiB, 2 * kMiB, 64 * kMiB},
    {"graniterapids", 48 * kKiB, 2 * kMiB, 96 * kMiB},
    {"", 48 * kKiB, 2 * kMiB, 26 * kMiB, "amx-int8"},
    {"rocketlake", 48 * kKiB, 512 * kKiB, 8 * kMiB},
    {"icelake-server", 48 * kKiB, 1.25 * kMiB, 15 * kMiB},
    {"cascadelake", 32 * kKiB, 1 * kMiB, 9 * kMiB},
    {"cooperlake", 32 * kKiB, 1 * kMiB, 9 * kMiB},
    {"skylake-avx512", 32 * kKiB, 1 * kMiB, 9 * kMiB},
    {"haswell", 32 * kKiB, 256 * kKiB, 8 * kMiB},
    {"broadwell", 32 * kKiB, 256 * kKiB, 8 * kMiB},
    {"skylake", 32 * kKiB, 256 * kKiB, 8 * kMiB},
    {"alderlake", 48 * kKiB, 1.25 * kMiB, 8 * kMiB},
    {"raptorlake", 48 * kKiB, 2 * kMiB, 9 * kMiB},
    {"znver1", 32 * kKiB, 512 * kKiB, 4 * kMiB},
    {"znver2", 32 * kKiB, 512 * kKiB, 8 * kMiB},
    {"znver3", 32 * kKiB, 512 * kKiB, 16 * kMiB},
    {"znver4", 32 * kKiB, 1 * kMiB, 16 * kMiB},
    {"znver5", 48 * kKiB, 1 * kMiB, 16 * kMiB},
};

constexpr std::string_view kIntel = "Intel Optimization Reference Manual";
constexpr std::string_view kFog = "Fog, Instruction tables";
constexpr std::string_view kFit = "fit";
// 1×1 convolutions of 512 and 1024 channels into 1024 at 7×7 with cold weights: fetching these took
// them to 0.87 and 0.95 of their time (Milan, one thread), and with this share the prior says 0.90.
constexpr std::string_view kMeasured = "1x1 convolutions";

constexpr MachineConstant kConstants[] = {
    {"arithmetic_per_cycle", "operations/cycle", "vector operations issued", kIntel,
     [](MachineModel& m) -> double& { return m.arithmetic_per_cycle; }, 2, 2},
    {"loads_per_cycle", "operations/cycle", "vectors loaded", kIntel,
     [](MachineModel& m) -> double& { return m.loads_per_cycle; }, 2, 2},
    {"bytes_per_cycle.l1", "bytes/cycle", "lines that come into L1", kFit,
     [](MachineModel& m) -> double& { return m.bytes_per_cycle[0]; }, 8, 64},
    {"bytes_per_cycle.l2", "bytes/cycle", "lines that come into L2", kFit,
     [](MachineModel& m) -> double& { return m.bytes_per_cycle[1]; }, 2, 64},
    {"bytes_per_cycle.l3", "bytes/cycle", "lines that come from memory", kFit,
     [](MachineModel& m) -> double& { return m.bytes_per_cycle[2]; }, 1, 32},
    {"usable_cache", "1", "of a cache's size, before conflicts", kFit,
     [](MachineModel& m) -> double& { return m.usable_cache; }, 0.25, 1},
    {"page_cycles", "cycles", "a translation found in the second-level buffer", kFit,
     [](MachineModel& m) -> double& { return m.page_cycles; }, 0, 40},
    {"walk_cycles", "cycles", "one that is found in tables, which caches hold", kFit,
     [](MachineModel& m) -> double& { return m.walk_cycles; }, 0, 200},
    {"chain", "operations", "independent sums that hide the latency of an fma: 4 cycles, 2 a cycle",
     kFog, [](MachineModel& m) -> double& { return m.chain; }, 8, 8},
    {"window", "operations", "that wait in the scheduler while others go ahead", kFit,
     [](MachineModel& m) -> double& { return m.window; }, 16, 512},
    {"divide_cycles", "cycles", "a vector divided by another", kFit,
     [](MachineModel& m) -> double& { return m.divide_cycles; }, 5, 64},
    {"half_divide_share", "1", "of these, for at most half of a vector's lanes", kFog,
     [](MachineModel& m) -> double& { return m.half_divide_share; }, 0.5, 0.5},
    {"math_cycles", "cycles", "a call of a mathematical function of a vector", kFit,
     [](MachineModel& m) -> double& { return m.math_cycles; }, 2, 80},
    {"bfloat_dot_slots", "operations", "of two products at once; four of bytes take one", kFog,
     [](MachineModel& m) -> double& { return m.bfloat_dot_slots; }, 4, 4},
    {"loop_cycles", "cycles", "an iteration of a loop besides its body", kFit,
     [](MachineModel& m) -> double& { return m.loop_cycles; }, 0, 20},
    {"condition_cycles", "cycles", "a comparison of indices: most are of loops outside", kFit,
     [](MachineModel& m) -> double& { return m.condition_cycles; }, 0, 20},
    {"hand_over_cycles", "cycles", "from the last store into a buffer to its first use", kFit,
     [](MachineModel& m) -> double& { return m.hand_over_cycles; }, 0, 200},
    {"fork_cycles", "cycles", "to give threads their work and wait for them", "./tw bench peak",
     [](MachineModel& m) -> double& { return m.fork_cycles; }, 5000, 5000},
    {"spill_cycles", "cycles", "a register too many, in each run of the tile", kFit,
     [](MachineModel& m) -> double& { return m.spill_cycles; }, 0, 20},
    {"shuffled_share", "cycles", "an accumulator of a tile whose registers run out", kFit,
     [](MachineModel& m) -> double& { return m.shuffled_share; }, 0, 8},
    {"shuffle_cycles", "load slots", "a vector of strided elements, for each vector loaded", kFit,
     [](MachineModel& m) -> double& { return m.shuffle_cycles; }, 0.5, 8},
    {"gather_cycles", "cycles", "an element of a vector of strided elements", kFit,
     [](MachineModel& m) -> double& { return m.gather_cycles; }, 0.5, 8},
    {"fetched_share", "1", "of what comes from memory for the first time, waited for if fetched",
     kMeasured, [](MachineModel& m) -> double& { return m.fetched_share; }, 0.4, 0.4},
    {"port_overlap", "1", "of the lesser of arithmetic and loads, what is not hidden", kFit,
     [](MachineModel& m) -> double& { return m.port_overlap; }, 0, 1},
    {"level_overlap", "1", "of all but the longest of core, caches and pages, the same", kFit,
     [](MachineModel& m) -> double& { return m.level_overlap; }, 0, 1},
};

}  // namespace

MachineModel machine_model(const Target& target, int threads) {
  MachineModel m{.vector_bits = target.vector_bits,
                 .vector_registers = target.vector_registers,
                 .threads = threads,
                 .fma = target.has_fma,
                 .int8_dot = target.has_int8_dot,
                 .bf16_dot = target.has_bf16_dot};
  // Others have the sizes that the structure begins with.
  const auto row = std::ranges::find_if(kCaches, [&](const CacheRow& r) {
    return target.cpu.starts_with(r.cpu) && (r.feature.empty() || target.has_feature(r.feature));
  });
  if (row != std::end(kCaches)) {
    m.cache_bytes[0] = row->l1;
    // Found by addresses before they are translated, so a way is a page.
    m.ways[0] = row->l1 / 4096;
    m.cache_bytes[1] = row->l2;
    m.cache_bytes[2] = row->l3;
  }
  return m;
}

std::span<const MachineConstant> machine_constants() { return kConstants; }

}  // namespace tw::autotune
