// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace.h"

#include <algorithm>
#include <cstdlib>

namespace tw {
namespace {

// Stands in the line before the block. `start` is what std::free wants.
struct Header {
  void* start;
  size_t capacity;
  size_t alignment;
};
constexpr size_t kLine = 64;
static_assert(sizeof(Header) <= kLine);

// Beyond these a freed block goes back to the system: a thread keeps what a kernel and its
// neighbours use, not what one large call once needed.
constexpr size_t kMaxBlocks = 16;
constexpr size_t kMaxKept = size_t(256) << 20;

Header& header_of(void* block) {
  return *reinterpret_cast<Header*>(static_cast<char*>(block) - kLine);
}

// Trivial, so that a kernel called while the thread's other locals are torn down still finds it.
struct Pool {
  void* blocks[kMaxBlocks];  // oldest first
  size_t count;
  size_t kept;
  bool ended;  // the thread ends: keep nothing more
};
thread_local Pool t_pool;

void release(void* block) { std::free(header_of(block).start); }

void* take_out(Pool& pool, size_t i) {
  void* block = pool.blocks[i];
  pool.kept -= header_of(block).capacity;
  std::copy(pool.blocks + i + 1, pool.blocks + pool.count, pool.blocks + i);
  --pool.count;
  return block;
}

// Empties the pool when the thread ends.
struct AtThreadEnd {
  bool armed = false;
  ~AtThreadEnd() {
    workspace_trim();
    t_pool.ended = true;
  }
};
thread_local AtThreadEnd t_at_thread_end;

}  // namespace

void* workspace_alloc(int64_t bytes, int64_t alignment) {
  if (bytes < 0 || alignment < 0 || (alignment & (alignment - 1)) != 0) return nullptr;
  const size_t aligned = std::max(static_cast<size_t>(alignment), kLine);
  const size_t wanted = std::max<size_t>(static_cast<size_t>(bytes), 1);
  Pool& pool = t_pool;
  // The last freed that fits is the likeliest to be in cache. A block much larger than asked for
  // stays for whom it was made.
  for (size_t i = pool.count; i-- > 0;) {
    const Header& header = header_of(pool.blocks[i]);
    if (header.capacity >= wanted && header.alignment >= aligned &&
        header.capacity <= std::max<size_t>(4 * wanted, size_t(64) << 10)) {
      return take_out(pool, i);
    }
  }
  const size_t capacity = (wanted + kLine - 1) / kLine * kLine;
  if (capacity > SIZE_MAX / 2 || aligned > SIZE_MAX / 4) return nullptr;
  // The block begins `aligned` into the allocation; the line before it holds the header.
  void* start = std::aligned_alloc(aligned, (capacity + 2 * aligned - 1) / aligned * aligned);
  if (start == nullptr) return nullptr;
  void* block = static_cast<char*>(start) + aligned;
  header_of(block) = {start, capacity, aligned};
  return block;
}

void workspace_free(void* block) {
  if (block == nullptr) return;
  Pool& pool = t_pool;
  const size_t capacity = header_of(block).capacity;
  if (pool.ended || capacity > kMaxKept) return release(block);
  t_at_thread_end.armed = true;  // touching it makes its destructor run
  while (pool.count == kMaxBlocks || pool.kept + capacity > kMaxKept) release(take_out(pool, 0));
  pool.blocks[pool.count++] = block;
  pool.kept += capacity;
}

void workspace_trim() {
  Pool& pool = t_pool;
  while (pool.count > 0) release(take_out(pool, pool.count - 1));
}

size_t workspace_kept_bytes() { return t_pool.kept; }

}  // namespace tw
