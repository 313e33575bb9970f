// SPDX-License-Identifier: Apache-2.0
#include "runtime/tile_data.h"

#include "runtime/error.h"

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tw {
namespace {

bool ask() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace

bool tile_data_granted() {
  static const bool granted = ask();
  return granted;
}

void request_tile_data() {
  if (tile_data_granted()) return;
  raise({.code = ErrorCode::TargetFeature,
         .what = "the system does not let this process use tile registers (AMX)",
         .legal = "Linux 5.16 or later on a processor with AMX, or a target without amx-tile"});
}

}  // namespace tw
