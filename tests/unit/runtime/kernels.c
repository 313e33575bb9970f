/* SPDX-License-Identifier: Apache-2.0
 * A library of kernels as the compiler writes them, by hand: checks, a parallel region, scratch
 * memory, metadata. Compiled by c_api_test.cc and module_test.cc. */
#include "runtime/c_api.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT const char tw_module_metadata[] =
    "{\"tilewright\": \"0\", \"version\": 1, \"target\": \"llvm\", \"functions\": ["
    "{\"name\": \"add\", \"arguments\": ["
    "{\"name\": \"A\", \"kind\": \"tensor\", \"dtype\": \"float32\", \"shape\": [\"n\"]},"
    "{\"name\": \"B\", \"kind\": \"tensor\", \"dtype\": \"float32\", \"shape\": [\"n\"]},"
    "{\"name\": \"C\", \"kind\": \"tensor\", \"dtype\": \"float32\", \"shape\": [\"n\"]}]},"
    "{\"name\": \"fill\", \"arguments\": ["
    "{\"name\": \"C\", \"kind\": \"tensor\", \"dtype\": \"float32\", \"shape\": [4]},"
    "{\"name\": \"base\", \"kind\": \"int\", \"dtype\": \"int64\"},"
    "{\"name\": \"step\", \"kind\": \"float\", \"dtype\": \"float64\"}]},"
    "{\"name\": \"scratch\", \"arguments\": []}, {\"name\": \"fail\", \"arguments\": []},"
    "{\"name\": \"absent\", \"arguments\": []}]}";

static const DLDataType kFloat32 = {kDLFloat, 32, 1};

typedef struct {
  const float *a, *b;
  float* c;
  int64_t n;
} AddClosure;

static int32_t add_body(int32_t task_id, int32_t num_tasks, void* closure) {
  const AddClosure* s = closure;
  int64_t end = s->n * (task_id + 1) / num_tasks, i;
  for (i = s->n * task_id / num_tasks; i < end; ++i) s->c[i] = s->a[i] + s->b[i];
  return 0;
}

static float* data_of(const DLTensor* t) { return (float*)((char*)t->data + t->byte_offset); }

static int32_t check_vector(const char* function, const char* name, const DLTensor* t, int64_t n) {
  if (t == NULL) return tw_raise_argument_error(TW_CHECK_Null, function, name, 0, 0, 0);
  if (t->device.device_type != kDLCPU)
    return tw_raise_argument_error(TW_CHECK_Device, function, name, 0, kDLCPU,
                                   t->device.device_type);
  if (tw_dtype_word(t->dtype) != tw_dtype_word(kFloat32))
    return tw_raise_argument_error(TW_CHECK_DType, function, name, 0, tw_dtype_word(kFloat32),
                                   tw_dtype_word(t->dtype));
  if (t->ndim != 1) return tw_raise_argument_error(TW_CHECK_Rank, function, name, 0, 1, t->ndim);
  if (t->shape[0] != n)
    return tw_raise_argument_error(TW_CHECK_Shape, function, name, 0, n, t->shape[0]);
  if (t->strides != NULL && t->strides[0] != 1)
    return tw_raise_argument_error(TW_CHECK_Strides, function, name, 0, 1, t->strides[0]);
  if ((uintptr_t)data_of(t) % 4 != 0)
    return tw_raise_argument_error(TW_CHECK_Alignment, function, name, 0, 4,
                                   (int64_t)(uintptr_t)data_of(t));
  return 0;
}

EXPORT int32_t add(void* const* args, const int32_t* type_codes, int32_t num_args) {
  static const char* const kNames[] = {"A", "B", "C"};
  AddClosure closure;
  int32_t i;
  if (num_args != 3) return tw_raise_argument_error(TW_CHECK_Count, "add", NULL, 0, 3, num_args);
  for (i = 0; i < 3; ++i) {
    if (type_codes[i] != TW_ARG_TENSOR)
      return tw_raise_argument_error(TW_CHECK_Kind, "add", kNames[i], 0, TW_ARG_TENSOR,
                                     type_codes[i]);
  }
  if (args[0] == NULL) return tw_raise_argument_error(TW_CHECK_Null, "add", "A", 0, 0, 0);
  closure.n = ((const DLTensor*)args[0])->ndim == 1 ? ((const DLTensor*)args[0])->shape[0] : 0;
  for (i = 0; i < 3; ++i) {
    if (check_vector("add", kNames[i], args[i], closure.n) != 0) return -1;
  }
  closure.a = data_of(args[0]);
  closure.b = data_of(args[1]);
  closure.c = data_of(args[2]);
  return tw_parallel_for(add_body, &closure, 0);
}

EXPORT int32_t fill(void* const* args, const int32_t* type_codes, int32_t num_args) {
  int64_t i;
  if (num_args != 3) return tw_raise_argument_error(TW_CHECK_Count, "fill", NULL, 0, 3, num_args);
  if (type_codes[1] != TW_ARG_INT)
    return tw_raise_argument_error(TW_CHECK_Kind, "fill", "base", 0, TW_ARG_INT, type_codes[1]);
  if (type_codes[2] != TW_ARG_FLOAT)
    return tw_raise_argument_error(TW_CHECK_Kind, "fill", "step", 0, TW_ARG_FLOAT, type_codes[2]);
  if (check_vector("fill", "C", args[0], 4) != 0) return -1;
  for (i = 0; i < 4; ++i) {
    data_of(args[0])[i] =
        (float)((double)*(const int64_t*)args[1] + (double)i * *(const double*)args[2]);
  }
  return 0;
}

static int32_t scratch_body(int32_t task_id, int32_t num_tasks, void* closure) {
  int32_t* memory = tw_workspace_alloc(4096, 64);
  (void)num_tasks;
  (void)closure;
  if (memory == NULL) return -1;
  memory[0] = task_id;
  tw_workspace_free(memory);
  return 0;
}

EXPORT int32_t scratch(void* const* args, const int32_t* type_codes, int32_t num_args) {
  (void)args, (void)type_codes, (void)num_args;
  return tw_parallel_for(scratch_body, NULL, 16);
}

static int32_t failing_body(int32_t task_id, int32_t num_tasks, void* closure) {
  (void)num_tasks;
  (void)closure;
  if (task_id != 3) return 0;
  tw_set_error(TW_ERROR_AssertionFailed, "task three does not like it");
  return 12;
}

EXPORT int32_t fail(void* const* args, const int32_t* type_codes, int32_t num_args) {
  (void)args, (void)type_codes, (void)num_args;
  return tw_parallel_for_dynamic(failing_body, NULL, 8);
}
