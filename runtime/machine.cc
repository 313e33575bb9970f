// SPDX-License-Identifier: Apache-2.0
#include "runtime/machine.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tw {
namespace {

// The first line of a file, trimmed; empty when it cannot be read.
std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
  return line;
}

int64_t number(std::string_view text, int64_t fallback) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? value : fallback;
}

// "48K", "2M", "107520K".
int64_t parse_size(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return 0;
  switch (end == text.data() + text.size() ? ' ' : *end) {
    case 'K':
      return value << 10;
    case 'M':
      return value << 20;
    case 'G':
      return value << 30;
    default:
      return value;
  }
}

std::string name_from_cpuid() {
#if defined(__x86_64__)
  unsigned words[12] = {};
  if (__get_cpuid_max(0x80000000, nullptr) < 0x80000004) return {};
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    __get_cpuid(0x80000002 + leaf, &words[4 * leaf], &words[4 * leaf + 1], &words[4 * leaf + 2],
                &words[4 * leaf + 3]);
  }
  std::string name(reinterpret_cast<const char*>(words), sizeof words);
  name.resize(std::min(name.size(), name.find('\0')));
  const size_t first = name.find_first_not_of(' ');
  const size_t last = name.find_last_not_of(' ');
  return first == std::string::npos ? std::string() : name.substr(first, last - first + 1);
#else
  return {};
#endif
}

std::string cpu_name(const std::string& root) {
  if (root.empty()) {
    if (std::string name = name_from_cpuid(); !name.empty()) return name;
  }
  std::ifstream file(root + "/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::vector<int> affinity_mask() {
  std::vector<int> cpus;
  // The kernel refuses a set smaller than its own, so grow until it fits.
  for (int capacity = CPU_SETSIZE; capacity <= 1 << 18; capacity *= 2) {
    cpu_set_t* set = CPU_ALLOC(capacity);
    const size_t bytes = CPU_ALLOC_SIZE(capacity);
    const bool fits = set != nullptr && sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; fits && cpu < capacity; ++cpu) {
      if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (fits) break;
  }
  return cpus;
}

double least_limit(double a, double b) {
  if (a == 0 || b == 0) return std::max(a, b);
  return std::min(a, b);
}

double cpu_limit_version1(const std::string& folder) {
  const auto quota = number(first_line(folder + "/cpu.cfs_quota_us"), -1);
  const auto period = number(first_line(folder + "/cpu.cfs_period_us"), 0);
  return quota > 0 && period > 0 ? static_cast<double>(quota) / static_cast<double>(period) : 0;
}

double cpu_limit_version2(const std::string& folder) {
  std::istringstream line(first_line(folder + "/cpu.max"));  // "200000 100000" or "max 100000"
  std::string quota, period;
  line >> quota >> period;
  const auto q = number(quota, -1), p = number(period, 0);
  return q > 0 && p > 0 ? static_cast<double>(q) / static_cast<double>(p) : 0;
}

double memory_limit_version1(const std::string& folder) {
  const int64_t limit = number(first_line(folder + "/memory.limit_in_bytes"), 0);
  return limit < int64_t{1} << 60 ? static_cast<double>(limit) : 0;  // all of 63 bits: none
}

double memory_limit_version2(const std::string& folder) {  // "max" is no number
  return static_cast<double>(number(first_line(folder + "/memory.max"), 0));
}

// What control groups limit: the name of its controller, and how a folder of either version says
// the limit, 0 for none.
struct Resource {
  std::string controller;
  double (*version1)(const std::string& folder);
  double (*version2)(const std::string& folder);
};
const Resource kCpu = {"cpu", cpu_limit_version1, cpu_limit_version2};
const Resource kMemory = {"memory", memory_limit_version1, memory_limit_version2};

// The tightest limit on the way from our group to the root. In a container the path that
// /proc names may lie outside of what is mounted; the walk then still visits the mounted root.
template <class Limit>
double limit_on_path(const std::string& mount, std::string path, Limit limit) {
  double least = 0;
  for (;;) {
    least = least_limit(least, limit(mount + path));
    const size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return least;
    path.resize(slash);
  }
}

double cgroup_limit(const std::string& root, const Resource& resource) {
  const std::string mount = root + "/sys/fs/cgroup";
  double least = 0;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "id:controllers:path"
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      least = least_limit(least, limit_on_path(mount, path, resource.version2));
    } else if (("," + controllers + ",").find("," + resource.controller + ",") !=
               std::string::npos) {
      for (const std::string& folder : {controllers, resource.controller}) {
        const double limit = limit_on_path(mount + "/" + folder, path, resource.version1);
        least = least_limit(least, limit);
      }
    }
  }
  return least;
}

