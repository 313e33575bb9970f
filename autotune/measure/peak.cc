// SPDX-License-Identifier: Apache-2.0
#include "autotune/measure/peak.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <vector>

#include "runtime/thread_pool.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tw::autotune {
namespace {

// Enough independent chains for two units of four or five cycles, and few enough for sixteen
// registers with the two factors.
constexpr int kChains = 12;

// Runs `rounds` steps of every chain; returns something that depends on all of them.
using Loop = float (*)(int64_t rounds);
struct Kernel {
  Loop loop;
  int lanes;
};

#if defined(__x86_64__)
// Every chain converges to a normal number, so no step is slowed down by an extreme one.
#define TW_PEAK_LOOP(NAME, FEATURES, VECTOR, SET, STEP, FIRST)               \
  __attribute__((target(FEATURES))) float NAME(int64_t rounds) {             \
    const VECTOR factor = SET(0.5F), term = SET(1.0F);                       \
    VECTOR chain[kChains];                                                   \
    for (int i = 0; i < kChains; ++i) chain[i] = SET(static_cast<float>(i)); \
    for (int64_t r = 0; r < rounds; ++r) {                                   \
      _Pragma("GCC unroll 12") for (int i = 0; i < kChains; ++i) {           \
        chain[i] = STEP;                                                     \
        __asm__ volatile("" : "+v"(chain[i]));                               \
      }                                                                      \
    }                                                                        \
    float sum = 0;                                                           \
    for (int i = 0; i < kChains; ++i) sum += FIRST(chain[i]);                \
    return sum;                                                              \
  }

TW_PEAK_LOOP(fma_512, "avx512f", __m512, _mm512_set1_ps, _mm512_fmadd_ps(chain[i], factor, term),
             _mm512_cvtss_f32)
TW_PEAK_LOOP(fma_256, "avx2,fma", __m256, _mm256_set1_ps, _mm256_fmadd_ps(chain[i], factor, term),
             _mm256_cvtss_f32)
TW_PEAK_LOOP(multiply_add_256, "avx", __m256, _mm256_set1_ps,
             _mm256_add_ps(_mm256_mul_ps(chain[i], factor), term), _mm256_cvtss_f32)
TW_PEAK_LOOP(multiply_add_128, "sse2", __m128, _mm_set1_ps,
             _mm_add_ps(_mm_mul_ps(chain[i], factor), term), _mm_cvtss_f32)

Kernel kernel_for(const Target& target) {
  const bool fma = target.has_fma && __builtin_cpu_supports("fma") != 0;
  if (target.vector_bits >= 512 && __builtin_cpu_supports("avx512f") != 0) return {fma_512, 16};
  if (target.vector_bits >= 256 && fma && __builtin_cpu_supports("avx2") != 0) {
    return {fma_256, 8};
  }
  if (target.vector_bits >= 256 && __builtin_cpu_supports("avx") != 0) {
    return {multiply_add_256, 8};
  }
  return {multiply_add_128, 4};
}
#else
// Vectors of 128 bits, which every other machine that we build for has.
using Vector = float __attribute__((vector_size(16)));

float multiply_add_128(int64_t rounds) {
#if defined(__clang__)
#pragma clang fp contract(fast)
#endif
  Vector chain[kChains];
  for (int i = 0; i < kChains; ++i) chain[i] = Vector{} + static_cast<float>(i);
  for (int64_t r = 0; r < rounds; ++r) {
    for (int i = 0; i < kChains; ++i) {
      chain[i] = chain[i] * 0.5F + 1.0F;
      __asm__ volatile("" : "+w"(chain[i]));
    }
  }
  float sum = 0;
  for (int i = 0; i < kChains; ++i) sum += chain[i][0];
  return sum;
}

Kernel kernel_for(const Target&) { return {multiply_add_128, 4}; }
#endif

volatile float sink;

double seconds_of(const FmaLoop& loop, ThreadPool& pool, int64_t rounds) {
  const auto start = std::chrono::steady_clock::now();
  loop.run(pool, rounds);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

FmaLoop::FmaLoop(const Target& target) {
  const Kernel kernel = kernel_for(target);
  loop_ = kernel.loop;
  lanes_ = kernel.lanes;
}

double FmaLoop::operations() const { return 2.0 * lanes_ * kChains; }

void FmaLoop::run(ThreadPool& pool, int64_t rounds) const {
  struct Work {
    Loop loop;
    int64_t rounds;
  } work{loop_, rounds};
  pool.parallel_for(
      [](int32_t, int32_t, void* self) -> int32_t {
        const Work& w = *static_cast<const Work*>(self);
        sink = w.loop(w.rounds);
        return 0;
      },
      &work);
}

double measure_fma_peak(const Target& target, int threads, double seconds) {
  const FmaLoop loop(target);
  ThreadPool pool({.num_threads = std::max(threads, 1)});
  // A run is long against the fork and the join, and short against a busy machine's time slices.
  constexpr double kRunSeconds = 2e-3;
  int64_t rounds = 1 << 12;
  double spent = 0;
  for (double last = 0; (last = seconds_of(loop, pool, rounds)) < kRunSeconds; rounds *= 2) {
    spent += last;
  }
  // On a busy machine most runs wait for a processor. One that does not is known by others that
  // take as long: runs go on, for some time, until the three fastest agree.
  constexpr double kAgree = 1.03, kPatience = 20;
  std::array<double, 3> fastest;
  fastest.fill(std::numeric_limits<double>::infinity());
  const auto agree = [&] { return fastest.back() <= kAgree * fastest.front(); };
  for (int i = 0; i < 3 || spent < seconds || (!agree() && spent < kPatience * seconds); ++i) {
    const double last = seconds_of(loop, pool, rounds);
    spent += last;
    if (last < fastest.back()) fastest.back() = last;
    std::ranges::sort(fastest);
  }
  return loop.operations() * static_cast<double>(rounds) * pool.num_threads() / fastest.front();
}

}  // namespace tw::autotune
