// SPDX-License-Identifier: Apache-2.0
#include "autotune/worker/session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "autotune/measure/behind.h"
#include "autotune/measure/reference.h"
#include "autotune/worker/candidate.h"
#include "autotune/worker/fault.h"
#include "lower/llvm/compile.h"
#include "runtime/element.h"
#include "runtime/error.h"
#include "runtime/module.h"
#include "runtime/thread_pool.h"
#include "runtime/time_evaluator.h"

namespace tw::autotune {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

// A candidate is not called behind before it was timed for so long.
constexpr double kBurstSeconds = 2e-3;
// Verification read the arrays once more: to bring them back takes little of a longer call.
constexpr double kWarmSeconds = 1e-3;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

json failure(ErrorCode code, const std::string& message) {
  return {{"ok", false}, {"error", to_string(code)}, {"message", message}};
}

[[noreturn]] void io_failed(const std::string& path) {
  raise({.code = errno == ENOSPC ? ErrorCode::DiskFull : ErrorCode::Internal,
         .what = fmt::format("cannot use the file of reference results: {}", std::strerror(errno)),
         .where = path});
}

// A file read through memory; every worker shares the pages.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info = {};
    if (descriptor < 0 || fstat(descriptor, &info) != 0) io_failed(path);
    size_ = static_cast<size_t>(info.st_size);
    if (size_ > 0) {
      data_ = mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
      if (data_ == MAP_FAILED) io_failed(path);
    }
    close(descriptor);
  }
  ~MappedFile() {
    if (size_ > 0) munmap(data_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  const char* bytes() const { return static_cast<const char*>(data_); }
  size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

void write_file(const std::string& path, const std::string_view bytes) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) io_failed(path);
  size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t n = write(descriptor, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      close(descriptor);
      errno = error;
      io_failed(path);
    }
    written += static_cast<size_t>(n);
  }
  close(descriptor);
}

void append_bytes(std::string& to, const NDArray& array) {
  to.append(static_cast<const char*>(array.data()), static_cast<size_t>(array.byte_size()));
}

std::vector<CallArgument> to_arguments(const std::vector<NDArray>& arrays) {
  return {arrays.begin(), arrays.end()};
}

NDArray allocate(const te::Tensor& tensor) {
  return NDArray::empty(constant_shape(tensor), tensor.dtype());
}

}  // namespace

struct Session::State {
  te::Program program;
  Target target;
  int threads = 1;
  uint64_t seed = 0;
  CacheState caches = CacheState::Hot;
  std::vector<Positions> positions;          // of arguments
  std::vector<NDArray> arrays;               // one an argument; empty until something runs
  std::vector<uint64_t> checksums;           // of the inputs, 0 for outputs
  std::vector<std::vector<NDArray>> copies;  // of the arrays, elsewhere in memory
  std::map<int64_t, CompiledCandidate> compiled;
  std::string reference_path, tolerance_path;
  std::unique_ptr<MappedFile> reference, tolerance;

  bool is_output(size_t argument) const {
    return std::ranges::find(program.outputs, program.arguments[argument]) != program.outputs.end();
  }

  void set_task(const json& request) {
    *this = State();
    program = te::parse_program(request.at("te").get<std::string>());
    positions = positions_of(program);
    target = Target::parse(request.at("target").get<std::string>());
    threads = request.at("threads");
    seed = request.at("seed");
    caches = parse_cache_state(request.at("caches").get<std::string>());
  }

  void make_arrays() {
    if (!arrays.empty()) return;
    for (size_t k = 0; k < program.arguments.size(); ++k) {
      arrays.push_back(allocate(program.arguments[k]));
      const bool output = is_output(k);
      if (!output) fill_input(arrays[k], seed, k, positions[k]);
      checksums.push_back(output ? 0 : checksum(arrays[k]));
    }
  }

  json compile_candidate(const json& request) {
    const int64_t id = request.at("id");
    const auto start = Clock::now();
    maybe_fail(FaultPoint::Compile, id);
    CompiledCandidate candidate(program, request.at("trace").get<std::string>(), target, caches,
                                [this]() -> const std::vector<NDArray>& {
                                  make_arrays();
                                  return arrays;
                                });
    const std::string ir_hash = candidate.ir_hash();
    compiled.insert_or_assign(id, std::move(candidate));
    return {{"ok", true}, {"seconds", seconds_since(start)}, {"ir_hash", ir_hash}};
  }

  // The unscheduled kernel of `p`, compiled as it is written: no contraction.
  Function unscheduled(const te::Program& p) const {
    const Kernel kernel = lower_unscheduled(p, target, "reference");
    const auto module = compile({kernel}, target, {.fast_math_contract = false});
    return module->get_function(kernel.name);
  }

  json write_reference(const json& request) {
    make_arrays();
    unscheduled(program).call(to_arguments(arrays));
    std::string bytes;
    for (const te::Tensor& output : program.outputs) append_bytes(bytes, array_of(output));
    write_file(request.at("path"), bytes);
    return {{"ok", true}};
  }

