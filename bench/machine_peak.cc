// SPDX-License-Identifier: Apache-2.0
// What the machine gives at best: the f32 fma rate, and copies of blocks that fit
// into one cache level after the other, with plain stores and with stores that pass the caches by.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "autotune/measure/peak.h"
#include "bench/google_benchmark.h"
#include "bench/sections.h"
#include "runtime/machine.h"
#include "runtime/ndarray.h"
#include "runtime/thread_pool.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tw::bench {
namespace {

void measure_arithmetic(const Options& options, Results& results) {
  const Target target = options.target();
  const int repetitions = options.flag("quick") ? 7 : 15;
  for (const int threads : options.thread_counts()) {
    Measurement m{.name = fmt::format("fma/{}", threads),
                  .unit = "flop/s",
                  .higher_is_better = true,
                  .labels = {{"threads", threads}, {"vector_bits", target.vector_bits}}};
    for (int i = 0; i < repetitions; ++i) {
      m.samples.push_back(autotune::measure_fma_peak(target, threads, 0.03));
    }
    results.add(std::move(m));
  }
}

#if defined(__x86_64__)
// Both loops are as wide as the machine allows, so that they differ in the kind of store only.
#define TW_COPY_LOOP(NAME, FEATURES, BITS, LOAD, STORE)                                   \
  __attribute__((target(FEATURES))) void NAME(char* to, const char* from, size_t bytes) { \
    for (size_t i = 0; i < bytes; i += 4 * (BITS) / 8) {                                  \
      _Pragma("GCC unroll 4") for (size_t j = 0; j < 4 * (BITS) / 8; j += (BITS) / 8) {   \
        STORE(reinterpret_cast<__m##BITS##i*>(to + i + j),                                \
              LOAD(reinterpret_cast<const __m##BITS##i*>(from + i + j)));                 \
      }                                                                                   \
    }                                                                                     \
    _mm_sfence();                                                                         \
    __asm__ volatile("" : : "r"(to) : "memory");                                          \
  }
TW_COPY_LOOP(plain_512, "avx512f", 512, _mm512_load_si512, _mm512_store_si512)
TW_COPY_LOOP(streaming_512, "avx512f", 512, _mm512_load_si512, _mm512_stream_si512)
TW_COPY_LOOP(plain_256, "avx2", 256, _mm256_load_si256, _mm256_store_si256)
TW_COPY_LOOP(streaming_256, "avx2", 256, _mm256_load_si256, _mm256_stream_si256)
#endif

void plain_any(char* to, const char* from, size_t bytes) {
  std::memcpy(to, from, bytes);
  __asm__ volatile("" : : "r"(to) : "memory");
}

struct Copy {
  const char* name;
  void (*run)(char* to, const char* from, size_t bytes);
};
std::vector<Copy> copies() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0) {
    return {{"plain", plain_512}, {"streaming", streaming_512}};
  }
  if (__builtin_cpu_supports("avx2") != 0) {
    return {{"plain", plain_256}, {"streaming", streaming_256}};
  }
#endif
  return {{"plain", plain_any}};
}

constexpr int64_t kGrain = 256;  // bytes that every copy loop handles at once

// Source and destination of one size, dealt out to the threads of a pool in equal, fixed parts, so
// that each part stays in the caches of its core.
class CopyJob {
 public:
  CopyJob(const Copy& copy, int64_t bytes_each, std::shared_ptr<ThreadPool> pool)
      : copy_(copy),
        part_(std::max(bytes_each / kGrain, int64_t{1}) * kGrain),
        pool_(std::move(pool)),
        from_(NDArray::zeros({part_ * pool_->num_threads()}, parse_dtype("uint8"))),
        to_(NDArray::zeros({part_ * pool_->num_threads()}, parse_dtype("uint8"))) {}
  int64_t bytes() const { return from_.byte_size(); }
  void run() {
    pool_->parallel_for(
        [](int32_t task, int32_t, void* self) -> int32_t {
          const CopyJob& job = *static_cast<const CopyJob*>(self);
          // Small parts several times, or the fork would be all that is timed.
          for (int64_t done = 0; done < job.repeats() * job.part_; done += job.part_) {
            job.copy_.run(job.to_.data_as<char>() + task * job.part_,
                          job.from_.data_as<char>() + task * job.part_,
                          static_cast<size_t>(job.part_));
          }
          return 0;
        },
        this);
  }
  int64_t repeats() const { return std::max(int64_t{1}, (int64_t{4} << 20) / part_); }

 private:
  Copy copy_;
  int64_t part_;
  std::shared_ptr<ThreadPool> pool_;
  NDArray from_, to_;
};

void measure_copies(const Options& options, Results& results) {
  const Machine& machine = host();
  const auto or_else = [](int64_t bytes, int64_t otherwise) {
    return bytes > 0 ? bytes : otherwise;
  };
  const int64_t l1 = or_else(machine.l1_bytes, 32 << 10);
  const int64_t l2 = or_else(machine.l2_bytes, 512 << 10);
  const int64_t l3 = or_else(machine.l3_bytes, 8 << 20);
  std::vector<Subject> subjects;
  for (const int threads : options.thread_counts()) {
    // One pool for all jobs; its workers sleep between regions of other subjects.
    const auto pool = std::make_shared<ThreadPool>(ThreadPoolOptions{.num_threads = threads});
    struct Level {
      const char* name;
      int64_t bytes;  // of one array, for each thread: both arrays fill half of the level
    };
    // Memory: beyond any cache, unless that would ask for more than a virtual machine has.
    const int64_t memory = std::clamp(l3 * 4, int64_t{64} << 20, int64_t{256} << 20) / threads;
    std::vector<Level> levels = {{"L1", l1 / 4}, {"L2", l2 / 4}};
    // A quarter of the shared cache, for all threads: it may have other users.
    if (l3 / 8 / threads >= 2 * l2) levels.push_back({"L3", l3 / 8 / threads});
    levels.push_back({"memory", memory});
    for (const Level& level : levels) {
      for (const Copy& copy : copies()) {
        const auto job = std::make_shared<CopyJob>(copy, level.bytes, pool);
        subjects.push_back(
            {.name = fmt::format("copy/{}/{}/{}", copy.name, level.name, threads),
             .run = [job] { job->run(); },
             .labels = {{"stores", copy.name},
                        {"level", level.name},
                        {"threads", threads},
                        {"bytes", level.bytes * threads},
                        // Read and written; what a store reads to own its line is not counted.
                        {"traffic", 2 * job->bytes() * job->repeats()}}});
      }
    }
  }
  const bool quick = options.flag("quick");
  time_interleaved(subjects, {.count = quick ? 7 : 15, .seconds = quick ? 0.02 : 0.1}, results);
}

}  // namespace

void measure_peak(const Options& options, Results& results) {
  results.fact("l1", host().l1_bytes);
  results.fact("l2", host().l2_bytes);
  results.fact("l3", host().l3_bytes);
  measure_arithmetic(options, results);
  measure_copies(options, results);
}

}  // namespace tw::bench
