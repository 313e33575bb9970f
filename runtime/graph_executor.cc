// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph_executor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "runtime/c_api.h"
#include "runtime/error.h"
#include "runtime/last_error.h"
#include "runtime/nearest_word.h"
#include "runtime/thread_pool.h"

namespace tw {
namespace {

using Clock = std::chrono::steady_clock;

size_t bytes_of(const DLTensor& tensor) {
  int64_t bytes = (tensor.dtype.bits + 7) / 8 * tensor.dtype.lanes;
  for (int32_t d = 0; d < tensor.ndim; ++d) bytes *= tensor.shape[d];
  return static_cast<size_t>(bytes);
}

// f(from, to, bytes) for each stretch of a view: its inputs one after the other are its outputs one
// after the other. Arguments are DLTensors, inputs first.
template <class F>
void for_each_stretch(std::span<void* const> arguments, size_t num_inputs, F f) {
  const auto tensor = [&](size_t k) { return *static_cast<const DLTensor*>(arguments[k]); };
  size_t input = 0, output = num_inputs, read = 0, written = 0;
  while (input < num_inputs && output < arguments.size()) {
    const DLTensor from = tensor(input), to = tensor(output);
    const size_t left = bytes_of(from) - read, room = bytes_of(to) - written;
    const size_t bytes = std::min(left, room);
    if (bytes > 0)
      f(static_cast<const char*>(from.data) + read, static_cast<char*>(to.data) + written, bytes);
    read = bytes == left ? 0 : read + bytes;
    written = bytes == room ? 0 : written + bytes;
    input += bytes == left ? 1 : 0;
    output += bytes == room ? 1 : 0;
  }
}

// What a view is where some of it does not lie there already: a kernel like the others. There are
// as many bytes of inputs as of outputs, so half of all.
int32_t copy_elements(void* const* arguments, const int32_t*, int32_t count) {
  const std::span all(arguments, static_cast<size_t>(count));
  size_t total = 0, read = 0, num_inputs = 0;
  for (void* a : all) total += bytes_of(*static_cast<const DLTensor*>(a));
  while (num_inputs < all.size() && (num_inputs == 0 || 2 * read < total))
    read += bytes_of(*static_cast<const DLTensor*>(all[num_inputs++]));
  for_each_stretch(all, num_inputs, [](const char* from, char* to, size_t bytes) {
    if (from != to) std::memmove(to, from, bytes);
  });
  return 0;
}

// Memory that is laid out before there is any.
class Layout {
 public:
  // The offset of `bytes` more, on a cache line.
  int64_t take(int64_t bytes) {
    constexpr auto kLine = static_cast<int64_t>(NDArray::kAlignment);
    int64_t next = 0;
    if (__builtin_add_overflow(end_, bytes, &next) ||
        __builtin_add_overflow(next, kLine - 1, &next)) {
      raise({.code = ErrorCode::OutOfMemory, .what = "the tensors do not fit into 64 bits"});
    }
    return std::exchange(end_, next / kLine * kLine);
  }
  int64_t bytes() const { return end_; }

 private:
  int64_t end_ = 0;
};

void* byte_of(const NDArray& array, int64_t offset) { return array.data_as<char>() + offset; }

// Refuses a second thread; a run that is alone pays one exchange.
class OneAtATime {
 public:
  explicit OneAtATime(std::atomic<bool>& running) : running_(running) {
    if (running_.exchange(true, std::memory_order_acquire)) {
      raise({.code = ErrorCode::BadArgument,
             .what = "this instance runs already, on another thread",
             .legal = "an instance for each thread; they share code and parameters"});
    }
  }
  ~OneAtATime() { running_.store(false, std::memory_order_release); }
  OneAtATime(const OneAtATime&) = delete;
  OneAtATime& operator=(const OneAtATime&) = delete;

