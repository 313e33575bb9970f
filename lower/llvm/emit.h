// SPDX-License-Identifier: Apache-2.0
// Kernels to LLVM IR. The IR that leaves here needs little work from LLVM: loops are rotated and
// have 64-bit induction variables, addresses are sums whose parts stand in front of the outermost
// loop that they do not vary in, and each access carries the alias scope of its buffer.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lower/kernel.h"
#include "lower/llvm/known_memory.h"
#include "lower/llvm/target.h"

namespace tw::codegen {

// Where the module has a kernel's constants from. Each is found through a variable,
// constant_symbol.
enum class ConstantPlace {
  Memory,   // who loads the code sets the variables
  Library,  // small ones are copied into the module; for the others see Memory
  Object,   // small ones are copied; variables of the others hold the address of array_symbol
};
struct EmitOptions {
  bool contract = true;    // a * b + c may become an fma
  bool vectorize = false;  // LLVM's vectorizers may touch the loops
  ConstantPlace constants = ConstantPlace::Memory;
};
std::string constant_symbol(const Kernel& kernel, size_t constant);
// What defines it is not in the module.
std::string array_symbol(const Kernel& kernel, size_t constant);
// As text of LLVM IR larger ones would take longer to compile than the kernel.
bool is_small(const KernelConstant& constant);
// Symbols of a kernel have a dot in them, as no function of C has: whatever it is called, `tan`
// say, its calls of that function, and those of other libraries in the process, find the C
// library's.
std::string entry_symbol(const Kernel& kernel);
// The entry that leaves out all checks.
std::string unchecked_symbol(const Kernel& kernel);
// Whether it is there: make_api has put checks in front of what the kernel does.
bool has_unchecked(const Kernel& kernel);
// What later phases must know of the emitted module.
struct EmitResult {
  bool has_unroll_requests = false;  // loops marked llvm.loop.unroll.full
  bool uses_tiles = false;           // tile registers
  // Intrinsics of LLVM that a program names. Which passes they need, LLVM knows alone.
  bool names_llvm_intrinsics = false;
};

// Adds the functions of `kernels` to `module`. Throws CodeGeneration.
EmitResult emit(const std::vector<Kernel>& kernels, const Target& target,
                const EmitOptions& options, llvm::Module& module);

// What holds of a buffer in the whole kernel. Different buffers never overlap: arguments by
// contract of the call, allocations because they are ours. The exception are inputs that an output
// may share memory with (KernelArgument::may_share).
struct BufferFacts {
  llvm::MDNode* scope = nullptr;   // !alias.scope of accesses to it
  llvm::MDNode* others = nullptr;  // !noalias: the scopes of buffers that never overlap it
  bool written = false;
  bool shared = false;  // an output may be the same memory as an input: see `others`
  int64_t bytes = 0;    // 0: not known
};

// The functions of the module's device kernels by name.
using DeviceFunctions = std::unordered_map<std::string, llvm::Function*>;

// State shared by the functions that one kernel becomes.
struct KernelState {
  llvm::Module& module;
  llvm::LLVMContext& context;
  const Target& target;
  EmitOptions options;
  EmitResult& result;
  const DeviceFunctions& devices;
  std::string kernel_name;
  std::unordered_map<const Variable*, BufferFacts> buffers = {};
  std::unordered_map<std::string, llvm::Constant*> strings = {};

  llvm::FunctionCallee runtime_function(llvm::StringRef name);
};

// Whether values of the type are reckoned with as sums of 64 bits: signed, and nothing wraps.
inline bool is_index_type(DType t) { return t.is_int() && t.bits >= 32 && !t.is_vector(); }

// In 64 bits, without the undefined behaviour of the signed operators.
inline int64_t wrapping_multiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
inline int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// coefficient * atom + … + constant, in 64 bits. `level` of an atom is the number of loops that it
// may vary in: it is computed in front of the level-th loop inside it.
struct Linear {
  struct Term {
    llvm::Value* atom;
    int64_t coefficient;
    int level;
  };
  llvm::SmallVector<Term, 4> terms;
  int64_t constant = 0;

