// SPDX-License-Identifier: Apache-2.0
// What a section of the benchmark found: raw samples with their unit, and facts. One JSON file a
// section; statistics are made from it later, by the driver (bench/samples.py).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tw::bench {

struct Measurement {
  std::string name;        // unique in its section; the same in every run that is compared
  std::string unit = "s";  // "s", "flop/s", "B/s", "1/s", "B"
  bool higher_is_better = false;
  std::vector<double> samples;  // raw, in the order taken
  // What was measured, for tables and pictures: {"contestant": "tuned", "threads": 1, …}.
  nlohmann::json labels = nlohmann::json::object();
};

class Results {
 public:
  void add(Measurement measurement);
  // Anything that is not a sample: versions, options, curves.
  void fact(const std::string& name, nlohmann::json value);
  nlohmann::json json() const;
  // Standard output when the path is empty. Throws UserError.
  void write(const std::string& path) const;

 private:
  std::vector<Measurement> measurements_;
  nlohmann::json facts_ = nlohmann::json::object();
};

// Resident memory of this process, and of its direct children together; bytes.
int64_t resident_bytes();
int64_t resident_bytes_of_children();

}  // namespace tw::bench
