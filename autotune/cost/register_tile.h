// SPDX-License-Identifier: Apache-2.0
// The straight code of a statement: what it loads, and what it keeps in registers meanwhile.
#pragma once

#include <cstddef>

#include "autotune/cost/loop_nest.h"
#include "autotune/cost/prior.h"

namespace tw::autotune {

// The innermost loops whose bodies stand side by side in one piece of straight code, as far as they
// work on the same accumulators: a loop over data around one that reduces begins with others.
struct RegisterTile {
  size_t depth;           // the first of those loops
  size_t code;            // the first of those that are straight code at all
  double instances = 1;   // copies of the statement, counting one a vector
  double lanes = 1;       // elements an instruction works on
  double efficiency = 1;  // of lanes used, when the extent is no multiple
};

RegisterTile register_tile(const NestStatement& s, const MachineModel& machine);

// Iterations of the loops outside this depth together.
double extents_outside(const NestStatement& s, size_t depth);
// How often the loops just outside the tile run over the same accumulators.
double accumulator_reuse(const NestStatement& s, size_t depth);
// The depth from which inwards the code loads each line once, whether or not a cache holds what it
// touches: rows of a tile that is transposed in registers. Else the number of loops.
size_t loaded_once(const Access& a, const NestStatement& s);
// Load instructions for so many elements of an access, or stores.
double load_slots(const Access& a, const NestStatement& s, const RegisterTile& tile,
                  const MachineModel& machine, double elements);
// Vectors of operands that one reduction step of the tile works on.
double operand_vectors(const NestStatement& s, const RegisterTile& tile);
// Registers that operands take at once. What a loop of the tile uses again in each iteration waits
// there for the others that it uses; what is used once is an operand in memory.
double live_operands(const NestStatement& s, const RegisterTile& tile);
// How many registers hold what the access touches while the loops from depth d inwards run. A
// register is filled from one place: what lies a little further on, though most of it is the same,
// is another.
double registers(const Access& a, const NestStatement& s, const RegisterTile& tile, size_t d);

// What one run of the straight code does to have its operands in registers.
struct Operands {
  double loads = 0;   // slots
  double spills = 0;  // cycles
};
// Compilers load once what the code reads several times, and what the loop around it does not move
// before that loop. What finds no register until it is read again goes through the stack.
Operands read_operands(const NestStatement& s, const RegisterTile& tile,
                       const MachineModel& machine);

}  // namespace tw::autotune
