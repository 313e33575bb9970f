// SPDX-License-Identifier: Apache-2.0
// Random schedules through code generation and back.
#include <gtest/gtest.h>

#include "tests/support/jit_check.h"

namespace tw::test {
namespace {

TEST(JitFuzz, MachineCodeComputesTheDefinition) {
  fuzz_schedules(jit_checks(Target::host()), 100, 0.85);
}

// Loops that do not run, and reductions over nothing.
TEST(JitFuzz, MachineCodeOfExtentsOfZeroComputesTheDefinition) {
  fuzz_schedules(jit_checks(Target::host()), 80, 0.8, 3, {.empty_percent = 15});
}

TEST(JitFuzz, MachineCodeOfScansComputesTheDefinition) {
  fuzz_schedules(jit_checks(Target::host()), 40, 0.7, 4, {.scan_percent = 40});
}

TEST(JitFuzz, MachineCodeOfVectorElementsComputesTheDefinition) {
  fuzz_schedules(jit_checks(Target::host()), 50, 0.7, 5, {.scan_percent = 15, .vectors = true});
}

TEST(JitFuzz, MachineCodeOfOutputsThatNobodyUsesComputesTheDefinition) {
  fuzz_schedules(jit_checks(Target::host()), 50, 0.7, 6,
                 {.least_operations = 2, .scan_percent = 20, .several_percent = 50});
}

// The same on a smaller vector unit without masks.
TEST(JitFuzz, MachineCodeOfAnOlderProcessorComputesTheDefinition) {
  const Target target = Target::parse("llvm -mcpu=x86-64-v3");
  if (!target.features_missing_on_host().empty()) GTEST_SKIP() << "the host has no AVX2";
  fuzz_schedules(jit_checks(target), 50, 0.85, 1);
}

// Nor with fused multiply-adds, gathers or more than 128 bits.
TEST(JitFuzz, MachineCodeOfTheOldestProcessorComputesTheDefinition) {
  const Target target = Target::parse("llvm -mcpu=x86-64");
  if (!target.features_missing_on_host().empty()) GTEST_SKIP() << "the host is no x86-64";
  fuzz_schedules(jit_checks(target), 25, 0.85, 2);
}

}  // namespace
}  // namespace tw::test