  void add(llvm::Value* atom, int64_t coefficient, int level);
};

// What values of the type are; null where there is no such type.
llvm::Type* machine_type(llvm::LLVMContext& context, DType t);

class FunctionEmitter {
 public:
  FunctionEmitter(KernelState& kernel, llvm::Function* function);

  // The function of the calling convention: unpacks nothing but what the body asks for.
  static void emit_kernel(KernelState& state, const Kernel& kernel);
  static llvm::Function* emit_entry(KernelState& state, const Kernel& kernel,
                                    const std::string& name, llvm::Function* unchecked);
  // The function of a device kernel, which takes its arguments as they are.
  static llvm::Function* emit_device(KernelState& state, const Kernel& kernel);

 private:
  using Builder = llvm::IRBuilder<llvm::ConstantFolder, llvm::IRBuilderCallbackInserter>;

  struct Binding {
    llvm::Value* value = nullptr;  // of the variable's own type
    std::optional<Linear> linear;  // of integers, in 64 bits
    int level = 0;
    llvm::BasicBlock* loop_header = nullptr;  // of loop variables
    bool nonnegative = false;
    bool positive = false;  // inside a loop of so many rounds, say
    // Of buffers:
    uint64_t alignment = 0;
    const Variable* root = nullptr;  // the variable that facts are kept under
    int tile = -1;                   // the first register of a buffer in tile registers
  };
  // pointer + stride * iv, made inside the loop whose variable iv is.
  struct Stride {
    llvm::Instruction* address;
    llvm::Value* pointer;
    int64_t bytes;
  };
  struct Loop {
    llvm::BasicBlock* preheader;
    size_t region;
    llvm::PHINode* variable = nullptr;
    bool innermost = true;
    std::vector<Stride> strides = {};
  };
  using StepKey = std::pair<std::pair<llvm::Value*, llvm::Value*>, int64_t>;
  // What stands in a part of the program, a loop's body or a branch: address computations, and
  // vectors of one value and so many lanes.
  struct Region {
    llvm::DenseMap<StepKey, llvm::Value*> steps;
    llvm::DenseMap<std::pair<llvm::Value*, int>, llvm::Value*> splats;
  };

  // emit_arguments.cc
  void bind_arguments(const Kernel& kernel);
  llvm::Value* argument(const Expr& k);
  llvm::Value* argument_intrinsic(const Call& op);
  llvm::Value* stride_or(const Call& stride, const Expr& otherwise);
  llvm::Value* tensor_field(const Expr& k, int offset, llvm::Type* type);

  // emit_function.cc
  void bind_constants(const Kernel& kernel);
  std::vector<const Variable*> captured(const Stmt& body) const;
  void emit_compute_scope(const AttrStmt& op);
  void emit_parallel_launch(const AttrStmt& op);
  llvm::Value* emit_launch(const Call& op);
  llvm::Value* captured_value(const Variable* var);
  void bind_captured(const Variable* var, const Binding& outer, llvm::Value* value);
  void return_on_failure(llvm::Value* status);
  void return_error(llvm::Value* status);
  void finish();
  void fence_stores();

  // emit_stmt.cc
  void emit(const Stmt& s);
  void emit_let(const LetStmt& op);
  void bind_let(const LetStmt& op);
  void emit_attr(const AttrStmt& op);
  void emit_for(const For& op);
  void emit_loop(const For& op, bool full_unroll);
  void emit_while(const While& op);
  // An offset of a loop's own: what it is after a round, and by how much it grew.
  struct Offset {
    int64_t stride;
    llvm::PHINode* value;
    llvm::Value* next;
  };
  llvm::SmallVector<Offset, 2> share_strides(const Loop& loop, llvm::Value* begin);
  void emit_allocate(const Allocate& op);
  void emit_store(const Store& op);
  void emit_if(const IfThenElse& op);
  llvm::MDNode* loop_metadata(bool full_unroll);
  // Variables that are positive where a loop of this extent runs, and were not known to be before.
  std::vector<const Variable*> learn_positive(const Expr& extent);

  // emit_dot.cc: true when the loop was such a dot product and is emitted.
  bool emit_dot_product(const For& op);
  struct Address;
  llvm::Value* load_bytes(const Address& at, llvm::Type* type, int terms, const Variable* buffer);

