/* SPDX-License-Identifier: Apache-2.0
 * Kernels of a small network, by hand, as the compiler writes them: with and without checks, with
 * scratch memory, several outputs, symbolic extents. They count how they are called. Compiled by
 * the tests of graphs. */
#define _POSIX_C_SOURCE 199309L
#include <time.h>

#include "runtime/c_api.h"

#define EXPORT __attribute__((visibility("default")))
#define F4 "\"kind\": \"tensor\", \"dtype\": \"float32\", \"shape\": [4]"
#define FN "\"kind\": \"tensor\", \"dtype\": \"float32\", \"shape\": [\"n\"]"
#define NO_WORKSPACE "\"workspace\": {\"call\": 0, \"thread\": 0}, "

EXPORT const char tw_module_metadata[] =
    "{\"tilewright\": \"0\", \"version\": 2, \"target\": \"llvm\", \"functions\": ["
    "{\"name\": \"add\", \"unchecked\": \"add_unchecked\", " NO_WORKSPACE "\"arguments\": ["
    "{\"name\": \"A\", " F4 "}, {\"name\": \"B\", " F4 "}, "
    "{\"name\": \"C\", " F4 ", \"output\": true, \"may_share\": [0, 1]}]},"
    "{\"name\": \"halves\", " NO_WORKSPACE "\"arguments\": ["
    "{\"name\": \"A\", \"kind\": \"tensor\", \"dtype\": \"float32\", \"shape\": [2, 4]},"
    "{\"name\": \"L\", " F4 ", \"output\": true}, {\"name\": \"H\", " F4 ", \"output\": true}]},"
    "{\"name\": \"next\", " NO_WORKSPACE "\"arguments\": ["
    "{\"name\": \"A\", " FN "}, {\"name\": \"C\", " FN ", \"output\": true}]},"
    "{\"name\": \"scratch\", \"workspace\": {\"call\": 4096, \"thread\": 4096}, \"arguments\": ["
    "{\"name\": \"A\", " F4 "}, {\"name\": \"C\", " F4 ", \"output\": true}]},"
    "{\"name\": \"refuse\", " NO_WORKSPACE "\"arguments\": ["
    "{\"name\": \"A\", " F4 "}, {\"name\": \"C\", " F4 ", \"output\": true}]},"
    "{\"name\": \"number\", " NO_WORKSPACE "\"arguments\": ["
    "{\"name\": \"A\", " F4 "}, {\"name\": \"n\", \"kind\": \"int\", \"dtype\": \"int32\"}]}]}";

/* How often add was called, with checks and without. */
EXPORT int graph_checked = 0, graph_unchecked = 0;
/* Nanoseconds that next takes at least. */
EXPORT int graph_pause = 0;

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static float* data_of(void* const* args, int i) { return ((const DLTensor*)args[i])->data; }

EXPORT int32_t add_unchecked(void* const* args, const int32_t* codes, int32_t n) {
  const float *a = data_of(args, 0), *b = data_of(args, 1);
  float* c = data_of(args, 2);
  int i;
  (void)codes, (void)n;
  ++graph_unchecked;
  for (i = 0; i < 4; ++i) c[i] = a[i] + b[i];
  return 0;
}

EXPORT int32_t add(void* const* args, const int32_t* codes, int32_t n) {
  ++graph_checked;
  --graph_unchecked;
  if (n != 3) return tw_raise_argument_error(TW_CHECK_Count, "add", NULL, 0, 3, n);
  return add_unchecked(args, codes, n);
}

EXPORT int32_t halves(void* const* args, const int32_t* codes, int32_t n) {
  const float* a = data_of(args, 0);
  int i;
  (void)codes, (void)n;
  for (i = 0; i < 4; ++i) data_of(args, 1)[i] = a[i], data_of(args, 2)[i] = a[4 + i];
  return 0;
}

EXPORT int32_t next(void* const* args, const int32_t* codes, int32_t n) {
  const DLTensor* t = args[0];
  const int64_t begin = now();
  int64_t i;
  (void)codes, (void)n;
  if (t->ndim != 1) return tw_raise_argument_error(TW_CHECK_Rank, "next", "A", 0, 1, t->ndim);
  if (((const DLTensor*)args[1])->shape[0] != t->shape[0])
    return tw_raise_argument_error(TW_CHECK_Shape, "next", "C", 0, t->shape[0],
                                   ((const DLTensor*)args[1])->shape[0]);
  for (i = 0; i < t->shape[0]; ++i) data_of(args, 1)[i] = data_of(args, 0)[i] + 1;
  while (now() - begin < graph_pause) continue;
  return 0;
}

static int32_t scratch_body(int32_t task_id, int32_t num_tasks, void* closure) {
  float* memory = tw_workspace_alloc(4096, 64);
  float* const* pair = closure;
  (void)num_tasks;
  if (memory == NULL) return -1;
  memory[0] = pair[0][task_id];
  pair[1][task_id] = 2 * memory[0];
  tw_workspace_free(memory);
  return 0;
}

EXPORT int32_t scratch(void* const* args, const int32_t* codes, int32_t n) {
  float* pair[2];
  void* memory = tw_workspace_alloc(4096, 64);
  int32_t status;
  (void)codes, (void)n;
  if (memory == NULL) return -1;
  pair[0] = data_of(args, 0);
  pair[1] = data_of(args, 1);
  status = tw_parallel_for(scratch_body, pair, 4);
  tw_workspace_free(memory);
  return status;
}

EXPORT int32_t refuse(void* const* args, const int32_t* codes, int32_t n) {
  (void)args, (void)codes, (void)n;
  tw_set_error(TW_ERROR_AssertionFailed, "it does not like these numbers");
  return -1;
}

EXPORT int32_t number(void* const* args, const int32_t* codes, int32_t n) {
  (void)args, (void)codes, (void)n;
  return 0;
}