 private:
  std::atomic<bool>& running_;
};

}  // namespace

GraphExecutor::GraphExecutor(std::shared_ptr<const GraphPlan> plan,
                             std::shared_ptr<const Module> module,
                             std::span<const NamedArray> parameters)
    : plan_(std::move(plan)),
      module_(std::move(module)),
      variables_(plan_->inputs.size()),
      variable_of_(plan_->entries.size(), -1),
      functions_(planned_functions(*plan_, *module_)) {
  const std::vector<int64_t> offsets = place_entries();
  make_arguments();
  for (size_t e = 0; e < offsets.size(); ++e) {
    if (variable_of_[e] < 0) point_to(static_cast<uint32_t>(e), byte_of(arena_, offsets[e]));
  }
  make_calls(functions_);
  unset_ = num_inputs();
  for (const NamedArray& p : parameters) {
    const int index = input_index(p.name);
    if (variables_[static_cast<size_t>(index)].written) {
      set_input(index, p.value);
    } else {
      set_input_zero_copy(index, p.value);
    }
  }
}

std::unique_ptr<GraphExecutor> GraphExecutor::clone() const {
  std::vector<NamedArray> shared;
  for (int i = 0; i < num_inputs(); ++i) {
    const Variable& v = variable(i);
    if (v.shared || (v.written && v.value.defined())) shared.push_back({input_name(i), v.value});
  }
  return std::make_unique<GraphExecutor>(plan_, module_, shared);
}

std::map<int64_t, int> GraphExecutor::variables_by_storage() const {
  std::map<int64_t, int> found;
  for (int i = 0; i < num_inputs(); ++i) {
    const int64_t storage = input_tensor(i).storage;
    if (storage >= 0 && !found.try_emplace(storage, i).second) {
      raise({.code = ErrorCode::BadGraph,
             .what = fmt::format("storage {} is another variable's too", storage),
             .where = fmt::format("node '{}'", input_name(i)),
             .legal = "storage of its own for each variable"});
    }
  }
  return found;
}

// What has a variable's storage, and is not the variable in another shape, is a new value of it.
void GraphExecutor::note_written(const std::map<int64_t, int>& variables) {
  for (const PlannedNode& node : plan_->nodes) {
    if (node.is_variable() || node.is_view()) continue;
    for (uint32_t e = node.first_entry; e < node.first_entry + node.num_outputs; ++e) {
      const auto assigned = variables.find(plan_->entries[e].storage);
      if (assigned != variables.end())
        variables_[static_cast<size_t>(assigned->second)].written = true;
    }
  }
}

// Says of each entry in which variable's memory it lies. Of the others the result says where in the
// arena, which it allocates.
std::vector<int64_t> GraphExecutor::place_entries() {
  const std::map<int64_t, int> variables = variables_by_storage();
  std::map<int64_t, int64_t> bytes_of, offset_of;  // by storage
  for (const PlannedTensor& t : plan_->entries) {
    int64_t& bytes = bytes_of[t.storage];
    int64_t end = 0;
    if (__builtin_add_overflow(t.offset, t.bytes, &end)) {
      raise({.code = ErrorCode::OutOfMemory, .what = "the tensors do not fit into 64 bits"});
    }
    bytes = std::max(bytes, end);
  }
  for (size_t i = 0; i < plan_->inputs.size(); ++i) {
    variable_of_[plan_->nodes[plan_->inputs[i]].first_entry] = static_cast<int>(i);
  }
  note_written(variables);
  // The variable in whose memory a reshape lies. One that is written to may have a new value when
  // the reshape is read, which is a copy.
  const auto viewed = [&](const PlannedNode& node) {
    const int variable = node.is_reshape() ? variable_of_[node.inputs[0]] : -1;
    return variable >= 0 && !variables_[static_cast<size_t>(variable)].written ? variable : -1;
  };
  Layout layout;
  std::vector<int64_t> offsets(plan_->entries.size(), 0);
  for (const PlannedNode& node : plan_->nodes) {
    for (uint32_t e = node.first_entry; e < node.first_entry + node.num_outputs; ++e) {
      const PlannedTensor& t = plan_->entries[e];
      const auto assigned = variables.find(t.storage);
      if (node.is_variable()) {
        // It is known already.
      } else if (viewed(node) >= 0) {
        variable_of_[e] = viewed(node);
      } else if (assigned != variables.end()) {
        variable_of_[e] = assigned->second;
        const bool is_copy = node.is_view() && !node.is_reshape();
        if (input_tensor(assigned->second).bytes < t.bytes || t.offset > 0 || is_copy) {
          raise({.code = ErrorCode::BadGraph,
                 .what = fmt::format(
                     "an output of {} bytes{} in the memory of '{}', which has {}", t.bytes,
                     t.offset > 0 ? fmt::format(" at byte {}", t.offset)
                     : is_copy    ? " without a kernel"
                                  : "",
                     input_name(assigned->second), input_tensor(assigned->second).bytes),
                 .where = fmt::format("node '{}'", node.name),
                 .legal = "storage that no variable has"});
        }
      } else if (t.storage < 0) {
        offsets[e] = layout.take(t.bytes);
      } else {
        const auto [at, fresh] = offset_of.try_emplace(t.storage, 0);
        if (fresh) at->second = layout.take(bytes_of[t.storage]);
        offsets[e] = at->second + t.offset;
      }
      if (variable_of_[e] >= 0)
        variables_[static_cast<size_t>(variable_of_[e])].entries.push_back(e);
    }
  }
  arena_ = NDArray::empty({layout.bytes()}, uint_type(8));
  arena_owner_ = std::make_shared<NDArray>(arena_);
  return offsets;
}

// Every entry as a tensor, and as a vector.
void GraphExecutor::make_arguments() {
  const size_t n = plan_->entries.size();
  tensors_.resize(2 * n);
  elements_.resize(n);
  for (size_t e = 0; e < n; ++e) {
    const PlannedTensor& t = plan_->entries[e];
    elements_[e] = t.bytes / (int64_t{t.dtype.element_bytes()} * t.dtype.lanes);
    tensors_[e] = {.data = nullptr,
                   .device = {kDLCPU, 0},
                   .ndim = static_cast<int32_t>(t.shape.size()),
                   .dtype = to_dlpack(t.dtype),
                   .shape = const_cast<int64_t*>(t.shape.data()),
                   .strides = nullptr,
                   .byte_offset = 0};
    tensors_[n + e] = tensors_[e];
    tensors_[n + e].ndim = 1;
    tensors_[n + e].shape = &elements_[e];
  }
}

// Whether the outputs of a view lie where its inputs do, whatever memory variables are given.
bool GraphExecutor::is_in_place(const PlannedNode& node, std::span<void* const> arguments) const {
  if (node.is_reshape() && variable_of_[node.first_entry] >= 0) return true;
  const auto is_variable = [&](uint32_t e) { return variable_of_[e] >= 0; };
  if (std::ranges::any_of(node.inputs, is_variable)) return false;
  bool same = true;
  for_each_stretch(arguments, node.inputs.size(),
                   [&](const char* from, const char* to, size_t) { same = same && from == to; });
  return same;
}

void GraphExecutor::make_calls(const std::vector<Function>& functions) {
  size_t total = 0, most = 0;
  for (const PlannedNode& node : plan_->nodes) {
    const size_t arguments = node.is_variable() ? 0 : node.inputs.size() + node.num_outputs;
    total += arguments + 1;  // and the context
    most = std::max(most, arguments);
  }
  arguments_.reserve(total);  // calls point into it
  kinds_.assign(most, TW_ARG_TENSOR);
  for (uint32_t id = 0; id < plan_->nodes.size(); ++id) {
    const PlannedNode& node = plan_->nodes[id];
    if (node.is_variable()) continue;
    const size_t first = arguments_.size(), shift = node.flatten ? plan_->entries.size() : 0;
    for (uint32_t e : node.inputs) arguments_.push_back(&tensors_[shift + e]);
    for (uint32_t o = 0; o < node.num_outputs; ++o) {
      arguments_.push_back(&tensors_[shift + node.first_entry + o]);
    }
    Call call = {.kernel = &copy_elements,
                 .unchecked = &copy_elements,
                 .arguments = arguments_.data() + first,
                 .num_arguments = static_cast<int32_t>(arguments_.size() - first),
                 .node = id};
    if (node.is_view()) {
      if (is_in_place(node, std::span(arguments_).subspan(first))) continue;
    } else {
      call.kernel = functions[id].kernel();
      call.unchecked = functions[id].unchecked().kernel();
      const WorkspaceSize& size = functions[id].info().workspace;
      workspace_.call_bytes = std::max(workspace_.call_bytes, size.call.value_or(0));
      workspace_.thread_bytes = std::max(workspace_.thread_bytes, size.thread.value_or(0));
    }
    const auto note = [&](uint32_t entry) {
      if (variable_of_[entry] < 0) return;
      variables_[static_cast<size_t>(variable_of_[entry])].calls.push_back(
          static_cast<uint32_t>(calls_.size()));
    };
    std::ranges::for_each(node.inputs, note);
    for (uint32_t o = 0; o < node.num_outputs; ++o) note(node.first_entry + o);
    arguments_.push_back(functions[id].context());
    calls_.push_back(call);
  }
  if (workspace_.bytes() + workspace_.thread_bytes > 0) {
    reserve_workspace(ThreadPool::global().num_threads());
  }
}

void GraphExecutor::reserve_workspace(int num_threads) {
  Workspace next = workspace_;
  next.num_threads = std::min(num_threads, Workspace::kMaxThreads);
  workspace_memory_ = NDArray::empty({next.bytes()}, uint_type(8));
  next.memory = workspace_memory_.data();
  workspace_ = next;
}

// ---------------------------------------------------------------------------------------------
// Inputs and outputs

const GraphExecutor::Variable& GraphExecutor::variable(int index) const {
  if (index < 0 || index >= num_inputs()) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("there is no input {}", index),
           .legal = fmt::format("0 to {}", num_inputs() - 1)});
  }
  return variables_[static_cast<size_t>(index)];
}
GraphExecutor::Variable& GraphExecutor::variable(int index) {
  return const_cast<Variable&>(std::as_const(*this).variable(index));
}

