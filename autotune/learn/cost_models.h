// SPDX-License-Identifier: Apache-2.0
// Cost models by name: the table that `--model` and TunerOptions choose from.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "autotune/learn/cost_model.h"

namespace tw::autotune {

// What a model is made for; each task has one of its own.
struct ModelContext {
  const Task* task = nullptr;
  uint64_t seed = 0;
  // What other tasks teach, found when it is first asked for; null, or empty: nothing.
  std::function<std::shared_ptr<const Experience>()> experience = {};
};

// A user's own model is a factory that is in no table.
using ModelFactory = std::function<std::unique_ptr<CostModel>(const ModelContext&)>;

struct ModelRow {
  std::string_view name, doc;
  std::unique_ptr<CostModel> (*make)(const ModelContext&);
};
std::span<const ModelRow> cost_models();

// The factory of a row; BadArgument lists the rows.
ModelFactory cost_model(std::string_view name);

}  // namespace tw::autotune