  const NDArray& array_of(const te::Tensor& tensor) const {
    const auto at = std::ranges::find(program.arguments, tensor);
    TW_CHECK(at != program.arguments.end(), "a tensor that is no argument");
    return arrays[static_cast<size_t>(at - program.arguments.begin())];
  }

  json write_tolerance(const json& request) {
    make_arrays();
    const ErrorBound bound = error_bound(program);
    std::vector<NDArray> results;  // of bound.program.outputs
    if (!bound.program.outputs.empty()) {
      std::vector<NDArray> given;
      for (const te::Tensor& argument : bound.program.arguments) {
        if (argument.op()->is_placeholder()) {
          given.push_back(array_of(argument));
        } else {
          given.push_back(allocate(argument));
          results.push_back(given.back());
        }
      }
      unscheduled(bound.program).call(to_arguments(given));
    }
    std::string bytes;
    for (size_t k = 0; k < bound.outputs.size(); ++k) {
      if (bound.outputs[k] < 0) continue;
      const NDArray& result = results[static_cast<size_t>(bound.outputs[k])];
      std::vector<float> tolerances(static_cast<size_t>(result.size()));
      for (size_t i = 0; i < tolerances.size(); ++i) {
        tolerances[i] = static_cast<float>(result.data_as<double>()[i] * bound.factors[k]);
      }
      bytes.append(reinterpret_cast<const char*>(tolerances.data()),
                   tolerances.size() * sizeof(float));
    }
    write_file(request.at("path"), bytes);
    return {{"ok", true}};
  }

  // What is wrong with the result in `arrays`; empty when nothing is.
  std::string verify(const json& request) {
    if (const std::string path = request.at("reference"); path != reference_path) {
      reference = std::make_unique<MappedFile>(path);
      reference_path = path;
    }
    if (const std::string path = request.at("tolerance"); path != tolerance_path) {
      tolerance = std::make_unique<MappedFile>(path);
      tolerance_path = path;
    }
    const char* expected = reference->bytes();
    const auto* allowed = reinterpret_cast<const float*>(tolerance->bytes());
    for (const te::Tensor& output : program.outputs) {
      const NDArray& array = array_of(output);
      const bool real = array.dtype().is_float();
      const auto wrong =
          compare(expected, array.data(), real ? allowed : nullptr, array.size(), array.dtype());
      if (wrong) return describe(*wrong, output, array);
      expected += array.byte_size();
      if (real) allowed += array.size();
    }
    for (size_t k = 0; k < arrays.size(); ++k) {
      if (checksums[k] != 0 && checksum(arrays[k]) != checksums[k]) {
        // In place: other candidates may hold the array as a constant.
        fill_input(arrays[k], seed, k, positions[k]);
        return fmt::format("input '{}' was written to", program.arguments[k].name());
      }
    }
    return {};
  }

  static std::string describe(const Mismatch& wrong, const te::Tensor& output,
                              const NDArray& array) {
    std::string position;
    int64_t rest = wrong.index;
    for (int d = array.ndim() - 1; d >= 0; --d) {
      const int64_t extent = array.shape()[static_cast<size_t>(d)];
      position = fmt::format("{}{}{}", rest % extent, position.empty() ? "" : ", ", position);
      rest /= extent;
    }
    return fmt::format("{}[{}] is {:.9g}, expected {:.9g} within {:.3g} ({} of {} elements differ)",
                       output.name(), position, wrong.got, wrong.expected, wrong.tolerance,
                       wrong.count, array.size());
  }

  // The arrays at one of several places: the 0th are those that are filled and verified.
  const std::vector<NDArray>& arrays_at(size_t place) {
    make_arrays();
    while (copies.size() < place) {
      std::vector<NDArray>& copy = copies.emplace_back();
      for (const NDArray& array : arrays) copy.push_back(array.copy());
    }
    return place == 0 ? arrays : copies[place - 1];
  }

  // Readies a candidate and the machine for its calls.
  void prepare(CompiledCandidate& candidate, size_t place = 0) {
    ThreadPool& pool = ThreadPool::global();
    if (pool.num_threads() != threads) pool.set_num_threads(threads);
    candidate.prepare(program, arrays_at(place));
  }

  json run(const json& request) {
    const int64_t id = request.at("id");
    const auto node = compiled.extract(id);
    if (node.empty()) return not_here();
    CompiledCandidate& candidate = node.mapped();
    make_arrays();
    for (size_t k = 0; k < arrays.size(); ++k) {
      if (is_output(k)) fill_garbage(arrays[k]);
    }

    maybe_fail(FaultPoint::Run, id);
    prepare(candidate);
    const auto prepared = Clock::now();
    candidate.call();
    const double first = seconds_since(prepared);
    if (request.contains("reference")) {
      spoil(id);
      if (std::string wrong = verify(request); !wrong.empty()) {
        return failure(ErrorCode::WrongResult, wrong);
      }
    }
    json reply = {{"ok", true}};
    reply["seconds"] = time(candidate, request, first);
    ThreadPool::global().park();
    return reply;
  }

