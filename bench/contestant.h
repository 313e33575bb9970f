// SPDX-License-Identifier: Apache-2.0
// Who computes a workload in a comparison. A new peer is a file with one factory, and a row of the
// list in peers.cc.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "autotune/task/task.h"
#include "autotune/task/workloads.h"
#include "bench/google_benchmark.h"
#include "bench/options.h"
#include "bench/results.h"
#include "runtime/ndarray.h"
#include "schedule/trace.h"

namespace tw::bench {

// A workload with its data, which all contestants share.
struct Problem {
  autotune::Workload workload;
  std::string kind;                     // "gemm"
  std::map<std::string, int64_t> size;  // "m": 512
  std::vector<NDArray> inputs;          // in argument order
  NDArray output;                       // one for all, so that nobody has a better place in memory
  double operations = 0;
};

// The size of that name; where its kind of workloads has none or its text leaves it out,
// `otherwise`.
int64_t size_or(const Problem& problem, const char* name, int64_t otherwise);
bool is_float32(const Problem& problem);  // all that goes in and out
// Floats are uniform in [-1, 1), integers of 8 bits uniform over their type.
Problem make_problem(const std::string& workload, std::mt19937& rng);

class Contestant {
 public:
  virtual ~Contestant() = default;
  virtual std::string name() const = 0;  // "tuned", "openblas"
  // Untimed, before each repetition: sets the library's number of threads.
  virtual void prepare() {}
  virtual void run() = 0;
  // Others that it would be no different from; they are reported with its times.
  virtual std::vector<std::string> also() const { return {}; }
  // Untimed, after a run: sees to it that the problem's output holds the result, where a run leaves
  // it in a layout of its own.
  virtual void publish() {}
};
using Contestants = std::vector<std::unique_ptr<Contestant>>;

// A row of the list of peers.
struct Library {
  std::string name;
  void (*start)(const Options& options) = [](const Options&) {};  // once, before everything else
  // Appends who takes part for this problem on so many threads; nobody for problems that the
  // library does not know.
  void (*enter)(const Problem& problem, int threads, const Options& options, Contestants& list);
  std::string (*version)();
  // Untimed: returns when none of the library's threads wants a core.
  void (*park)();
};

// ours.cc: a kernel of ours, and the library: the loop nest as written, the prior's schedule, and
// the best of --log.
std::unique_ptr<Contestant> make_ours(std::string name, const Problem& problem,
                                      const autotune::Task& task, const Trace& trace,
                                      std::vector<std::string> also = {});
Library ours();
// hand.cc: a schedule written by hand, for kinds of problems that have one.
std::optional<Trace> hand_schedule(const Problem& problem, const autotune::Task& task);
// limit.cc: no contestant, as it computes nothing, but what they cannot beat: as many multiply-adds
// between registers as the problem has, in turn with them. Nothing for other types than f32.
std::optional<Subject> arithmetic_limit(const Problem& problem, int threads,
                                        const Options& options);
// openblas.cc
Library openblas();
// onednn.cc
Library onednn();
// pytorch.cc
Library pytorch();

}  // namespace tw::bench
