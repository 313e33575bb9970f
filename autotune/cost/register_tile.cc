// SPDX-License-Identifier: Apache-2.0
#include "autotune/cost/register_tile.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "autotune/space/tiles.h"

namespace tw::autotune {
namespace {

constexpr int64_t kShuffledStride = 4;  // greater ones are gathered

// Columns of a tile that are loaded at once, as rows, and transposed (lower/transpose_loads.cc); 0
// where lanes that lie apart are gathered.
double transposed_columns(const Access& a, const NestStatement& s) {
  if (a.is_store || s.loops.size() < 2) return 0;
  const size_t next = s.loops.size() - 2;
  const NestLoop& loop = s.loops[next];
  const bool both = loop.kind == ForKind::Unrolled && s.loops.back().kind == ForKind::Vectorized;
  return both && a.strides[next] == 1 && std::min(loop.extent, s.loops.back().extent) >= 4
             ? double(loop.extent)
             : 0;
}

// A vector that straddles two lines is loaded, or stored, twice.
double lines_of_vector(const Access& a) {
  const Box& vector = a.boxes[a.boxes.size() - 2];
  return std::max(1.0, vector.lines() * kLineBytes / std::max(kLineBytes, vector.run));
}

// Lanes a small stride apart whose gaps the loop next to them fills: lower/interleave_stores.cc.
bool is_interleaved(const Access& a, const NestStatement& s) {
  if (!a.is_store || s.loops.size() < 2) return false;
  const size_t next = s.loops.size() - 2;
  return s.loops[next].kind == ForKind::Unrolled && a.strides[next] == 1 &&
         s.loops[next].extent == a.strides.back() && a.strides.back() <= kShuffledStride;
}

// The buffer is registers: it is written and read in straight code alone.
bool in_registers(const Access& a, const NestStatement& s, const RegisterTile& tile) {
  bool straight = a.is_local;
  for (size_t l = a.realize_depth; l < tile.code; ++l) {
    straight &= a.strides[l] == 0 || s.loops[l].extent == 1;
  }
  return straight;
}

// Lanes that come out of vectors with the gaps between them.
bool is_shuffled(const Access& a) {
  return !a.is_store && a.strides.back() > 1 && a.strides.back() <= kShuffledStride;
}

// How many iterations of loop l pass until what one has read is read again: several where the loops
// inside it take larger steps, as windows do that move by two.
int64_t iterations_apart(const Access& a, const NestStatement& s, const RegisterTile& tile,
                         size_t l) {
  const int64_t step = std::abs(a.strides[l]);
  int64_t least = 0;
  for (size_t k = l + 1; step != 0 && k < s.loops.size(); ++k) {
    int64_t inner = std::abs(a.strides[k]);
    if (s.loops[k].kind == ForKind::Vectorized) inner *= static_cast<int64_t>(tile.lanes);
    if (inner == 0 || s.loops[k].extent == 1) continue;
    if (inner % step == 0 && (least == 0 || inner < least * step)) least = inner / step;
  }
  return std::max<int64_t>(1, least);
}

// The outermost loop that reduces; the number of loops where none does.
size_t first_reduction(const NestStatement& s) {
  const auto reduces = [](const NestLoop& l) { return l.reduces && l.extent > 1; };
  return static_cast<size_t>(std::ranges::find_if(s.loops, reduces) - s.loops.begin());
}

}  // namespace

RegisterTile register_tile(const NestStatement& s, const MachineModel& machine) {
  RegisterTile tile{.depth = s.loops.size(), .code = s.loops.size()};
  // Lanes of narrower elements are as many as those of 32 bits: see space/builder.h.
  const double width = double(machine.vector_bits) / std::max<int>(32, s.dtype.bits);
  double unrolled = 1;
  bool reduced = false, same = true;
  while (tile.code > 0) {
    const NestLoop& loop = s.loops[tile.code - 1];
    const double extent = double(loop.extent);
    same &= loop.reduces || !reduced || extent == 1;
    reduced |= loop.reduces && extent > 1;
    double copies = extent;
    if (loop.kind == ForKind::Vectorized) {
      copies = std::ceil(extent / width);
      tile.lanes = std::min(width, extent);
      tile.efficiency = extent / (copies * tile.lanes);
    } else if (loop.kind == ForKind::Unrolled || extent == 1 ||
               (loop.kind == ForKind::Serial &&
                unrolled * extent <= double(loop.auto_unroll_max_step))) {
      unrolled *= extent;
    } else {
      break;
    }
    --tile.code;
    if (!same) continue;
    tile.instances *= copies;
    --tile.depth;
  }
  return tile;
}

double extents_outside(const NestStatement& s, size_t depth) {
  double n = 1;
  for (size_t l = 0; l < depth; ++l) n *= double(s.loops[l].extent);
  return n;
}

double accumulator_reuse(const NestStatement& s, size_t depth) {
  double n = 1;
  while (depth > 0 && s.loops[depth - 1].reduces) n *= double(s.loops[--depth].extent);
  return n;
}

size_t loaded_once(const Access& a, const NestStatement& s) {
  return transposed_columns(a, s) > 0 ? s.loops.size() - 2 : s.loops.size();
}

double load_slots(const Access& a, const NestStatement& s, const RegisterTile& tile,
                  const MachineModel& machine, double elements) {
  if (in_registers(a, s, tile)) return 0;
  if (tile.lanes == 1) return elements;
  const double vectors = elements / (tile.lanes * tile.efficiency);
  const int64_t stride = a.strides.back();
  if (stride == 1) return std::max(1.0, vectors) * lines_of_vector(a);
  if (stride == 0) return elements;  // a broadcast, folded into the operation
  if (is_shuffled(a)) {
    return vectors * double(stride) * machine.shuffle_cycles;
  }
  if (is_interleaved(a, s))
    return vectors * (1 + machine.loads_per_cycle * std::log2(double(stride)));
  if (const double columns = transposed_columns(a, s); columns > 0) {
    return vectors * (tile.lanes / columns + machine.loads_per_cycle * std::log2(columns));
  }
  return elements * machine.gather_cycles * machine.loads_per_cycle + (a.is_store ? elements : 0);
}

double operand_vectors(const NestStatement& s, const RegisterTile& tile) {
  if (tile.lanes == 1) return 1;
  size_t data = s.loops.size();  // where the loops over data within the tile start
  while (data > tile.depth && !s.loops[data - 1].reduces) --data;
  double most = 1;
  for (const Access& a : s.accesses) {
    if (a.is_store || a.strides.back() == 0) continue;
    most = std::max(most, std::ceil(a.elements[data] / (tile.lanes * tile.efficiency)));
  }
  return most;
}

double live_operands(const NestStatement& s, const RegisterTile& tile) {
  if (tile.lanes == 1) return 1;
  double all = 0;
  for (const Access& a : s.accesses) {
    if (a.is_store) continue;
    double live = 0, distinct = 1;
    for (size_t l = s.loops.size(); l-- > tile.depth && !s.loops[l].reduces;) {
      double copies = double(s.loops[l].extent);
      if (s.loops[l].kind == ForKind::Vectorized) copies = std::ceil(copies / tile.lanes);
      if (copies == 1) continue;
      if (a.strides[l] == 0) {
        live = std::max(live, distinct);
      } else {
        distinct *= copies;
      }
    }
    all += live;
  }
  return std::max(1.0, all);
}

double registers(const Access& a, const NestStatement& s, const RegisterTile& tile, size_t d) {
  struct Progression {
    int64_t step, count;
  };
  std::vector<Progression> places;
  for (size_t l = d; l < s.loops.size(); ++l) {
    int64_t step = std::abs(a.strides[l]), count = s.loops[l].extent;
    if (s.loops[l].kind == ForKind::Vectorized) {
      count = ceil_div(count, static_cast<int64_t>(tile.lanes));
      step *= static_cast<int64_t>(tile.lanes);
    }
    if (step != 0 && count > 1) places.push_back({step, count});
  }
  std::ranges::sort(places, {}, &Progression::step);
  for (size_t k = 1; k < places.size(); ++k) {
    for (size_t j = 0; j < k; ++j) {
      // Steps of one that lead to places of the other: windows that overlap.
      Progression& p = places[j];
      const int64_t times = places[k].step / p.step;
      if (places[k].step % p.step != 0 || times > p.count) continue;
      p.count += times * (places[k].count - 1);
      places[k].count = 1;
      break;
    }
  }
  double n = 1;
  for (const Progression& p : places) n *= double(p.count);
  return n;
}

Operands read_operands(const NestStatement& s, const RegisterTile& tile,
                       const MachineModel& machine) {
  Operands result;
  size_t around = tile.code;  // inside the loop around the code
  while (around > 0 && s.loops[around - 1].extent == 1) --around;
  double kept = 1;  // registers for one operand and for those that wait in them all the time
  for (const Access& a : s.accesses) {
    if (a.is_store) continue;
    double elements = a.elements[tile.code];
    if (tile.lanes > 1) {
      const double held = registers(a, s, tile, tile.code);
      const double lanes = a.strides.back() == 0 ? 1 : tile.lanes * tile.efficiency;
      elements = std::max(elements, held * lanes);
      if (is_shuffled(a)) kept += double(a.strides.back());  // which lanes go where
      if (around > 0 && a.strides[around - 1] == 0) {
        kept += held;
        elements /= double(s.loops[around - 1].extent);
      }
    }
    result.loads += load_slots(a, s, tile, machine, elements);
  }
  const Access& store = s.accesses[0];
  const size_t first = first_reduction(s);
  if (tile.lanes == 1 || first == s.loops.size()) return result;
  double inside = 0;  // what waits within the loops inside l
  for (size_t l = s.loops.size(); l-- > tile.code;) {
    const double extent = double(s.loops[l].extent);
    if (extent == 1 || s.loops[l].kind == ForKind::Vectorized) continue;
    double shared = 0;  // what an iteration reads of what others before it have read
    double later = 0;   // what waits meanwhile for iterations after the next
    for (const Access& a : s.accesses) {
      if (a.is_store || (around > 0 && a.strides[around - 1] == 0)) continue;
      const double all = registers(a, s, tile, l), once = registers(a, s, tile, l + 1);
      const double again = (extent * once - all) / (extent - 1);
      shared += again;
      const double apart = double(iterations_apart(a, s, tile, l));
      if (apart < extent) {
        // The first so many read nothing again; as many at once have something that waits.
        const double once_each = again * (extent - 1) / (extent - apart);
        later += once_each * std::min(apart, extent - apart) - again;
      }
      // Lanes that this loop takes from between those of other iterations.
      const int64_t lanes_apart = is_shuffled(a) ? a.strides.back() : 1;
      if (a.strides[l] != 0 && std::abs(a.strides[l]) < lanes_apart) {
        shared += once * double(lanes_apart);
      }
    }
    // Of sums that are added to again, all wait.
    const double sums = registers(store, s, tile, std::min(l, std::max(first, tile.code)));
    const double finished = l < first ? sums - registers(store, s, tile, l + 1) : 0;
    inside = std::max(inside, shared + later);
    const double waiting = finished > 0 ? inside : shared + later;
    const double lacking = kept + waiting + sums - machine.vector_registers;
    if (lacking > 0) {
      const double stored = std::min(finished, lacking);
      const double again = std::min(shared, lacking - stored);
      const double runs = extents_outside(s, l) / extents_outside(s, tile.code);
      result.spills += runs * (stored * (1 + 1 / machine.loads_per_cycle) +
                               again * (1 + (extent - 1) / machine.loads_per_cycle));
    }
  }
  return result;
}

}  // namespace tw::autotune