// Physical memory in bytes, 0 when unknown: "MemTotal:       16318344 kB".
double physical_memory(const std::string& root) {
  std::istringstream line(first_line(root + "/proc/meminfo"));
  std::string name;
  double kilobytes = 0;
  line >> name >> kilobytes;
  return name == "MemTotal:" ? kilobytes * 1024 : 0;
}

void read_caches(const std::string& cpu_folder, Machine& machine) {
  for (int index = 0; index < 16; ++index) {
    const std::string folder = fmt::format("{}/cache/index{}", cpu_folder, index);
    const std::string type = first_line(folder + "/type");
    if (type.empty()) break;
    if (type == "Instruction") continue;
    const int64_t bytes = parse_size(first_line(folder + "/size"));
    switch (number(first_line(folder + "/level"), 0)) {
      case 1:
        machine.l1_bytes = bytes;
        break;
      case 2:
        machine.l2_bytes = bytes;
        break;
      case 3: {
        machine.l3_bytes = bytes;
        const auto sharing = parse_cpu_list(first_line(folder + "/shared_cpu_list"));
        machine.l3_sharing = std::max(1, static_cast<int>(sharing.size()));
        break;
      }
      default:
        break;
    }
    machine.cache_line_bytes =
        static_cast<int>(number(first_line(folder + "/coherency_line_size"), 64));
  }
}

}  // namespace

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  std::istringstream ranges(text);
  for (std::string range; std::getline(ranges, range, ',');) {
    const size_t dash = range.find('-');
    const int64_t first = number(range, -1);
    const int64_t last = dash == std::string::npos ? first : number(range.substr(dash + 1), -1);
    if (first < 0 || last < first || last - first > 1 << 18) return {};
    for (int64_t cpu = first; cpu <= last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

Machine read_machine(const std::string& root) {
  Machine machine;
  machine.cpu_name = cpu_name(root);
  machine.affinity = affinity_mask();
  machine.cgroup_cpus = cgroup_limit(root, kCpu);
  machine.memory_bytes =
      static_cast<int64_t>(least_limit(physical_memory(root), cgroup_limit(root, kMemory)));
  int limit = std::max(1, static_cast<int>(machine.affinity.size()));
  if (machine.cgroup_cpus > 0) {
    limit = std::min(limit, std::max(1, static_cast<int>(std::ceil(machine.cgroup_cpus))));
  }
  machine.usable_cpus = limit;

  const std::string cpus = root + "/sys/devices/system/cpu";
  std::set<std::vector<int>> cores;
  for (int cpu : machine.affinity) {
    const std::string topology = fmt::format("{}/cpu{}/topology", cpus, cpu);
    const std::vector<int> siblings =
        parse_cpu_list(first_line(topology + "/thread_siblings_list"));
    cores.insert(siblings.empty() ? std::vector<int>{cpu} : siblings);
  }
  machine.cores.assign(cores.begin(), cores.end());
  machine.usable_cores = std::clamp(static_cast<int>(cores.size()), 1, limit);
  const int first = machine.affinity.empty() ? 0 : machine.affinity.front();
  read_caches(fmt::format("{}/cpu{}", cpus, first), machine);
  return machine;
}

const Machine& host() {
  static const Machine machine = read_machine();
  return machine;
}

}  // namespace tw