  static json not_here() {
    return failure(ErrorCode::WorkerLost, "the candidate was not compiled here");
  }

  // One visit of a race: the candidate stays, and its arrays where they were at its first.
  json visit(const json& request) {
    const int64_t id = request.at("id");
    const auto found = compiled.find(id);
    if (found == compiled.end()) return not_here();
    CompiledCandidate& candidate = found->second;
    maybe_fail(FaultPoint::Run, id);
    prepare(candidate, request.at("place"));
    candidate.call();  // brings back its code, and the arrays that candidates share
    const double seconds = request.at("seconds");
    const auto start = Clock::now();
    int64_t calls = 0;
    double spent = 0;
    do {
      candidate.call();
      ++calls;
      spent = seconds_since(start);
    } while (spent < seconds);
    ThreadPool::global().park();
    spent /= static_cast<double>(calls);
    return {{"ok", true}, {"seconds", has_fault("slow", id) ? spent + 1 : spent}};
  }

  void spoil(int64_t id) {
    const NDArray& output = array_of(program.outputs.front());
    const DType type = output.dtype();
    auto* last = static_cast<char*>(output.data()) +
                 (output.size() - 1) * static_cast<int64_t>(type.element_bytes());
    if (has_fault("wrong", id)) store_double(last, type, load_as_double(last, type) * 1.5 + 1);
    if (has_fault("unwritten", id)) {
      std::memset(last, type.is_float() ? 0xff : 0xa5, static_cast<size_t>(type.element_bytes()));
    }
    if (has_fault("overwrite", id)) {
      size_t input = 0;
      while (is_output(input)) ++input;
      *static_cast<char*>(arrays[input].data()) ^= 1;
    }
  }

  // `first` is what the very first call took, with cold caches.
  static std::vector<double> time(CompiledCandidate& candidate, const json& request, double first) {
    const double budget = request.at("budget"), longest = request.at("longest");
    const int min_repeats = request.at("min_repeats");
    const auto start = Clock::now();
    const double bound = request.at("bound"), error = request.at("behind_error");
    // Cold caches do not make up much of a budget: such a call is a sample, and may be the last.
    if (first > budget / 8 && BehindTest(bound, error).add(first)) return {first};
    BehindTest behind(bound, error);
    bool is_behind = false;
    const auto call = [&] { candidate.call(); };
    TimeResult result =
        measure_until(call, {.budget_seconds = std::max(budget - first, budget / 4),
                             .relative_interval = request.at("relative_interval"),
                             .min_samples = min_repeats,
                             .warm_up = first < kWarmSeconds,
                             .enough = [&](double seconds) {
                               // Other work on the machine comes in bursts, which are longer than
                               // a few calls of a small kernel.
                               is_behind = behind.add(seconds) || is_behind;
                               return is_behind && seconds_since(start) > kBurstSeconds;
                             }});
    while (!is_behind && static_cast<int>(result.seconds.size()) < min_repeats &&
           seconds_since(start) + 2 * result.max < longest / 2) {
      const auto begin = Clock::now();
      call();
      result.seconds.push_back(seconds_since(begin));
    }
    return std::move(result.seconds);
  }
};

Session::Session() : state_(std::make_unique<State>()) {}
Session::~Session() = default;

bool Session::replies(const json& request) {
  const std::string what = request.value("do", "");
  return what != "task" && what != "drop";
}

std::optional<json> Session::handle(const json& request) {
  static const std::string_view kKinds[] = {"task", "compile", "reference", "tolerance",
                                            "run",  "visit",   "drop"};
  const std::string what = request.value("do", "");
  const bool replies = Session::replies(request);
  TW_CHECK(std::ranges::find(kKinds, what) != std::end(kKinds), what);
  const bool running = what == "run" || what == "visit";
  const ErrorCode unexpected = running ? ErrorCode::RunCrashed : ErrorCode::CompileFailed;
  try {
    if (what == "task") {
      state_->set_task(request);
      return {};
    }
    if (what == "drop") {
      state_->compiled.clear();
      return {};
    }
    if (what == "compile") return state_->compile_candidate(request);
    if (what == "reference") return state_->write_reference(request);
    if (what == "tolerance") return state_->write_tolerance(request);
    if (what == "visit") return state_->visit(request);
    return state_->run(request);
  } catch (const std::bad_alloc&) {
    if (!replies) throw;
    return failure(ErrorCode::OutOfMemory, "memory is exhausted");
  } catch (const Error& e) {
    if (!replies) throw;
    const bool kept = e.code() == ErrorCode::OutOfMemory || e.code() == ErrorCode::DiskFull;
    return failure(
        kept ? e.code() : unexpected,
        kept ? std::string(e.what()) : fmt::format("{}: {}", to_string(e.code()), e.what()));
  } catch (const std::exception& e) {
    if (!replies) throw;
    return failure(unexpected, e.what());
  }
}

}  // namespace tw::autotune
