// SPDX-License-Identifier: Apache-2.0
// The part of the C interface that loads and runs networks.
#include <memory>
#include <string>
#include <utility>

#include "runtime/c_api.h"
#include "runtime/error.h"
#include "runtime/graph_directory.h"
#include "runtime/graph_executor.h"
#include "runtime/last_error.h"

using tw::guarded;

struct tw_graph {
  std::unique_ptr<tw::GraphExecutor> executor;
};

namespace {

tw::GraphExecutor& executor_of(tw_graph* graph) {
  if (graph == nullptr) tw::raise({.code = tw::ErrorCode::ArgumentNull, .what = "no graph"});
  return *graph->executor;
}

// The caller's memory, which it keeps for as long as it is used.
tw::NDArray array_of(const DLTensor* tensor) {
  if (tensor == nullptr) tw::raise({.code = tw::ErrorCode::ArgumentNull, .what = "no tensor"});
  auto managed = std::make_unique<DLManagedTensor>();
  managed->dl_tensor = *tensor;
  managed->deleter = [](DLManagedTensor* self) { delete self; };
  tw::NDArray array = tw::NDArray::from_dlpack(managed.get());
  managed.release();
  return array;
}

int32_t set_input(tw_graph* graph, const char* name, const DLTensor* value,
                  void (tw::GraphExecutor::*set)(int, const tw::NDArray&)) {
  return guarded(-1, [&] {
    tw::GraphExecutor& executor = executor_of(graph);
    (executor.*set)(executor.input_index(name != nullptr ? name : ""), array_of(value));
    return 0;
  });
}

DLTensor tensor_of(const tw::PlannedTensor& planned, void* data) {
  return tw_tensor(data, tw::to_dlpack(planned.dtype), static_cast<int32_t>(planned.shape.size()),
                   const_cast<int64_t*>(planned.shape.data()));
}

}  // namespace

extern "C" {

tw_graph* tw_graph_load(const char* directory) {
  return guarded<tw_graph*>(nullptr, [&] {
    tw::DeployedGraph loaded = tw::load_graph(directory != nullptr ? directory : "");
    return new tw_graph{std::make_unique<tw::GraphExecutor>(
        std::move(loaded.plan), std::move(loaded.module), loaded.parameters)};
  });
}

tw_graph* tw_graph_clone(tw_graph* graph) {
  return guarded<tw_graph*>(nullptr, [&] { return new tw_graph{executor_of(graph).clone()}; });
}

void tw_graph_free(tw_graph* graph) { delete graph; }

int32_t tw_graph_num_inputs(tw_graph* graph) {
  return guarded(-1, [&] { return executor_of(graph).num_inputs(); });
}

int32_t tw_graph_num_outputs(tw_graph* graph) {
  return guarded(-1, [&] { return executor_of(graph).num_outputs(); });
}

const char* tw_graph_input_name(tw_graph* graph, int32_t index) {
  return guarded<const char*>(nullptr,
                              [&] { return executor_of(graph).input_name(index).c_str(); });
}

const char* tw_graph_output_name(tw_graph* graph, int32_t index) {
  return guarded<const char*>(nullptr,
                              [&] { return executor_of(graph).output_name(index).c_str(); });
}

int32_t tw_graph_input_index(tw_graph* graph, const char* name) {
  return guarded(-1, [&] { return executor_of(graph).input_index(name != nullptr ? name : ""); });
}

int32_t tw_graph_input_is_set(tw_graph* graph, int32_t index) {
  return guarded(-1, [&] { return executor_of(graph).is_set(index) ? 1 : 0; });
}

int32_t tw_graph_input_tensor(tw_graph* graph, int32_t index, DLTensor* tensor) {
  return guarded(-1, [&] {
    *tensor = tensor_of(executor_of(graph).input_tensor(index), nullptr);
    return 0;
  });
}

int32_t tw_graph_set_input(tw_graph* graph, const char* name, const DLTensor* value) {
  return set_input(graph, name, value, &tw::GraphExecutor::set_input);
}

int32_t tw_graph_set_input_zero_copy(tw_graph* graph, const char* name, const DLTensor* value) {
  return set_input(graph, name, value, &tw::GraphExecutor::set_input_zero_copy);
}

int32_t tw_graph_run(tw_graph* graph) {
  return guarded(-1, [&] {
    executor_of(graph).run();
    return 0;
  });
}

int32_t tw_graph_output(tw_graph* graph, int32_t index, DLTensor* output) {
  return guarded(-1, [&] {
    tw::GraphExecutor& executor = executor_of(graph);
    *output = tensor_of(executor.output_tensor(index), executor.output(index).data());
    return 0;
  });
}

int32_t tw_graph_get_output(tw_graph* graph, int32_t index, const DLTensor* output) {
  return guarded(-1, [&] {
    const tw::NDArray from = executor_of(graph).output(index), to = array_of(output);
    if (from.dtype() != to.dtype()) {
      tw::raise({.code = tw::ErrorCode::ArgumentDType,
                 .what = "an output is copied into " + tw::to_string(to.dtype()),
                 .legal = tw::to_string(from.dtype())});
    }
    to.copy_from(from);
    return 0;
  });
}

}  // extern "C"