const std::string& GraphExecutor::input_name(int index) const {
  (void)variable(index);
  return plan_->nodes[plan_->inputs[static_cast<size_t>(index)]].name;
}

const PlannedTensor& GraphExecutor::input_tensor(int index) const {
  (void)variable(index);
  return plan_->entries[plan_->nodes[plan_->inputs[static_cast<size_t>(index)]].first_entry];
}

const PlannedTensor& GraphExecutor::output_tensor(int index) const {
  if (index < 0 || index >= num_outputs()) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("there is no output {}", index),
           .legal = fmt::format("0 to {}", num_outputs() - 1)});
  }
  return plan_->entries[plan_->outputs[static_cast<size_t>(index)]];
}

const std::string& GraphExecutor::output_name(int index) const {
  (void)output_tensor(index);
  const uint32_t entry = plan_->outputs[static_cast<size_t>(index)];
  const auto behind = std::ranges::upper_bound(plan_->nodes, entry, {}, &PlannedNode::first_entry);
  return std::prev(behind)->name;
}

int GraphExecutor::input_index(std::string_view name) const {
  std::vector<std::string_view> names;
  for (int i = 0; i < num_inputs(); ++i) {
    if (input_name(i) == name) return i;
    names.push_back(input_name(i));
  }
  raise({.code = ErrorCode::BadArgument,
         .what = fmt::format("the network has no input '{}'{}", name,
                             suggestion(nearest_word(name, names))),
         .legal = "a name of its inputs"});
}

