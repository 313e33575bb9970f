// SPDX-License-Identifier: Apache-2.0
// Objects of Python in place of the tuner's parts. tilewright/autotune/seams.py checks what users
// give and what their methods return; these call it.
#pragma once

#include <memory>
#include <vector>

#include "autotune/cost/feature_set.h"
#include "autotune/learn/cost_models.h"
#include "autotune/measure/measure.h"
#include "autotune/search/policies.h"
#include "autotune/space/rules.h"
#include "python/bind.h"

namespace tw::python {

// Names of rows, or factories: (task, seed) -> object with fit and predict.
autotune::ModelFactory model_factory(const py::object& given);
// (task, space, seed, budget) -> object with propose and observe.
autotune::PolicyFactory policy_factory(const py::object& given);
// An object with names and extract; null for None.
std::shared_ptr<const autotune::FeatureSet> feature_set(const py::object& given);
// Objects with name, has_alternatives, variants and apply.
std::vector<autotune::UserRule> user_rules(const py::sequence& given);
// An object with measure, or with submit, wait, cancel, capacity and kind; null for None.
std::shared_ptr<autotune::Measurer> user_measurer(const py::object& given);

}  // namespace tw::python
