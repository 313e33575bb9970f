// SPDX-License-Identifier: Apache-2.0
// tilewright-worker: compiles and times candidates for the process that started it, and ends with
// it. Everything that a candidate may do wrong happens here.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <thread>

#include "autotune/measure/channel.h"
#include "autotune/worker/fault.h"
#include "autotune/worker/session.h"
#include "runtime/machine.h"

namespace tw::autotune {
namespace {

void set_limit(int resource, rlim_t most) {
  rlimit limit = {};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return;
  limit.rlim_cur = std::min(limit.rlim_max, most);
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

void set_limits() {
  set_limit(RLIMIT_CORE, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#define TW_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define TW_SANITIZED 0
#endif
#if !TW_SANITIZED
  // Three quarters of the memory that is ours, so that a candidate fails here and does not get some
  // other process killed. (Sanitizers reserve terabytes.)
  if (const int64_t memory = host().memory_bytes; memory > 0) {
    set_limit(RLIMIT_AS, std::max(static_cast<rlim_t>(memory / 4 * 3), rlim_t{2} << 30));
  }
#endif
#endif
}

// Ends this process as soon as the other end of the channel is closed, also in the middle of a
// compile. (PR_SET_PDEATHSIG would watch the thread that started us, which may end long before its
// process.)
void end_with_parent() {
  std::thread([] {
    pollfd other = {.fd = Channel::kWorkerDescriptor, .events = 0, .revents = 0};
    for (;;) {
      if (poll(&other, 1, -1) > 0) _exit(0);
    }
  }).detach();
}

int serve() {
  Channel channel(Channel::kWorkerDescriptor);
  Session session;
  while (const auto request = channel.receive()) {
    if (Session::replies(*request) && !channel.send({{"started", true}})) break;
    const auto reply = session.handle(*request);
    if (reply && !channel.send(*reply)) break;
    if (request->value("do", "") == "compile") {
      maybe_fail(FaultPoint::Compiled, request->value("id", int64_t{-1}));
    }
  }
  // Destructors of compilers and pools are of no use to anybody now.
  _exit(0);
}

}  // namespace
}  // namespace tw::autotune

int main() {
  using namespace tw::autotune;
  if (fcntl(Channel::kWorkerDescriptor, F_SETFD, FD_CLOEXEC) != 0) {
    std::fputs("tilewright-worker: this program is started by the tuner\n", stderr);
    return 2;
  }
  signal(SIGINT, SIG_IGN);
  set_limits();
  end_with_parent();
  try {
    return serve();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
