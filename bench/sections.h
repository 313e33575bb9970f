// SPDX-License-Identifier: Apache-2.0
// The subjects of the benchmark program, each a file of its own and a row of the table in main.cc.
#pragma once

#include "autotune/task/task.h"
#include "bench/options.h"
#include "bench/results.h"
#include "schedule/trace.h"

namespace tw::bench {

// machine_peak.cc: what the machine gives at best. Arithmetic, copies by size.
void measure_peak(const Options& options, Results& results);
// fork_join.cc: latency of a parallel region of the thread pool.
void measure_fork_join(const Options& options, Results& results);
// rest.cc: bursts of parallel regions after a pause, and where their threads ran.
void measure_rests(const Options& options, Results& results);
// compile_latency.cc: te text and trace to callable, by phase; cold, warm, and memory over many.
void measure_compile(const Options& options, Results& results);
// scheduling.cc: checking a schedule against lowering it, and a nest of sixty operations.
void measure_scheduling(const autotune::Task& task, const std::vector<Trace>& traces,
                        Results& results);
void measure_cold_compile(const Options& options, Results& results);
void measure_soak(const Options& options, Results& results);
// vector_math.cc: errors and rates of mathematical functions.
void measure_math(const Options& options, Results& results);
// search_rate.cc: features and proposals a second.
void measure_search(const Options& options, Results& results);
// prior_climb.cc: how long the untuned schedule of a program takes to find.
void measure_prior(const Options& options, Results& results);
// tuning.cc: one run of the tuner, with its curve, its throughput and its memory.
void measure_tuning(const Options& options, Results& results);
// tasks.cc: rules of spending trials over tasks, on recorded runs.
void measure_tasks(const Options& options, Results& results);
// winners.cc: the best schedules of several logs.
void measure_winners(const Options& options, Results& results);
// collect.cc: the log of candidates that the study of the cost model replays.
void collect_candidates(const Options& options, Results& results);
// study.cc: cost models compared by replaying searches over such a log.
void study_models(const Options& options, Results& results);
// pretrain.cc: the model of other tasks that comes with the library.
void pretrain_model(const Options& options, Results& results);
// calibrate.cc: the analytical prior fitted to such a log.
void calibrate_prior(const Options& options, Results& results);
// peers.cc: ours against others in one process.
void measure_peers(const Options& options, Results& results);
// vendor_operators.cc: regions of one operator against the same primitives of oneDNN.
void measure_vendor_operators(const Options& options, Results& results);

}  // namespace tw::bench