  // emit_intrinsic.cc
  void emit_intrinsic(const Call& condition, const Stmt& statements);
  llvm::Value* emit_llvm_intrinsic(const Call& op, llvm::ArrayRef<llvm::Value*> args);
  llvm::Value* address_of(const Load& load);

  // emit_tile.cc
  void configure_tiles();
  void release_tiles();
  void emit_tiles(const Allocate& op);
  llvm::Value* tile_register(const Expr& address, const Expr& pitch);
  llvm::Value* emit_tile_operation(const Call& op);

  // emit_checks.cc
  void emit_assert(const AssertStmt& op);
  bool collect_check(const Expr& condition, const Call& message);
  void make_checks();
  void finish_checks();

  // emit_expr.cc
  llvm::Value* emit(const Expr& e);
  llvm::Value* emit_variable(const Variable& op);
  template <class T>
  llvm::Value* emit_arithmetic(const T& op);
  llvm::Value* arithmetic(NodeKind kind, DType type, llvm::Value* a, llvm::Value* b);
  llvm::Value* float_arithmetic(NodeKind kind, llvm::Value* a, llvm::Value* b);
  llvm::Value* fuse(llvm::Value* product, llvm::Value* sum);
  // Of integers: x/0 and x%0 are 0, and the least number by -1 wraps. What holds of the operands
  // saves the tests for that.
  struct Operands {
    bool nonnegative = false;  // both
    bool positive_divisor = false;
  };
  llvm::Value* division(NodeKind kind, DType type, llvm::Value* a, llvm::Value* b, Operands known);
  // The same where the result is defined anyway.
  llvm::Value* plain_division(NodeKind kind, DType type, llvm::Value* a, llvm::Value* b,
                              bool nonnegative);
  template <class T>
  llvm::Value* emit_comparison(const T& op);
  llvm::Value* emit_cast(const Cast& op);
  llvm::Value* emit_ramp(const Ramp& op);
  llvm::Value* emit_shuffle(const Shuffle& op);
  llvm::Value* emit_let(const Let& op);
  // Evaluates one side or the other. The sides may be undefined blocks of code for statements.
  llvm::Value* emit_if_then_else(const Call& op);
  template <class Then, class Else>
  llvm::Value* branch(llvm::Value* condition, bool likely, Then then_side, Else else_side);

  // emit_math.cc
  llvm::Value* emit_call(const Call& op);
  llvm::Value* emit_math(const Call& op);
  llvm::Value* emit_extern(const Call& op);
  llvm::Value* emit_prefetch(const Call& op);
  llvm::Value* convert(llvm::Value* v, DType from, DType to);
  llvm::Value* saturate(llvm::Value* v, DType from, DType to);  // ends of `to` beyond them
  llvm::Value* widen(llvm::Value* v, DType from);               // 16-bit floats to float32
  llvm::Value* narrow(llvm::Value* v, DType to);        // float32 or float64 to 16-bit floats
  llvm::Value* widen_half(llvm::Value* v, int lanes);   // float16 to float32 without F16C
  llvm::Value* narrow_half(llvm::Value* v, int lanes);  // float32 to float16 without F16C
  llvm::Value* call_lanewise(llvm::StringRef scalar_name, llvm::ArrayRef<llvm::Value*> args);
  llvm::Value* call_vector(std::string_view name, llvm::ArrayRef<llvm::Value*> args);
  llvm::Value* scale(llvm::Value* x, llvm::Value* exponent, DType type);  // x · 2^exponent
  // What `part` computes of `width` lanes, for vectors of any number of lanes.
  llvm::Value* in_parts(int width, llvm::ArrayRef<llvm::Value*> args,
                        llvm::function_ref<llvm::Value*(llvm::ArrayRef<llvm::Value*>)> part);

  // emit_address.cc: integers in 64 bits
  Linear linear(const Expr& e);
  void accumulate(const Expr& e, int64_t scale, Linear& out);
  // The lanes base, base + stride, … when `e` is such a vector with a constant stride.
  bool accumulate_lanes(const Expr& e, int64_t scale, Linear& base, int64_t& stride);
  llvm::Value* sum(const Linear& l);
  llvm::Value* index(const Expr& e) { return sum(linear(e)); }
  int level_of(const Expr& e) const;  // -1: must be evaluated where it stands
  bool is_nonnegative(const Expr& e) const;
  bool is_positive(const Expr& e) const;
  struct Address {
    llvm::Value* pointer;
    llvm::Align alignment;
    KnownMemory::Place place;
  };
  Address address(const Variable* buffer, DType element, const Linear& index);

