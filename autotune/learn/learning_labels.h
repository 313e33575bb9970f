// SPDX-License-Identifier: Apache-2.0
// What models of candidates are fitted to: log throughput, and what is expected of it beforehand.
#pragma once

#include <array>
#include <vector>

#include "autotune/learn/cost_model.h"

namespace tw::autotune {

// log throughput by the prior alone.
double prior_score(const Features& f);

// How much of the differences that two views expect there is: of the prior's, and of what other
// tasks teach (Experience). One each, until samples say otherwise.
struct Slopes {
  double prior = 1, experience = 1;
};

// An entry a sample. All values are less their task's weighted mean, since tasks are not compared.
struct Labels {
  std::vector<double> speed;  // log throughput
  std::vector<double> prior;  // what the prior thinks of it
  std::vector<double>
      experience;              // what other tasks teach beyond that; zeros where nothing is given
  std::vector<double> weight;  // how much it counts; timings that lie far apart teach less

  // What is near the best of its task counts more by this power of its throughput.
  explicit Labels(const std::vector<Sample>& samples, const std::vector<double>& experience = {},
                  double attention = 0);

  Slopes slopes() const;
  // What neither view explains.
  std::vector<double> residual(const Slopes& slopes) const;
};

}  // namespace tw::autotune
