// SPDX-License-Identifier: Apache-2.0
// Runs a planned network. All memory is laid out when an executor is made: a later run allocates
// nothing, takes no lock, and does nothing between kernels but call the next one.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/api.h"
#include "runtime/graph_plan.h"
#include "runtime/graph_profile.h"
#include "runtime/module.h"
#include "runtime/ndarray.h"
#include "runtime/parameter_file.h"
#include "runtime/workspace.h"

namespace tw {

// One instance of a network: its inputs, intermediate tensors and outputs. Instances share plan,
// code and parameters, and may run on several threads at once; one instance runs on one at a time.
class TW_API GraphExecutor {
 public:
  // Parameters are values of variables by name. They are shared and never written; a copy is made
  // of one that the network itself writes. Throws what planned_functions throws, BadGraph for
  // storage that does not hold what lies in it, what set_input_zero_copy throws, OutOfMemory.
  GraphExecutor(std::shared_ptr<const GraphPlan> plan, std::shared_ptr<const Module> module,
                std::span<const NamedArray> parameters = {});
  GraphExecutor(const GraphExecutor&) = delete;
  GraphExecutor& operator=(const GraphExecutor&) = delete;
  // Another instance: inputs that were given by set_input are not, others are shared with it.
  std::unique_ptr<GraphExecutor> clone() const;

  // Inputs are the variables, parameters included, in the plan's order.
  int num_inputs() const { return static_cast<int>(variables_.size()); }
  int num_outputs() const { return static_cast<int>(plan_->outputs.size()); }
  const std::string& input_name(int index) const;
  const std::string& output_name(int index) const;  // of the node whose output it is
  const PlannedTensor& input_tensor(int index) const;
  const PlannedTensor& output_tensor(int index) const;
  // Throws BadArgument, naming the nearest.
  int input_index(std::string_view name) const;
  bool is_set(int index) const;

  // Copies the elements of an array of any strides into memory of this instance. Throws
  // ArgumentShape, ArgumentDType; BadArgument for an index that there is not.
  void set_input(int index, const NDArray& value);
  // Uses the array itself from now on, and keeps it. It must be compact (ArgumentStrides), aligned
  // to an element (ArgumentAlignment), in no memory of this instance's intermediate tensors
  // (ArgumentOverlap), and not read-only where the network writes it (BadArgument).
  void set_input_zero_copy(int index, const NDArray& value);
  // The array that is in use; read-only where it is a parameter. For an input that was never set,
  // zeros, which may then be written in place.
  NDArray input(int index);
  // The memory where each run leaves the output.
  NDArray output(int index) const;

  // Throws ArgumentNull for an input without a value, BadArgument while another thread runs this
  // instance, and what a kernel refuses, with its node.
  void run();
  // The time of each node in `repeat` runs, after one that is not timed.
  GraphProfile profile(int repeat = 10);

  // Bytes of intermediate tensors and outputs, and of scratch memory that kernels are lent.
  int64_t arena_bytes() const { return arena_.byte_size(); }
  int64_t workspace_bytes() const { return workspace_.bytes(); }

 private:
  struct Call {
    KernelPointer kernel;  // with checks, until it has passed them
    KernelPointer unchecked;
    void* const* arguments;
    int32_t num_arguments;
    uint32_t node;
  };
  struct Variable {
    NDArray value;                  // in use; undefined: not set
    NDArray own;                    // memory of this instance, once there is any
    std::vector<uint32_t> entries;  // that lie in its memory: itself, and what a node makes of it
    std::vector<uint32_t> calls;    // that are given one of these
    bool shared = false;            // somebody else's memory
    bool written = false;           // by the network
  };

  std::map<int64_t, int> variables_by_storage() const;
  void note_written(const std::map<int64_t, int>& variables);
  std::vector<int64_t> place_entries();
  void make_arguments();
  bool is_in_place(const PlannedNode& node, std::span<void* const> arguments) const;
  void make_calls(const std::vector<Function>& functions);
  void reserve_workspace(int num_threads);
  Variable& variable(int index);
  const Variable& variable(int index) const;
  void check_input(int index, const NDArray& value) const;
  void use(Variable& variable, const NDArray& value);
  NDArray& own_memory(int index);
  void point_to(uint32_t entry, void* data);
  [[noreturn]] void fail(const Call& call) const;
  template <class Step>
  void run_calls(Step step);

  std::shared_ptr<const GraphPlan> plan_;
  std::shared_ptr<const Module> module_;
  NDArray arena_;
  std::shared_ptr<const void> arena_owner_;
  std::vector<Variable> variables_;
  std::vector<int> variable_of_;  // of each entry the variable in whose memory it lies, or -1
  // Of each entry its tensor, and after all of them each as a vector.
  std::vector<DLTensor> tensors_;
  std::vector<int64_t> elements_;
  std::vector<void*> arguments_;
  std::vector<int32_t> kinds_;
  std::vector<Call> calls_;
  std::vector<Function> functions_;  // keep the code
  Workspace workspace_;              // most that a kernel takes
  NDArray workspace_memory_;
  int unset_ = 0;
  std::atomic<bool> running_ = false;
};

}  // namespace tw
