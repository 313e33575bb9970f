// SPDX-License-Identifier: Apache-2.0
#include "runtime/machine.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tw {
namespace {

// A made-up /proc and /sys.
class MachineTree : public testing::Test {
 protected:
  std::filesystem::path root =
      std::filesystem::path(testing::TempDir()) /
      ("machine_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
  void SetUp() override { std::filesystem::remove_all(root); }
  void TearDown() override { std::filesystem::remove_all(root); }
  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
};

TEST(Machine, ThisOne) {
  const Machine& machine = host();
  EXPECT_FALSE(machine.cpu_name.empty());
  EXPECT_FALSE(machine.affinity.empty());
  EXPECT_GE(machine.usable_cpus, 1);
  EXPECT_LE(machine.usable_cpus, static_cast<int>(machine.affinity.size()));
  EXPECT_LE(machine.usable_cores, machine.usable_cpus);
  EXPECT_EQ(machine.cores.empty(), machine.affinity.empty());
  EXPECT_EQ(&host(), &machine);
}

TEST(Machine, CpuLists) {
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_cpu_list("5"), std::vector<int>{5});
  EXPECT_TRUE(parse_cpu_list("").empty());
  EXPECT_TRUE(parse_cpu_list("3-1").empty());
  EXPECT_TRUE(parse_cpu_list("x").empty());
}

TEST_F(MachineTree, HardwareThreadsOfOneCore) {
  const std::vector<int>& cpus = host().affinity;
  for (const int cpu : cpus) {
    put("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
        std::to_string(cpus.front()) + "-" + std::to_string(cpus.back()) + "\n");
  }
  const Machine machine = read_machine(root.string());
  ASSERT_EQ(machine.cores.size(), 1u);
  EXPECT_EQ(machine.cores[0].front(), cpus.front());
  EXPECT_EQ(machine.cores[0].back(), cpus.back());
  EXPECT_EQ(machine.usable_cores, 1);
}

TEST_F(MachineTree, CachesAndName) {
  const int cpu = host().affinity.front();
  const std::string cache = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index";
  const auto index = [&](int i, const char* level, const char* type, const char* size,
                         const char* shared) {
    const std::string folder = cache + std::to_string(i);
    put(folder + "/level", level);
    put(folder + "/type", type);
    put(folder + "/size", size);
    put(folder + "/shared_cpu_list", shared);
    put(folder + "/coherency_line_size", "128\n");
  };
  index(0, "1\n", "Data\n", "48K\n", "0\n");
  index(1, "1\n", "Instruction\n", "32K\n", "0\n");
  index(2, "2\n", "Unified\n", "2048K\n", "0-1\n");
  index(3, "3\n", "Unified\n", "105M\n", "0-7\n");
  put("proc/cpuinfo", "processor\t: 0\nmodel name\t: Test Processor 9\nflags\t: none\n");
  const Machine machine = read_machine(root);
  EXPECT_EQ(machine.l1_bytes, 48 << 10);
  EXPECT_EQ(machine.l2_bytes, 2048 << 10);
  EXPECT_EQ(machine.l3_bytes, int64_t(105) << 20);
  EXPECT_EQ(machine.l3_sharing, 8);
  EXPECT_EQ(machine.cache_line_bytes, 128);
  EXPECT_EQ(machine.cpu_name, "Test Processor 9");
}

TEST_F(MachineTree, NothingReadable) {
  const Machine machine = read_machine(root);
  EXPECT_EQ(machine.cpu_name, "unknown");
  EXPECT_EQ(machine.cgroup_cpus, 0);
  EXPECT_GE(machine.usable_cpus, 1);
}

TEST_F(MachineTree, CgroupVersion2) {
  put("proc/self/cgroup", "0::/a/b\n");
  put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(read_machine(root).cgroup_cpus, 0);
  put("sys/fs/cgroup/a/cpu.max", "50000 100000\n");  // a parent's limit holds for us too
  EXPECT_EQ(read_machine(root).cgroup_cpus, 0.5);
  EXPECT_EQ(read_machine(root).usable_cpus, 1);
  put("sys/fs/cgroup/a/cpu.max", "9900000 100000\n");
  EXPECT_EQ(read_machine(root).usable_cpus, host().affinity.size());
}

TEST_F(MachineTree, CgroupVersion1) {
  put("proc/self/cgroup", "3:cpuset:/\n1:cpu,cpuacct:/docker/x\n");
  put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000\n");
  put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(read_machine(root).cgroup_cpus, 1.5);
  put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(read_machine(root).cgroup_cpus, 0);
}

TEST_F(MachineTree, MemoryIsWhatGroupsLeave) {
  EXPECT_EQ(read_machine(root).memory_bytes, 0);
  put("proc/meminfo", "MemTotal:       16318344 kB\nMemFree:         1234567 kB\n");
  EXPECT_EQ(read_machine(root).memory_bytes, int64_t{16318344} << 10);
  put("proc/self/cgroup", "0::/a/b\n");
  put("sys/fs/cgroup/a/b/memory.max", "max\n");
  EXPECT_EQ(read_machine(root).memory_bytes, int64_t{16318344} << 10);
  put("sys/fs/cgroup/a/memory.max", "4294967296\n");
  EXPECT_EQ(read_machine(root).memory_bytes, int64_t{4} << 30);
  put("proc/self/cgroup", "4:memory:/x\n1:cpu,cpuacct:/x\n");
  put("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "9223372036854771712\n");  // no limit
  EXPECT_EQ(read_machine(root).memory_bytes, int64_t{16318344} << 10);
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
  EXPECT_EQ(read_machine(root).memory_bytes, int64_t{1} << 30);
}

TEST(Machine, HasMemory) { EXPECT_GT(host().memory_bytes, int64_t{1} << 20); }

}  // namespace
}  // namespace tw