bool GraphExecutor::is_set(int index) const { return variable(index).value.defined(); }

void GraphExecutor::check_input(int index, const NDArray& value) const {
  const PlannedTensor& t = input_tensor(index);
  if (!value.defined()) {
    raise({.code = ErrorCode::ArgumentNull,
           .what = fmt::format("input '{}' is given no array", input_name(index))});
  }
  if (value.dtype() != t.dtype) {
    raise(
        {.code = ErrorCode::ArgumentDType,
         .what = fmt::format("input '{}' is given {}", input_name(index), to_string(value.dtype())),
         .legal = to_string(t.dtype)});
  }
  if (!std::ranges::equal(value.shape(), t.shape)) {
    raise({.code = ErrorCode::ArgumentShape,
           .what = fmt::format("input '{}' is given shape [{}]", input_name(index),
                               fmt::join(value.shape(), ", ")),
           .legal = fmt::format("[{}]", fmt::join(t.shape, ", "))});
  }
}

void GraphExecutor::point_to(uint32_t entry, void* data) {
  tensors_[entry].data = data;
  tensors_[plan_->entries.size() + entry].data = data;
}

// Kernels check the new addresses once more.
void GraphExecutor::use(Variable& v, const NDArray& value) {
  unset_ -= v.value.defined() ? 0 : 1;
  v.value = value;
  for (uint32_t entry : v.entries) point_to(entry, value.data());
  for (uint32_t c : v.calls) {
    const PlannedNode& node = plan_->nodes[calls_[c].node];
    if (!node.is_view()) calls_[c].kernel = functions_[calls_[c].node].kernel();
  }
}

