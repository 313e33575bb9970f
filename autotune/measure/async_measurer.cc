// SPDX-License-Identifier: Apache-2.0
#include "autotune/measure/async_measurer.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <utility>

namespace tw::autotune {
namespace {

// Tickets of whole batches, which stand beside those that a tuner gives: negative.
int64_t next_ticket() {
  static std::atomic<int64_t> last = 0;
  return --last;
}

}  // namespace

std::vector<Record> AsyncMeasurer::measure(const Task& task, const std::vector<Candidate>& batch,
                                           double best_seconds,
                                           const std::function<void(const Record&)>& done,
                                           const std::function<bool()>& stop) {
  std::map<int64_t, size_t> under_way;
  std::vector<std::optional<Record>> records(batch.size());
  size_t next = 0, known = 0;
  while (known < batch.size() && !(stop && stop())) {
    for (; next < batch.size() && std::cmp_less(under_way.size(), std::max(1, capacity()));
         ++next) {
      const int64_t ticket = next_ticket();
      under_way.emplace(ticket, next);
      submit(ticket, task, batch[next], best_seconds);
    }
    for (const Answer& answer : wait(kTick)) {
      const auto found = under_way.find(answer.ticket);
      if (found == under_way.end()) continue;
      const size_t c = found->second;
      under_way.erase(found);
      ++known;
      records[c] = complete(task, batch[c], answer.record);
      if (done) done(*records[c]);
    }
  }
  if (!under_way.empty()) cancel();
  std::vector<Record> result;
  for (auto& record : records) {
    if (record) result.push_back(std::move(*record));
  }
  return result;
}

Record AsyncMeasurer::complete(const Task& task, const Candidate& candidate, const Record& answer) {
  Record record = answer;
  describe(record, task, candidate);
  timings_.compile_cpu += record.compile_seconds;
  for (const double seconds : record.seconds) timings_.run += seconds;
  return record;
}

}  // namespace tw::autotune
