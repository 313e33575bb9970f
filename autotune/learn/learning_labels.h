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
  // What other tasks teach beyond that; zeros where nothing is given.
  std::vector<double> experience;
  // How much it counts: more near the best of its task, which candidates are chosen among, and less
  // where timings lie far apart.
  std::vector<double> weight;

  explicit Labels(const std::vector<Sample>& samples, const std::vector<double>& experience = {});

  Slopes slopes() const;
  // What neither view explains.
  std::vector<double> residual(const Slopes& slopes) const;
};

}  // namespace tw::autotune
