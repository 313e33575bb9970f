/* SPDX-License-Identifier: Apache-2.0
 * A plain C program that loads a network and runs it. graph_directory_test.cc compiles it and calls
 * run(directory) of y = (x + w) + w, all w one; it returns 0 or the line of the first surprise. */
#include <string.h>

#include "runtime/c_api.h"

#define EXPECT(condition) \
  do {                    \
    if (!(condition)) return __LINE__; \
  } while (0)

__attribute__((visibility("default"))) int run(const char* directory) {
  float x[4] = {1, 2, 3, 4}, y[4] = {0}, other[4] = {5, 6, 7, 8};
  int64_t shape[1] = {4}, short_shape[1] = {3};
  DLDataType float32;
  DLTensor tx, ty, view;
  tw_graph *graph, *second;

  EXPECT(tw_graph_load("no/such/network") == NULL);
  EXPECT(tw_last_error_code() == TW_ERROR_BadGraph);

  graph = tw_graph_load(directory);
  EXPECT(graph != NULL);
  EXPECT(tw_graph_num_inputs(graph) == 2 && tw_graph_num_outputs(graph) == 1);
  EXPECT(strcmp(tw_graph_input_name(graph, 0), "x") == 0);
  EXPECT(strcmp(tw_graph_output_name(graph, 0), "y") == 0);
  EXPECT(tw_graph_input_name(graph, 2) == NULL);
  EXPECT(tw_graph_input_index(graph, "w") == 1);
  EXPECT(tw_graph_input_is_set(graph, 0) == 0 && tw_graph_input_is_set(graph, 1) == 1);
  EXPECT(tw_graph_input_tensor(graph, 0, &view) == 0);
  EXPECT(view.ndim == 1 && view.shape[0] == 4 && view.dtype.bits == 32);

  EXPECT(tw_graph_run(graph) != 0);
  EXPECT(tw_last_error_code() == TW_ERROR_ArgumentNull);
  EXPECT(strstr(tw_last_error(), "'x'") != NULL);

  EXPECT(tw_parse_dtype("float32", &float32) == 0);
  tx = tw_tensor(x, float32, 1, shape);
  ty = tw_tensor(y, float32, 1, shape);
  EXPECT(tw_graph_set_input(graph, "x", &tx) == 0);
  EXPECT(tw_graph_run(graph) == 0);
  EXPECT(tw_graph_get_output(graph, 0, &ty) == 0);
  EXPECT(y[0] == 3 && y[3] == 6);

  x[0] = 100; /* it was copied */
  EXPECT(tw_graph_run(graph) == 0);
  EXPECT(tw_graph_output(graph, 0, &view) == 0);
  EXPECT(((float*)view.data)[0] == 3);
  EXPECT(tw_graph_set_input_zero_copy(graph, "x", &tx) == 0);
  x[0] = 200;
  EXPECT(tw_graph_run(graph) == 0);
  EXPECT(((float*)view.data)[0] == 202);

  second = tw_graph_clone(graph);
  EXPECT(second != NULL);
  tw_graph_free(graph);
  tx.data = other;
  EXPECT(tw_graph_set_input_zero_copy(second, "x", &tx) == 0);
  EXPECT(tw_graph_run(second) == 0);
  EXPECT(tw_graph_get_output(second, 0, &ty) == 0);
  EXPECT(y[0] == 7 && y[3] == 10);

  tx.shape = short_shape;
  EXPECT(tw_graph_set_input(second, "x", &tx) != 0);
  EXPECT(tw_last_error_code() == TW_ERROR_ArgumentShape);
  EXPECT(tw_graph_set_input(second, "v", &tx) != 0);
  EXPECT(tw_graph_set_input(second, "x", NULL) != 0);
  EXPECT(tw_graph_get_output(second, 1, &ty) != 0);
  EXPECT(tw_graph_run(NULL) != 0);
  EXPECT(tw_last_error_code() == TW_ERROR_ArgumentNull);
  tw_graph_free(second);
  tw_graph_free(NULL);
  tw_clear_error();
  return 0;
}