  // emit_memory.cc
  Address lane_address(const Variable* buffer, DType element, const Linear& base, int64_t stride,
                       llvm::Value* indices, int lane);
  llvm::Value* load_all(llvm::Type* type, const Address& at, const Variable* buffer);
  llvm::StoreInst* store_all(llvm::Value* value, const Address& at, const Variable* buffer);
  llvm::Value* emit_load(const Load& op);
  llvm::Value* load_lanes(const Load& op, llvm::Value* mask);
  llvm::Value* load_shuffled(const Load& op, const Linear& base, int64_t stride, llvm::Value* mask,
                             llvm::FixedVectorType* vector_type);
  void store_lanes(const Store& op, llvm::Value* value, llvm::Value* mask);
  void annotate(llvm::Instruction* access, const Variable* buffer);
  llvm::Value* from_memory(llvm::Value* v, DType type);
  llvm::Value* to_memory(llvm::Value* v, DType type);
  llvm::Value* vector_of_pointers(const Variable* buffer, DType element, const Expr& index);

  // Runs `f` with the builder in front of the loop that a value of this level leaves out.
  template <class F>
  llvm::Value* place(int level, F f) {
    if (level >= depth()) return f();
    Builder::InsertPointGuard guard(b_);
    b_.SetInsertPoint(loops_[static_cast<size_t>(level)].preheader->getTerminator());
    return f();
  }
  int depth() const { return static_cast<int>(loops_.size()); }
  size_t region_of_level(int level) const {
    return level >= depth() ? regions_.size() - 1 : loops_[static_cast<size_t>(level)].region;
  }
  llvm::Value* remembered(const StepKey& key) const;

  llvm::Type* type(DType t) const;
  llvm::Type* memory_type(DType t) const;
  llvm::Value* constant(DType t, int64_t v) const;
  llvm::Value* real(DType t, double v) const;
  llvm::Value* splat(llvm::Value* v, int lanes);
  llvm::AllocaInst* entry_alloca(llvm::Type* type, llvm::Align alignment, const std::string& name);
  llvm::Value* string(const std::string& text);
  llvm::BasicBlock* new_block(const llvm::Twine& name);
  llvm::BasicBlock* block() { return b_.GetInsertBlock(); }
  [[noreturn]] void fail(const std::string& what) const;

  KernelState& k_;
  llvm::Function* function_;
  llvm::BasicBlock* entry_;  // only allocas; branches to the first block of the body
  Builder b_;
  std::unordered_map<const Variable*, Binding> bindings_;
  std::unordered_set<const llvm::Value*> held_;  // values of variables, with uses to come
  std::vector<Loop> loops_;
  bool nontemporal_ = false;      // below the pragma
  bool has_nontemporal_ = false;  // of this function: other threads see them after a fence only
  bool has_tiles_ = false;        // tile registers are configured
  bool has_launched_ = false;
  int tiles_taken_ = 0;  // by the buffers around
  bool has_loops_ = false;
  KnownMemory memory_;
  std::vector<Region> regions_;
  std::vector<llvm::Value*> workspaces_;  // live, innermost last: freed before an early return
  llvm::Value* mask_ = nullptr;           // lanes of a vector if_then_else being evaluated
  // Argument checks that the runtime makes from a table, and what is bound between them.
  struct Checks {
    struct Data {
      const LetStmt* let;
      int argument;
    };
    std::string function, names;
    std::vector<llvm::Constant*> rows;
    std::vector<Data> data;
    bool any = false;  // made so far
  } checks_;
  bool leaves_out_checks_ = false;
  llvm::Function* unchecked_ = nullptr;  // what to call in place of the compute scope
  // Of the calling convention; null in the functions a kernel calls.
  llvm::Value* args_ = nullptr;
  llvm::Value* type_codes_ = nullptr;
  llvm::Value* num_args_ = nullptr;
};

}  // namespace tw::codegen
