// SPDX-License-Identifier: Apache-2.0
// Ours against other libraries in one process: the same data, results compared first, then timed in
// random order with every pool parked between contestants.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>

#include "bench/contestant.h"
#include "bench/google_benchmark.h"
#include "bench/sections.h"
#include "runtime/element.h"

namespace tw::bench {
namespace {

std::vector<Library> libraries() {
  return {
      ours(),
#if TW_HAVE_OPENBLAS
      openblas(),
#endif
#if TW_HAVE_ONEDNN
      onednn(),
#endif
#if TW_HAVE_PYTORCH
      pytorch(),
#endif
  };
}

double element(const NDArray& a, int64_t i) {
  return load_as_double(static_cast<const char*>(a.data()) + i * a.dtype().element_bytes(),
                        a.dtype());
}

// The largest difference, relative to the largest element.
double difference(const NDArray& a, const NDArray& b) {
  double greatest = 0, apart = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    const double x = element(a, i), y = element(b, i);
    greatest = std::max(greatest, std::abs(x));
    // An element that is no number is as wrong as can be.
    apart = std::isnan(y) ? INFINITY : std::max(apart, std::abs(x - y));
  }
  return greatest > 0 ? apart / greatest : apart;
}

// How far results may lie apart. Sums of floats are rounded in another order by everybody; of
// integers there is one result. (Products of bfloat16 are exact in float32.)
double tolerance(DType type) {
  if (!type.is_float()) return 0;
  return type.bits > 16 ? 1e-4 : type.code == TypeCode::BFloat ? 0x1p-6 : 0x1p-9;
}

// So that nobody passes with what the one before wrote: NaN, or a number that nothing gives.
void spoil(const NDArray& array) {
  const int byte = array.dtype().is_float() ? 0xff : 0xa5;
  std::memset(array.data(), byte, static_cast<size_t>(array.byte_size()));
}

// What must move through memory at least: each input once, the output once.
int64_t compulsory_bytes(const Problem& problem) {
  int64_t bytes = problem.output.byte_size();
  for (const NDArray& input : problem.inputs) bytes += input.byte_size();
  return bytes;
}

// One run; slow contestants are told from quick ones by it.
double run_once(Contestant& contestant) {
  contestant.prepare();
  const auto start = std::chrono::steady_clock::now();
  contestant.run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void park(const std::vector<Library>& all) {
  for (const Library& library : all) library.park();
}

nlohmann::json labels_of(const Problem& problem, const std::string& contestant, int threads) {
  return {{"workload", problem.workload.text},
          {"shape", problem.workload.shape},
          {"kind", problem.kind},
          {"contestant", contestant},
          {"threads", threads},
          {"operations", problem.operations},
          {"bytes", compulsory_bytes(problem)}};
}

// Contestants whose result is that of the first. A wrong one is reported and not timed.
void enter(const Problem& problem, int threads, const Options& options,
           const std::vector<Library>& all, std::vector<Subject>& subjects, nlohmann::json& wrong) {
  Contestants list;
  for (const Library& library : all) library.enter(problem, threads, options, list);
  NDArray reference;
  for (auto& entered : list) {
    const std::shared_ptr<Contestant> contestant = std::move(entered);
    const auto full_name = [&](const std::string& who) {
      return fmt::format("{}/{}/{}", problem.workload.text, who, threads);
    };
    const std::string name = full_name(contestant->name());
    const double once = run_once(*contestant);
    contestant->publish();
    if (!reference.defined()) reference = problem.output.copy();
    const double apart = difference(reference, problem.output);
    spoil(problem.output);
    if (!(apart <= tolerance(problem.output.dtype()))) {
      wrong.push_back({{"name", name}, {"difference", fmt::format("{:g}", apart)}});
      continue;
    }
    std::vector<std::pair<std::string, nlohmann::json>> also;
    for (const std::string& who : contestant->also()) {
      also.emplace_back(full_name(who), labels_of(problem, who, threads));
    }
    subjects.push_back({.name = name,
                        .run = [contestant] { contestant->run(); },
                        .prepare =
                            [contestant, &all] {
                              park(all);
                              contestant->prepare();
                            },
                        .threads = threads,
                        .slow_seconds = once,
                        .labels = labels_of(problem, contestant->name(), threads),
                        .also = std::move(also)});
  }
}

// For problems with an operation a byte at least; others do not wait for arithmetic.
void enter_limit(const Problem& problem, int threads, const Options& options,
                 const std::vector<Library>& all, std::vector<Subject>& subjects) {
  if (problem.operations < static_cast<double>(compulsory_bytes(problem))) return;
  std::optional<Subject> limit = arithmetic_limit(problem, threads, options);
  if (!limit) return;
  limit->name = fmt::format("{}/limit/{}", problem.workload.text, threads);
  limit->threads = threads;
  limit->labels = labels_of(problem, "limit", threads);
  limit->prepare = [&all, prepare = limit->prepare] {
    park(all);
    prepare();
  };
  subjects.push_back(std::move(*limit));
}

}  // namespace

void measure_peers(const Options& options, Results& results) {
  const std::vector<Library> all = libraries();
  for (const Library& library : all) library.start(options);
  nlohmann::json versions = nlohmann::json::object(), wrong = nlohmann::json::array();
  for (const Library& library : all) versions[library.name] = library.version();
  results.fact("libraries", versions);

  const bool quick = options.flag("quick");
  const Repetition repetition = {.count = options.count("repetitions", quick ? 7 : 15),
                                 .seconds = quick ? 0.03 : 0.1};
  std::mt19937 rng(1);
  // Those of one problem are timed within seconds: what the machine does for minutes meets all.
  for (const std::string& text : options.list("workload", "gemm:m=512,n=512,k=512")) {
    const Problem problem = make_problem(text, rng);
    for (const int threads : options.thread_counts()) {
      std::vector<Subject> subjects;
      enter(problem, threads, options, all, subjects, wrong);
      enter_limit(problem, threads, options, all, subjects);
      time_interleaved(subjects, repetition, results);
    }
  }
  results.fact("wrong", wrong);
}

}  // namespace tw::bench
