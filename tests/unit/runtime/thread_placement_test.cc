// SPDX-License-Identifier: Apache-2.0
#include "runtime/thread_placement.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <thread>
#include <vector>

namespace tw {
namespace {

cpu_set_t set_of(std::initializer_list<size_t> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const size_t cpu : cpus) CPU_SET(cpu, &set);
  return set;
}

std::vector<int> list_of(const cpu_set_t& set) {
  std::vector<int> cpus;
  for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

TEST(ThreadPlacement, ThreadsStayWhereNobodyElseIs) {
  const cpu_set_t allowed = set_of({0, 1, 2, 3});
  CpuClaims claims({});
  claims.take(1);
  EXPECT_EQ(claims.choose(allowed, 3), 3);
  EXPECT_EQ(claims.choose(allowed, 1), 0);
  EXPECT_EQ(claims.choose(allowed, -1), 0);
  EXPECT_EQ(claims.choose(allowed, 7), 0);  // a CPU that it may no longer use
  EXPECT_EQ(claims.choose(set_of({1}), 1), -1);
  EXPECT_EQ(claims.choose(set_of({}), 1), -1);
  for (const int cpu : {0, 2, 3}) claims.take(cpu);
  EXPECT_EQ(claims.choose(allowed, 3), -1);
}

// CPUs 0 and 2 are one core, 1 and 3 another.
TEST(ThreadPlacement, ACoreOfItsOwnComesFirst) {
  const std::vector<int> core_of = {0, 1, 0, 1};
  const cpu_set_t allowed = set_of({0, 1, 2, 3});
  CpuClaims claims(core_of);
  claims.take(0);
  EXPECT_EQ(claims.choose(allowed, 2), 1);
  EXPECT_EQ(claims.choose(allowed, 3), 3);
  EXPECT_EQ(claims.choose(set_of({0, 2}), 0), 2);  // its sibling, where there is nothing else
  claims.take(3);
  EXPECT_EQ(claims.choose(allowed, 2), 2);
  EXPECT_EQ(claims.choose(allowed, 0), 1);
}

TEST(ThreadPlacement, TheSystemKeepsItsChoiceWhereNobodyIsInTheWay) {
  const cpu_set_t allowed = set_of({0, 1, 2, 3});
  CpuClaims claims({});
  for (const int cpu : {0, 2}) claims.take(cpu);
  EXPECT_EQ(list_of(room_of(2, 2, allowed, claims)), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(list_of(room_of(2, 0, allowed, claims)), (std::vector<int>{2}));
  // Not beyond what is allowed.
  EXPECT_EQ(list_of(room_of(2, 2, set_of({0, 2}), claims)), (std::vector<int>{2}));
}

TEST(ThreadPlacement, AffinityComesBack) {
  std::thread([] {
    cpu_set_t before, now;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    const auto first = static_cast<size_t>(list_of(before).front());
    const cpu_set_t one = set_of({first});
    restore_affinity(0, one);
    sched_getaffinity(0, sizeof now, &now);
    EXPECT_TRUE(CPU_EQUAL(&now, &one));
    restore_affinity(0, before);
    sched_getaffinity(0, sizeof now, &now);
    EXPECT_TRUE(CPU_EQUAL(&now, &before));
    // CPUs that have gone away leave those that there are.
    restore_affinity(0, set_of({CPU_SETSIZE - 1}));
    sched_getaffinity(0, sizeof now, &now);
    EXPECT_GE(CPU_COUNT(&now), CPU_COUNT(&before));
  }).join();
}

}  // namespace
}  // namespace tw
