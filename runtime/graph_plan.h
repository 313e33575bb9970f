// SPDX-License-Identifier: Apache-2.0
// A network as an executor runs it: calls of compiled functions, one after the other, on tensors
// whose types, shapes and places in memory are known. It is read from JSON, in the format of NNVM's
// graph runtime:
//
//   {"nodes": [{"op": "null", "name": "x", "inputs": []},
//              {"op": "tvm_op", "name": "relu0", "inputs": [[0, 0, 0]],
//               "attrs": {"func_name": "fuse_relu", "num_inputs": "1", "num_outputs": "1",
//                         "flatten_data": "0"}}],
//    "arg_nodes": [0], "node_row_ptr": [0, 1, 2], "heads": [[1, 0, 0]],
//    "attrs": {"shape": ["list_shape", [[1, 16], [1, 16]]],
//              "dltype": ["list_str", ["float32", "float32"]],
//              "storage_id": ["list_int", [0, 1]]}}
//
// "storage_offset", a list like "storage_id" that may be missing, says at which byte of its storage
// an entry begins, a multiple of 64. The function "__nop" is none: the bytes of its outputs, one
// after the other, are those of its inputs, which may lie there already.
//
// Nodes stand behind those they read. An entry is an output of a node; entries are numbered in the
// order of nodes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/api.h"
#include "runtime/dtype.h"
#include "runtime/module.h"

namespace tw {

struct PlannedTensor {
  DType dtype;
  std::vector<int64_t> shape;
  int64_t bytes = 0;
  int64_t storage = -1;  // entries of one number share memory; below 0: with none
  int64_t offset = 0;    // in the storage, in bytes
};

struct PlannedNode {
  std::string name;
  std::string function;          // empty: a variable
  bool flatten = false;          // the function takes all tensors as vectors
  std::vector<uint32_t> inputs;  // entries
  uint32_t first_entry = 0, num_outputs = 1;

  bool is_variable() const { return function.empty(); }
  // Its outputs have the elements of its inputs, in their order: there is no function to call.
  bool is_view() const { return function == "__nop"; }
  bool is_reshape() const { return is_view() && inputs.size() == 1 && num_outputs == 1; }
};

struct GraphPlan {
  std::vector<PlannedNode> nodes;
  std::vector<PlannedTensor> entries;
  std::vector<uint32_t> inputs;   // nodes that are variables, in the order of arg_nodes
  std::vector<uint32_t> outputs;  // entries
  // What the graph attributes "export_version" and "files" say (graph_directory.h); 0: none.
  int64_t export_version = 0;
  std::vector<std::string> files;
};

// Throws BadGraph for text that is not such JSON or contradicts itself, BadShape and UnknownDType
// for tensors that there cannot be; each names the node.
TW_API GraphPlan read_graph_plan(std::string_view json);

// Of each node its function; undefined for variables and views. Throws UnknownFunction where the
// module lacks it, and ArgumentCount, ShapeConflict or TypeConflict where it is for other tensors
// than the plan has; each names the node.
TW_API std::vector<Function> planned_functions(const GraphPlan& plan, const Module& module);

}  // namespace tw