NDArray& GraphExecutor::own_memory(int index) {
  NDArray& own = variable(index).own;
  if (!own.defined()) own = NDArray::zeros(input_tensor(index).shape, input_tensor(index).dtype);
  return own;
}

void GraphExecutor::set_input(int index, const NDArray& value) {
  check_input(index, value);
  Variable& v = variable(index);
  const NDArray& own = own_memory(index);
  own.copy_from(value);
  v.shared = false;
  if (!v.value.defined() || v.value.data() != own.data()) use(v, own);
}

void GraphExecutor::set_input_zero_copy(int index, const NDArray& value) {
  check_input(index, value);
  Variable& v = variable(index);
  const auto refuse = [&](ErrorCode code, const char* what, const char* legal) {
    raise({.code = code,
           .what = fmt::format("input '{}' is given an array that {}", input_name(index), what),
           .legal = std::string(legal)});
  };
  if (!value.is_contiguous()) {
    refuse(ErrorCode::ArgumentStrides, "is not compact and row-major", "a copy, with set_input");
  }
  const auto begin = reinterpret_cast<uintptr_t>(value.data());
  const auto bytes = static_cast<uintptr_t>(value.byte_size());
  if (bytes > 0 && begin % static_cast<uintptr_t>(value.dtype().element_bytes()) != 0) {
    refuse(ErrorCode::ArgumentAlignment, "is not aligned to its elements",
           "a copy, with set_input");
  }
  const auto arena = reinterpret_cast<uintptr_t>(arena_.data());
  if (bytes > 0 && begin < arena + static_cast<uintptr_t>(arena_bytes()) && arena < begin + bytes) {
    refuse(ErrorCode::ArgumentOverlap, "lies in memory which this instance itself writes",
           "a copy, with set_input");
  }
  if (v.written && value.read_only()) {
    refuse(ErrorCode::BadArgument, "is read-only, and the network writes it",
           "a copy, with set_input");
  }
  v.shared = !v.own.defined() || value.data() != v.own.data();
  use(v, value);
}

NDArray GraphExecutor::input(int index) {
  Variable& v = variable(index);
  if (!v.value.defined()) use(v, own_memory(index));
  return v.shared ? v.value.as_read_only() : v.value;
}

NDArray GraphExecutor::output(int index) const {
  const PlannedTensor& t = output_tensor(index);
  const uint32_t entry = plan_->outputs[static_cast<size_t>(index)];
  if (variable_of_[entry] < 0) {
    return NDArray::over(tensors_[entry].data, arena_owner_, t.shape, t.dtype);
  }
  const Variable& v = variables_[static_cast<size_t>(variable_of_[entry])];
  if (!v.value.defined()) {
    raise({.code = ErrorCode::ArgumentNull,
           .what = fmt::format("output {} is input '{}', which has no value", index,
                               input_name(variable_of_[entry]))});
  }
  return NDArray::over(tensors_[entry].data, std::make_shared<NDArray>(v.value), t.shape, t.dtype,
                       v.shared || v.value.read_only());
}

