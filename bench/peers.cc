// SPDX-License-Identifier: Apache-2.0
// Ours against other libraries in one process: the same data, results compared first, then timed in
// random order with every pool parked between contestants.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "bench/contestant.h"
#include "bench/google_benchmark.h"
#include "bench/sections.h"
#include "runtime/error.h"
#include "schedule/te/text.h"

namespace tw::bench {
namespace {

std::vector<Library> libraries() {
  return {
      ours(),
#if TW_HAVE_OPENBLAS
      openblas(),
#endif
  };
}

std::vector<int64_t> shape_of(const te::Tensor& tensor) {
  std::vector<int64_t> shape;
  for (const Expr& extent : tensor.shape()) shape.push_back(as<IntImm>(extent)->value);
  return shape;
}

// "gemm:m=512,n=512,k=512" into kind and sizes.
void parse_sizes(const std::string& text, Problem& problem) {
  const size_t colon = text.find(':');
  problem.kind = text.substr(0, colon);
  for (size_t begin = colon + 1; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const size_t equals = text.find('=', begin);
    if (equals < end && std::isdigit(static_cast<unsigned char>(text[equals + 1])) != 0) {
      problem.size[text.substr(begin, equals - begin)] = std::stoll(text.substr(equals + 1));
    }
    begin = end + 1;
  }
}

Problem make_problem(const std::string& text, std::mt19937& rng) {
  Problem problem{.workload = autotune::parse_workload(text)};
  parse_sizes(problem.workload.text, problem);
  const te::Program& program = problem.workload.program;
  problem.operations = te::count_operations(program);
  problem.output_shape = shape_of(program.outputs.at(0));
  std::uniform_real_distribution<float> values(-1, 1);
  for (size_t i = 0; i + 1 < program.arguments.size(); ++i) {
    NDArray array = NDArray::empty(shape_of(program.arguments[i]), program.arguments[i].dtype());
    if (array.dtype() != float_type(32)) {
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("workload '{}' is not of float32", text),
             .legal = "float32"});
    }
    std::generate_n(array.data_as<float>(), array.size(), [&] { return values(rng); });
    problem.inputs.push_back(std::move(array));
  }
  return problem;
}

// The largest difference, relative to the largest element.
double difference(const NDArray& a, const NDArray& b) {
  double greatest = 0, apart = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    const double x = a.data_as<float>()[i], y = b.data_as<float>()[i];
    greatest = std::max(greatest, std::abs(x));
    // An element that is no number is as wrong as can be.
    apart = std::isnan(y) ? INFINITY : std::max(apart, std::abs(x - y));
  }
  return greatest > 0 ? apart / greatest : apart;
}

// What must move through memory at least: each input once, the output once.
int64_t compulsory_bytes(const Problem& problem, const NDArray& output) {
  int64_t bytes = output.byte_size();
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

// Contestants whose result is that of the first. A wrong one is reported and not timed.
void enter(const Problem& problem, int threads, const Options& options,
           const std::vector<Library>& all, std::vector<std::shared_ptr<Contestant>>& kept,
           std::vector<Subject>& subjects, nlohmann::json& wrong) {
  Contestants list;
  for (const Library& library : all) library.enter(problem, threads, options, list);
  const NDArray* reference = nullptr;
  for (auto& entered : list) {
    const std::shared_ptr<Contestant> contestant = std::move(entered);
    const std::string name =
        fmt::format("{}/{}/{}", problem.workload.text, contestant->name(), threads);
    const double once = run_once(*contestant);
    if (reference == nullptr) reference = &contestant->output();
    const double apart = difference(*reference, contestant->output());
    if (!(apart < 1e-4)) {
      wrong.push_back({{"name", name}, {"difference", fmt::format("{:g}", apart)}});
      continue;
    }
    kept.push_back(contestant);
    subjects.push_back({.name = name,
                        .run = [contestant] { contestant->run(); },
                        .prepare =
                            [contestant, &all] {
                              park(all);
                              contestant->prepare();
                            },
                        .slow_seconds = once,
                        .labels = {{"workload", problem.workload.text},
                                   {"shape", problem.workload.shape},
                                   {"kind", problem.kind},
                                   {"contestant", contestant->name()},
                                   {"threads", threads},
                                   {"operations", problem.operations},
                                   {"bytes", compulsory_bytes(problem, contestant->output())}}});
  }
}

}  // namespace

void measure_peers(const Options& options, Results& results) {
  const std::vector<Library> all = libraries();
  nlohmann::json versions = nlohmann::json::object(), wrong = nlohmann::json::array();
  for (const Library& library : all) versions[library.name] = library.version();
  results.fact("libraries", versions);

  std::mt19937 rng(1);
  std::vector<std::shared_ptr<Contestant>> kept;
  std::vector<Subject> subjects;
  for (const std::string& text : options.list("workload", "gemm:m=512,n=512,k=512")) {
    const Problem problem = make_problem(text, rng);
    for (const int threads : options.thread_counts()) {
      enter(problem, threads, options, all, kept, subjects, wrong);
    }
  }
  results.fact("wrong", wrong);
  const bool quick = options.flag("quick");
  time_interleaved(
      subjects,
      {.count = options.count("repetitions", quick ? 7 : 15), .seconds = quick ? 0.03 : 0.1},
      results);
}

}  // namespace tw::bench
