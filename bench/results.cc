// SPDX-License-Identifier: Apache-2.0
#include "bench/results.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "runtime/error.h"

namespace tw::bench {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

int64_t resident_bytes_of(const std::string& process) {
  long long size = 0, resident = 0;
  if (std::sscanf(first_line("/proc/" + process + "/statm").c_str(), "%lld %lld", &size,
                  &resident) != 2) {
    return 0;  // it has just ended
  }
  return resident * sysconf(_SC_PAGESIZE);
}

// The field after the state, behind the name in parentheses, which may hold anything.
int parent_of(const std::string& process) {
  const std::string line = first_line("/proc/" + process + "/stat");
  const size_t end = line.rfind(')');
  char state = 0;
  int parent = 0;
  if (end == std::string::npos ||
      std::sscanf(line.c_str() + end + 1, " %c %d", &state, &parent) != 2)
    return 0;
  return parent;
}

}  // namespace

void Results::add(Measurement measurement) { measurements_.push_back(std::move(measurement)); }

void Results::fact(const std::string& name, nlohmann::json value) {
  facts_[name] = std::move(value);
}

nlohmann::json Results::json() const {
  nlohmann::json list = nlohmann::json::array();
  for (const Measurement& m : measurements_) {
    list.push_back({{"name", m.name},
                    {"unit", m.unit},
                    {"better", m.higher_is_better ? "higher" : "lower"},
                    {"samples", m.samples},
                    {"labels", m.labels}});
  }
  return {{"measurements", list}, {"facts", facts_}};
}

void Results::write(const std::string& path) const {
  const std::string text = json().dump(1) + "\n";
  if (path.empty()) {
    std::fputs(text.c_str(), stdout);
    return;
  }
  std::ofstream out(path);
  out << text;
  out.close();
  if (!out) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("cannot write '{}'", path),
           .legal = "a file in a folder that can be written, on a disk with space"});
  }
}

int64_t resident_bytes() { return resident_bytes_of("self"); }

int64_t resident_bytes_of_children() {
  int64_t sum = 0;
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return 0;
  while (const dirent* entry = readdir(processes)) {
    const std::string name = entry->d_name;
    if (name.find_first_not_of("0123456789") == std::string::npos && parent_of(name) == getpid()) {
      sum += resident_bytes_of(name);
    }
  }
  closedir(processes);
  return sum;
}

}  // namespace tw::bench
