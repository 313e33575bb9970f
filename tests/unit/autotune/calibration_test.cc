// SPDX-License-Identifier: Apache-2.0
#include "autotune/study/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "autotune/cost/prior.h"
#include "autotune/space/space.h"
#include "autotune/task/workloads.h"
#include "runtime/error.h"
#include "schedule/infer_bound.h"
#include "schedule/normalize.h"
#include "schedule/schedule_ops.h"

namespace tw::autotune {
namespace {

constexpr MachineModel kMachine{.vector_bits = 512, .vector_registers = 32};

// Points drawn at random whose time is what a machine of this model would take.
CalibrationTask made_task(const char* workload, const MachineModel& machine, uint64_t seed) {
  const Task task = make_task(parse_workload(workload).program, Target::host(), 1, workload);
  const Space space(task);
  std::mt19937_64 rng(seed);
  CalibrationTask made;
  while (made.size() < 40) {
    try {
      const Schedule normal = normalize(space.schedule(space.random(rng)));
      const auto nest = analyze_nest(schedule_ops(normal, infer_bound(normal)));
      made.push_back({.nest = nest, .seconds = 1.7 * nest_seconds(nest, machine)});
    } catch (const UserError&) {  // not legal: no part of the space
    }
  }
  return made;
}

TEST(Calibration, EveryConstantHasAUnitAndASource) {
  MachineModel machine = kMachine;
  for (const MachineConstant& c : machine_constants()) {
    EXPECT_FALSE(c.unit.empty()) << c.name;
    EXPECT_FALSE(c.source.empty()) << c.name;
    EXPECT_GE(c.of(machine), c.least) << c.name;
    EXPECT_LE(c.of(machine), c.most) << c.name;
    EXPECT_EQ(c.source == "fit", c.least < c.most) << c.name << ": documents are not fitted over";
  }
}

TEST(Calibration, AgreesWithItself) {
  const CalibrationTask task = made_task("softmax:m=64,n=128", kMachine, 1);
  const Agreement a = agreement(task, kMachine);
  EXPECT_DOUBLE_EQ(a.rank, 1);
  EXPECT_NEAR(a.spread, 0, 1e-9) << "another unit of time is no error";
  EXPECT_GT(a.chosen, 0.9);
}

TEST(Calibration, RecoversPlantedNumbers) {
  struct Plant {
    const char* workload;
    double MachineModel::* constant;
    double value;
  };
  for (const Plant& plant : {Plant{"gemm:m=48,n=96,k=64", &MachineModel::loop_cycles, 9},
                             {"gemm:m=48,n=96,k=64", &MachineModel::port_overlap, 0.8}}) {
    MachineModel planted = kMachine;
    planted.*plant.constant = plant.value;
    const CalibrationTask task = made_task(plant.workload, planted, 1);
    const MachineModel fitted = calibrate({&task}, kMachine);
    EXPECT_NEAR(fitted.*plant.constant / plant.value, 1, 0.25) << plant.workload;
    EXPECT_LT(calibration_loss({&task}, fitted), 0.5 * calibration_loss({&task}, kMachine));
    // Of candidates that it was not fitted to.
    const CalibrationTask other = made_task(plant.workload, planted, 2);
    EXPECT_LT(calibration_loss({&other}, fitted), 0.5 * calibration_loss({&other}, kMachine));
  }
}

TEST(Calibration, WhatIsRightStays) {
  const CalibrationTask task = made_task("gemm:m=48,n=96,k=64", kMachine, 1);
  MachineModel fitted = calibrate({&task}, kMachine);
  for (const MachineConstant& c : machine_constants()) {
    MachineModel machine = kMachine;
    EXPECT_EQ(c.of(fitted), c.of(machine)) << c.name;
  }
}

// Schedules for a machine that compiles for another are those of the other.
TEST(MachineModelOfTarget, CachesAreTheTargets) {
  const auto of = [](const char* target) { return machine_model(Target::parse(target), 1); };
  EXPECT_EQ(of("llvm -mcpu=sapphirerapids").cache_bytes[1], 2 << 20);
  EXPECT_EQ(of("llvm -mcpu=znver4").cache_bytes[1], 1 << 20);
  EXPECT_EQ(of("llvm -mcpu=znver4").cache_bytes[0], 32 << 10);
  EXPECT_EQ(of("llvm -mcpu=znver4").ways[0], 8);
  EXPECT_EQ(of("llvm -mcpu=rocketlake -mattr=+amx-int8").cache_bytes[1], 2 << 20)
      << "a part that LLVM has no name for";
  EXPECT_EQ(of("llvm -mcpu=rocketlake").cache_bytes[1], 512 << 10);
}

}  // namespace
}  // namespace tw::autotune
