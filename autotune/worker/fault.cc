// SPDX-License-Identifier: Apache-2.0
#include "autotune/worker/fault.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace tw::autotune {
namespace {

void crash() {
  signal(SIGSEGV, SIG_DFL);  // a sanitizer would turn it into an exit
  raise(SIGSEGV);
}
void hang() {
  for (;;) pause();
}
void leave() { _exit(7); }
void be_killed() { raise(SIGKILL); }
void exhaust_memory() {
  // Address space is what the limit counts; nothing is touched.
  std::vector<char*> blocks;
  for (;;) blocks.push_back(new char[size_t{1} << 30]);
}

struct Fault {
  std::string_view kind;
  FaultPoint point;
  void (*act)();
};
constexpr Fault kFaults[] = {
    {"compile-crash", FaultPoint::Compile, crash},
    {"compile-hang", FaultPoint::Compile, hang},
    {"compile-exit", FaultPoint::Compile, leave},
    {"compile-memory", FaultPoint::Compile, exhaust_memory},
    {"lost", FaultPoint::Compiled, leave},
    {"crash", FaultPoint::Run, crash},
    {"hang", FaultPoint::Run, hang},
    {"exit", FaultPoint::Run, leave},
    {"kill", FaultPoint::Run, be_killed},
    {"memory", FaultPoint::Run, exhaust_memory},
};

}  // namespace

bool has_fault(std::string_view kind, int64_t candidate) {
  const char* list = std::getenv("TILEWRIGHT_WORKER_FAULT");
  if (list == nullptr) return false;
  const std::string wanted = std::string(kind) + "@" + std::to_string(candidate);
  std::string_view rest = list;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    if (rest.substr(0, comma) == wanted) return true;
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return false;
}

void maybe_fail(FaultPoint point, int64_t candidate) {
  for (const Fault& fault : kFaults) {
    if (fault.point == point && has_fault(fault.kind, candidate)) fault.act();
  }
}

}  // namespace tw::autotune
