// SPDX-License-Identifier: Apache-2.0
#include "autotune/learn/cost_models.h"

#include "autotune/task/named_row.h"

namespace tw::autotune {
namespace {

constexpr ModelRow kModels[] = {
    {"xgboost", "gradient-boosted trees that learn the order of what was measured",
     [](const ModelContext& c) {
       return make_xgboost_model(false, c.seed, c.experience ? c.experience() : nullptr);
     }},
    {"shuffled", "the same trained on shuffled labels: what it would be worth by luck",
     [](const ModelContext& c) { return make_xgboost_model(true, c.seed); }},
    {"random", "scores drawn at random",
     [](const ModelContext& c) { return make_random_model(c.seed); }},
    {"prior", "the analytical prior alone", [](const ModelContext&) { return make_prior_model(); }},
};

}  // namespace

std::span<const ModelRow> cost_models() { return kModels; }

ModelFactory cost_model(std::string_view name) {
  return named_row(cost_models(), name, "cost model").make;
}

}  // namespace tw::autotune
