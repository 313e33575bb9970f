// SPDX-License-Identifier: Apache-2.0
#include "autotune/learn/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <tuple>

#include "autotune/task/machine_kind.h"
#include "autotune/task/named_row.h"
#include "runtime/error.h"
#include "runtime/thread_pool.h"

namespace tw::autotune {
namespace {

// A log of fewer other tasks teaches less than the shipped model does (autotune/README.md).
constexpr size_t kLeastTasks = 8;

constexpr TransferRow kTransfers[] = {
    {"auto", "other tasks of the log where it holds eight or more, else the shipped model"},
    {"log", "other tasks of the log"},
    {"shipped", "the model that comes with the library"},
    {"none", "nothing: the prior alone ranks the first round"},
};

// Trials of one task on machines of one kind, by trace in the order of their first appearance.
struct Group {
  const Record* first = nullptr;
  std::vector<const Record*> distinct;
  std::map<std::string_view, std::vector<const Record*>> of_trace;
};

double middle(const std::vector<const Record*>& records, double (Record::*value)() const) {
  std::vector<double> values;
  for (const Record* r : records) values.push_back((r->*value)());
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// At most so many, evenly spread.
std::vector<const Record*> chosen(const std::vector<const Record*>& all, size_t most) {
  std::vector<const Record*> result;
  const size_t count = std::min(most, all.size());
  for (size_t k = 0; k < count; ++k) result.push_back(all[k * all.size() / count]);
  return result;
}

std::vector<Sample> samples_of(const Group& group, const std::string& te_text, size_t most,
                               int number) {
  const Task task = make_task(te_text, Target::parse(group.first->target), group.first->threads, "",
                              group.first->caches);
  const std::vector<const Record*> records = chosen(group.distinct, most);
  std::vector<Sample> samples(records.size());
  parallel_for({.num_tasks = static_cast<int32_t>(records.size()), .chunking = Chunking::Dynamic},
               [&](int32_t i, int32_t) {
                 const auto k = static_cast<size_t>(i);
                 try {
                   samples[k].features = std::make_shared<Features>(
                       extract_features(task, parse_trace(records[k]->trace)));
                 } catch (const UserError&) {  // by a version with other primitives
                 }
               });
  double best = INFINITY;
  for (size_t k = 0; k < records.size(); ++k) {
    const auto& visits = group.of_trace.at(records[k]->trace);
    samples[k].task = number;
    samples[k].throughput = 1 / middle(visits, &Record::median);  // 0 for a failure
    samples[k].spread = middle(visits, &Record::spread);
    best = std::min(best, 1 / samples[k].throughput);
  }
  for (Sample& s : samples) s.throughput *= best;
  std::erase_if(samples, [](const Sample& s) { return s.features == nullptr; });
  return std::isfinite(best) ? samples : std::vector<Sample>{};
}

Transfer of_log(const Log& log, const Task& task, std::span<const Task> tuned,
                std::string_view kind, uint64_t seed, size_t least_tasks) {
  const auto is_tuned = [&](const Record& r) {
    return std::ranges::any_of(tuned, [&](const Task& t) { return t.workload == r.workload; });
  };
  const Lessons lessons =
      lessons_of(log, {.wanted = [&](const Record& r) {
                   return r.target == task.target_text && r.threads == task.threads &&
                          r.caches == task.caches && same_kind(r.kind, kind) && !is_tuned(r);
                 }});
  const size_t tasks = lessons.workloads.size();
  if (tasks < least_tasks) return {};
  const auto experience = Experience::learn(lessons.samples, seed);
  if (experience == nullptr) return {};
  return {
      experience, fmt::format("{} trials of {} other tasks", lessons.samples.size(), tasks), {}};
}

Transfer of_library() {
  const ShippedExperience& shipped = shipped_experience();
  if (shipped.experience == nullptr) return {.refusal = shipped.refusal};
  return {shipped.experience, "the shipped model", {}};
}

Transfer of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::string names;
    for (const TransferRow& row : kTransfers) names += fmt::format("{}, ", row.name);
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("unknown transfer '{}'", path),
           .legal = names + "or a file that ./tw bench model --pretrain made"});
  }
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  try {
    return {Experience::load(bytes), path, {}};
  } catch (const Error& e) {
    return {.refusal = fmt::format("{}: {}", path, e.info().what)};
  }
}

}  // namespace

Lessons lessons_of(const Log& log, const LessonsOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto spent = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Lessons lessons;
  const auto workloads = log.workloads();
  // The last ones first: the log of a machine that changed is best believed where it ends.
  for (auto w = workloads.rbegin(); w != workloads.rend(); ++w) {
    if (spent() > options.seconds) break;
    const std::vector<Record> records = log.records(w->id);
    std::map<std::tuple<std::string, int, CacheState, std::string>, Group> groups;
    for (const Record& r : records) {
      if (options.wanted && !options.wanted(r)) continue;
      Group& group = groups[{r.target, r.threads, r.caches, r.kind}];
      if (group.first == nullptr) group.first = &r;
      auto& same = group.of_trace[r.trace];
      if (same.empty()) group.distinct.push_back(&r);
      same.push_back(&r);
    }
    for (const auto& [key, group] : groups) {
      const size_t room = std::min(options.most_of_task, options.most - lessons.samples.size());
      if (std::min(room, group.distinct.size()) < options.least_of_task) continue;
      const auto number = static_cast<int>(lessons.workloads.size());
      const std::vector<Sample> samples = samples_of(group, w->te_text, room, number);
      if (samples.empty()) continue;
      lessons.workloads.push_back(w->id);
      lessons.samples.insert(lessons.samples.end(), samples.begin(), samples.end());
    }
  }
  return lessons;
}

std::span<const TransferRow> transfers() { return kTransfers; }

Transfer find_transfer(std::string_view how, const Log& log, const Task& task,
                       std::span<const Task> tuned, std::string_view kind, uint64_t seed) {
  if (how == "none") return {};
  if (how == "shipped") return of_library();
  if (how == "log") return of_log(log, task, tuned, kind, seed, 2);
  if (how != "auto") return of_file(std::string(how));
  Transfer found = of_log(log, task, tuned, kind, seed, kLeastTasks);
  return found.experience != nullptr ? found : of_library();
}

}  // namespace tw::autotune
