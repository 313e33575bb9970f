// SPDX-License-Identifier: Apache-2.0
#include "autotune/measure/measure_pool.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/error.h"

namespace tw::autotune {
namespace {

constexpr int kMostFailedStarts = 5;

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(std::min(seconds, 1e9)));
}

}  // namespace

WorkerPool::WorkerPool(size_t size, std::string program, uint64_t seed)
    : slots_(size), program_(std::move(program)), seed_(seed) {}

void WorkerPool::ask(size_t k, const Task& task, int64_t request, const nlohmann::json& message,
                     double seconds) {
  Slot& slot = slots_[k];
  if (!slot.process) {
    slot = Slot();
    slot.process = std::make_unique<WorkerProcess>(program_);
  }
  // Loading the compiler must not count against the first candidate.
  if (slot.handled == 0) seconds += 5;
  const std::string caches(to_string(task.caches));
  const std::string key =
      fmt::format("{}\n{}\n{}\n{}", task.te_text, task.target_text, task.threads, caches);
  bool sent = true;
  if (slot.task != key) {
    sent = slot.process->channel().send({{"do", "task"},
                                         {"te", task.te_text},
                                         {"target", task.target_text},
                                         {"threads", task.threads},
                                         {"caches", caches},
                                         {"seed", seed_}});
    slot.task = key;
  }
  // A failure to send shows as the end of the stream, which `wait` reports.
  if (sent) slot.process->channel().send(message);
  slot.busy = true;
  slot.started = false;
  slot.last = std::exchange(slot.request, request);
  slot.deadline = after(seconds);
}

std::vector<WorkerEvent> WorkerPool::wait(double seconds) {
  std::vector<pollfd> polled;
  std::vector<size_t> which;
  auto until = after(seconds);
  for (size_t k = 0; k < slots_.size(); ++k) {
    if (!slots_[k].process) continue;
    polled.push_back({.fd = slots_[k].process->channel().descriptor(), .events = POLLIN});
    which.push_back(k);
    if (slots_[k].busy) until = std::min(until, slots_[k].deadline);
  }
  const double left = std::chrono::duration<double>(until - Clock::now()).count();
  poll(polled.data(), polled.size(), static_cast<int>(std::ceil(std::max(left, 0.0) * 1e3)));

  std::vector<WorkerEvent> events;
  const auto now = Clock::now();
  for (size_t i = 0; i < which.size(); ++i) {
    Slot& slot = slots_[which[i]];
    const bool open = polled[i].revents == 0 || slot.process->channel().fill();
    auto reply = slot.process->channel().take();
    if (reply) {
      slot.proven = true;
      failed_starts_ = 0;
    }
    if (reply && reply->contains("started")) {
      slot.started = true;
      reply = slot.process->channel().take();
    }
    WorkerEvent event = {.kind = WorkerEvent::Kind::Reply,
                         .slot = which[i],
                         .request = slot.busy ? slot.request : -1,
                         .started = slot.started,
                         .last = slot.busy ? slot.last : slot.request};
    if (reply) {
      slot.busy = false;
      event.reply = std::move(*reply);
    } else if (!open) {
      event.kind = WorkerEvent::Kind::Died;
      event.end = slot.process->end();
      if (!slot.proven && ++failed_starts_ >= kMostFailedStarts) {
        raise({.code = ErrorCode::WorkerLost,
               .what = "the worker program ends before it does anything: it " + event.end.text(),
               .where = program_,
               .legal = "the tilewright-worker of the same build"});
      }
      slot = Slot();
    } else if (slot.busy && now >= slot.deadline) {
      event.kind = WorkerEvent::Kind::TimedOut;
      slot = Slot();
    } else {
      continue;
    }
    events.push_back(std::move(event));
  }
  return events;
}

void WorkerPool::reset() {
  for (Slot& slot : slots_) {
    if (slot.busy || (slot.process && !slot.process->channel().send({{"do", "drop"}}))) {
      slot = Slot();
    }
    slot.held = 0;
    slot.request = slot.last = -1;
  }
}

void WorkerPool::recycle(int most) {
  for (Slot& slot : slots_) {
    if (slot.process && !slot.busy && slot.held == 0 && most > 0 && slot.handled >= most) {
      slot = Slot();
    }
  }
}

int64_t WorkerPool::resident_bytes() const {
  int64_t total = 0;
  for (const Slot& slot : slots_) {
    if (slot.process) total += slot.process->resident_bytes();
  }
  return total;
}

}  // namespace tw::autotune
