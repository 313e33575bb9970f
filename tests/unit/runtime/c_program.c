/* SPDX-License-Identifier: Apache-2.0
 * A plain C program that loads a library of kernels and calls one. c_api_test.cc compiles it and
 * calls run(path of the library); it returns 0 or the line of the first surprise. */
#include <string.h>

#include "runtime/c_api.h"

#define EXPECT(condition) \
  do {                    \
    if (!(condition)) return __LINE__; \
  } while (0)

__attribute__((visibility("default"))) int run(const char* library) {
  float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {10, 20, 30, 40, 50, 60}, c[6] = {0};
  int64_t shape[1] = {6}, short_shape[1] = {5};
  DLDataType float32, other;
  DLTensor ta, tb, tc;
  DLTensor* tensors[3];
  tw_module* module;
  tw_kernel add;
  int i;

  EXPECT(strlen(tw_version()) > 0);
  EXPECT(tw_parse_dtype("float32", &float32) == 0);
  EXPECT(float32.code == kDLFloat && float32.bits == 32 && float32.lanes == 1);
  EXPECT(tw_parse_dtype("float31", &other) != 0);
  EXPECT(tw_last_error_code() == TW_ERROR_UnknownDType);

  EXPECT(tw_module_load("no/such/library.so") == NULL);
  EXPECT(tw_last_error_code() == TW_ERROR_ModuleLoad);
  EXPECT(strcmp(tw_error_name(tw_last_error_code()), "module-load") == 0);

  module = tw_module_load(library);
  EXPECT(module != NULL);
  EXPECT(strstr(tw_module_describe(module), "\"add\"") != NULL);
  EXPECT(tw_module_function(module, "subtract") == NULL);
  EXPECT(tw_last_error_code() == TW_ERROR_UnknownFunction);
  EXPECT(strstr(tw_last_error(), "add, fill") != NULL);
  add = tw_module_function(module, "add");
  EXPECT(add != NULL);

  ta = tw_tensor(a, float32, 1, shape);
  tb = tw_tensor(b, float32, 1, shape);
  tc = tw_tensor(c, float32, 1, shape);
  tensors[0] = &ta;
  tensors[1] = &tb;
  tensors[2] = &tc;
  EXPECT(tw_set_num_threads(3) == 0);
  EXPECT(tw_num_threads() == 3);
  for (i = 0; i < 10; ++i) {
    memset(c, 0, sizeof c);
    EXPECT(tw_call(add, tensors, 3) == 0);
    EXPECT(c[0] == 11 && c[5] == 66);
    tw_park_threads();
  }

  tb.shape = short_shape;
  EXPECT(tw_call(add, tensors, 3) != 0);
  EXPECT(tw_last_error_code() == TW_ERROR_ArgumentShape);
  EXPECT(strcmp(tw_last_error(), "argument 'B' of 'add': dimension 0 is 5, expected 6") == 0);
  EXPECT(tw_call(add, tensors, 2) != 0);
  EXPECT(strcmp(tw_last_error(), "'add' got 2 arguments, expected 3") == 0);
  tw_clear_error();
  EXPECT(tw_last_error_code() == TW_NO_ERROR && tw_last_error()[0] == '\0');
  EXPECT(tw_set_num_threads(0) != 0);
  EXPECT(tw_last_error_code() == TW_ERROR_BadArgument);

  tw_module_free(module);
  tw_module_free(NULL);
  return 0;
}
