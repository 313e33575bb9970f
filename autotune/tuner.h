// SPDX-License-Identifier: Apache-2.0
// The tuner: spends a budget of trials over tasks, keeps every trial in the log.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "autotune/learn/cost_models.h"
#include "autotune/learn/transfer.h"
#include "autotune/log/log.h"
#include "autotune/measure/measure.h"
#include "autotune/search/policies.h"
#include "autotune/space/rules.h"
#include "autotune/task_scheduler.h"

namespace tw::autotune {

struct TunerOptions {
  int trials = 64;        // in total, over all tasks
  double time_limit = 0;  // seconds, after which candidates in flight are given up; 0: none
  int batch = 0;          // trials between trainings of the model; 0: by the budget
  uint64_t seed = 0;
  bool resume = false;  // trials in the log count, and are learnt from
  // How often each task's kernel runs; once unless given.
  std::vector<double> task_weights;
  TaskPolicy task_policy = TaskPolicy::ExpectedGain;
  // Rows of the tables, or a user's own.
  ModelFactory model = cost_model("xgboost");
  PolicyFactory policy = search_policy("evolutionary");
  std::string transfer = "auto";               // what the model knows beforehand: transfer.h
  std::shared_ptr<const FeatureSet> features;  // for a model of the user's own; null: none
  std::vector<UserRule> rules;                 // sketch rules, asked before ours
  // Null: worker processes of this machine. Where it is asynchronous, candidates are proposed while
  // others are under way.
  std::shared_ptr<Measurer> measurer;
  MeasureOptions measure;  // of those
  SearchOptions search;
  std::string command;  // for the log
};

struct TaskSummary {
  std::string name, workload;
  double untuned_seconds = 0;  // the prior's schedule, measured in this run
  double best_seconds = 0;     // 0: no verified schedule
  std::string best_trace;
  int trials = 0;
  std::map<std::string, int> failures;  // by class: the ErrorCode's text id
  std::string transfer;                 // what taught the model before the first trial; "": nothing
};

// What happened, for progress displays. `record` is null at the start of a task.
struct TunerEvent {
  size_t task = 0;
  const Record* record = nullptr;
  int trial = 0, trials = 0;  // over all tasks
  const TaskSummary* summary = nullptr;
};

struct TunerReport {
  std::vector<TaskSummary> tasks;
  MeasureTimings timings;
  double seconds = 0, search_seconds = 0, train_seconds = 0;
  bool stopped = false;            // by `stop` or the time limit
  std::vector<std::string> notes;  // what was refused and done without, a line each
};

// BadTrials unless trials >= 1; BadArgument for weights that are not one positive number a task;
// TargetFeature where this machine cannot run what a task is for and no other measurer is given.
// `stop` may be set from a signal handler; nothing is lost then.
TunerReport tune(const std::vector<Task>& tasks, Log& log, const TunerOptions& options,
                 const std::function<void(const TunerEvent&)>& on_event = {},
                 const std::atomic<bool>* stop = nullptr);

}  // namespace tw::autotune