// ---------------------------------------------------------------------------------------------
// Runs

void GraphExecutor::fail(const Call& call) const {
  const LastError error = last_error();
  last_error().present = false;
  const PlannedNode& node = plan_->nodes[call.node];
  try {
    raise_last_error(error, node.function);
  } catch (const Error& e) {
    ErrorInfo placed = e.info();
    placed.where = fmt::format("node '{}'", node.name);
    raise(std::move(placed));
  }
}

// step(i, call) calls the kernel of calls_[i] through `call`, and does what it likes around it.
template <class Step>
void GraphExecutor::run_calls(Step step) {
  const OneAtATime alone(running_);
  if (unset_ > 0) {
    const auto missing =
        std::ranges::find_if(variables_, [](const Variable& v) { return !v.value.defined(); });
    raise({.code = ErrorCode::ArgumentNull,
           .what = fmt::format("input '{}' has no value",
                               input_name(static_cast<int>(missing - variables_.begin()))),
           .legal = "set_input before the run"});
  }
  std::optional<WorkspaceLoan> loan;
  if (workspace_.memory != nullptr) {
    const int threads = ThreadPool::global().num_threads();
    if (threads > workspace_.num_threads && workspace_.num_threads < Workspace::kMaxThreads) {
      reserve_workspace(threads);  // there are more than when it was made
    }
    loan.emplace(workspace_);
  }
  last_error().present = false;
  for (size_t i = 0; i < calls_.size(); ++i) {
    Call& c = calls_[i];
    step(i, [&] {
      if (c.kernel(c.arguments, kinds_.data(), c.num_arguments) != 0) [[unlikely]]
        fail(c);
    });
    c.kernel = c.unchecked;
  }
}

void GraphExecutor::run() {
  run_calls([](size_t, auto call) { call(); });
}

GraphProfile GraphExecutor::profile(int repeat) {
  if (repeat < 1) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("repeat is {}", repeat),
           .legal = "at least 1"});
  }
  GraphProfile report;
  for (const Call& call : calls_) {
    const PlannedNode& node = plan_->nodes[call.node];
    NodeProfile& added = report.nodes.emplace_back();
    added.name = node.name;
    added.function = node.function;
    for (uint32_t e : node.inputs) added.bytes_in += plan_->entries[e].bytes;
    for (uint32_t o = 0; o < node.num_outputs; ++o) {
      added.bytes_out += plan_->entries[node.first_entry + o].bytes;
    }
  }
  run();
  // Readings of the clock: of a run its begin, those around each call, its end. Between calls they
  // are noted one behind the other and sorted out later: after a kernel nothing of the report is in
  // the caches, and a run would wait for it.
  const auto runs = static_cast<size_t>(repeat);
  std::vector<Clock::time_point> readings(runs * (2 * calls_.size() + 2));
  Clock::time_point* next = readings.data();
  for (size_t r = 0; r < runs; ++r) {
    *next++ = Clock::now();
    run_calls([&](size_t, auto call) {
      *next++ = Clock::now();
      call();
      *next++ = Clock::now();
    });
    *next++ = Clock::now();
  }
  const auto seconds_between = [&](size_t from, size_t to) {
    return std::chrono::duration<double>(readings[to] - readings[from]).count();
  };
  for (size_t r = 0, at = 0; r < runs; ++r) {
    const size_t begin = at++;
    for (NodeProfile& node : report.nodes) {
      node.start.push_back(seconds_between(0, at));
      node.seconds.push_back(seconds_between(at, at + 1));
      at += 2;
    }
    report.start.push_back(seconds_between(0, begin));
    report.seconds.push_back(seconds_between(begin, at++));
  }
  return report;
}

}  // namespace tw
