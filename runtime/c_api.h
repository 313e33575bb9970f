/* SPDX-License-Identifier: Apache-2.0
 *
 * The C interface: what compiled kernels look like, what they call, and what a C program needs to
 * load and run them. C99.
 *
 * A kernel returns 0, or nonzero with a message in tw_last_error(). Functions of this header that
 * return a pointer return NULL in that case. Nothing here throws.
 */
#ifndef TILEWRIGHT_RUNTIME_C_API_H_
#define TILEWRIGHT_RUNTIME_C_API_H_

#include <stdint.h>

#include "runtime/api.h"
#include "runtime/dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Kernels ---- */

/* What args[i] of a kernel points to. */
enum {
  TW_ARG_TENSOR = 0, /* DLTensor */
  TW_ARG_INT = 1,    /* int64_t */
  TW_ARG_FLOAT = 2   /* double */
};

/* Every kernel is an exported function of this type. The symbol of one that is called `name` is
 * `name.kernel`, which no function of C can be called: so a kernel may have any name, `tan` too,
 * and nobody's calls of the C library's `tan` reach it. The header that is exported with it
 * declares it as `name`. type_codes[i] is a TW_ARG_ number. A kernel may run on several threads at
 * once when their output tensors are different.
 *
 * It checks, in this order: the number of arguments; the kind of each; of each tensor the number of
 * dimensions, the element type, and that it is on the CPU; that scalars fit their types; extents,
 * where those that are symbolic agree; that tensors are compact and row-major (strides NULL or
 * those numbers; an extent of one has none to speak of); that data + byte_offset is not NULL,
 * unless there are no elements, and is aligned to an element; and that a tensor which the kernel
 * writes shares no memory with another one. The exception is an input that the metadata lists under
 * "may_share" of the output: these two may begin at the same address, and the kernel then works in
 * place.
 *
 * An exported library has each kernel a second time, without checks, as name.unchecked. It is for
 * callers whose arguments have passed them, in a call of the checked one: as long as number, kinds,
 * types, extents and strides stay the same, and addresses are aligned to an element and as disjoint
 * or equal as is said above, only data, byte_offset and the values of scalars may change, these
 * within their types. With anything else its behaviour is undefined. */
typedef int32_t (*tw_kernel)(void* const* args, const int32_t* type_codes, int32_t num_args);

/* A library of kernels may describe them: const char tw_module_metadata[], JSON text; see
 * runtime/module_metadata.h. */
#define TW_METADATA_SYMBOL "tw_module_metadata"

/* ---- Errors, one for each thread ---- */

enum {
  TW_NO_ERROR = -1,
#define ERROR_CODE(Name, Kind, Text) TW_ERROR_##Name,
#include "runtime/error_codes.def"
#undef ERROR_CODE
  TW_NUM_ERROR_CODES
};

/* The text of the last failure on this thread, "" when there was none; valid until the next. */
TW_API const char* tw_last_error(void);
/* Its TW_ERROR_ number, or TW_NO_ERROR. */
TW_API int32_t tw_last_error_code(void);
TW_API void tw_clear_error(void);
/* The stable id of a code, such as "argument-shape"; NULL for an unknown number. */
TW_API const char* tw_error_name(int32_t code);
/* Keeps an error; the message is copied. An unknown code counts as TW_ERROR_Internal. */
TW_API void tw_set_error(int32_t code, const char* message);

/* What was checked of an argument. */
enum {
#define ARGUMENT_CHECK(Name, Code, Message) TW_CHECK_##Name,
#include "runtime/argument_checks.def"
#undef ARGUMENT_CHECK
  TW_NUM_CHECKS
};

/* Keeps the error that a failed check stands for, with the actual values in its message: "argument
 * 'A' of 'conv': dimension 1 is 12, expected 13". `index` is the dimension for shapes and strides,
 * else unused. For TW_CHECK_DType both values are tw_dtype_word()s, for TW_CHECK_Kind TW_ARG_
 * numbers, for TW_CHECK_Alignment `got` is the address. Always returns -1, so that generated code
 * can return the result. */
TW_API int32_t tw_raise_argument_error(int32_t check, const char* function, const char* argument,
                                       int32_t index, int64_t expected, int64_t got);

/* How many bytes two compact tensors share; 0 when one is empty. */
TW_API int64_t tw_tensor_overlap(const DLTensor* a, const DLTensor* b);

/* One check of a kernel's arguments, made of constants alone. `check` says what is read of argument
 * number `argument`, and `index` which dimension of it, or which other tensor; `name` is where in
 * `names` the argument's name begins. Null and Alignment read the address of the data, byte offset
 * included; absent strides are as expected. */
typedef struct tw_argument_check {
  int64_t expected;
  int32_t check, argument, index, name;
} tw_argument_check;

/* Makes checks in their order, until one fails: then -1, after tw_raise_argument_error. A check may
 * rely on those before it. Kernels make most of their checks with one call. */
TW_API int32_t tw_check_arguments(const tw_argument_check* checks, int32_t num_checks,
                                  const char* function, const char* names, void* const* args,
                                  const int32_t* type_codes, int32_t num_args);

/* The 32 bits of a DLDataType as one number, as a little-endian load of the struct gives them. */
static inline int64_t tw_dtype_word(DLDataType type) {
  return (int64_t)type.code | (int64_t)type.bits << 8 | (int64_t)type.lanes << 16;
}

/* ---- Threads ---- */

/* Returns 0, or nonzero for failure after tw_set_error. */
typedef int32_t (*tw_parallel_body)(int32_t task_id, int32_t num_tasks, void* closure);

/* Runs body(i, num_tasks, closure) for every i in 0 … num_tasks - 1 and waits; num_tasks 0 means
 * one for each thread. Returns 0 or what the first task to fail returned; its error becomes this
 * thread's. Inside a task it runs serially, and 0 means 1. */
TW_API int32_t tw_parallel_for(tw_parallel_body body, void* closure, int32_t num_tasks);
/* The same; a thread takes the next task when it is done with one. */
TW_API int32_t tw_parallel_for_dynamic(tw_parallel_body body, void* closure, int32_t num_tasks);

/* The threads that a parallel region uses, the calling one included. */
TW_API int32_t tw_num_threads(void);
/* Sets that number, and tells the OpenMP and BLAS libraries that are loaded (thread_count.h). */
TW_API int32_t tw_set_num_threads(int32_t num_threads);
/* Puts the waiting threads to sleep until the next region. */
TW_API void tw_park_threads(void);

/* Kernels with tile registers (AMX) call it first. Returns 0, or -1 where the system refuses them
 * to this process, the error set. */
TW_API int32_t tw_request_tile_data(void);

/* ---- Scratch memory ---- */

/* Uninitialised memory, pooled by thread; alignment is a power of two. NULL when there is none, the
 * error set. */
TW_API void* tw_workspace_alloc(int64_t bytes, int32_t alignment);
TW_API void tw_workspace_free(void* block);

/* Memory that a thread lends to the kernels it calls, so that they ask for none: call_bytes for
 * what a call needs outside parallel regions, and thread_bytes for each of num_threads threads
 * inside of them; at least what tw_module_workspace says of each kernel. What does not fit is
 * allocated after all. Meanwhile this thread, and tasks of its kernels, free blocks in the reverse
 * order of taking them, as compiled code does. */
typedef struct tw_workspace {
  void* memory; /* aligned to 64; tw_workspace_bytes() of it */
  int64_t call_bytes, thread_bytes;
  int32_t num_threads; /* tw_num_threads(), at most 1024 */
} tw_workspace;
static inline int64_t tw_workspace_bytes(const tw_workspace* workspace) {
  return (workspace->call_bytes + 63) / 64 * 64 +
         (workspace->thread_bytes + 63) / 64 * 64 * workspace->num_threads;
}
/* Lends to all kernels that this thread calls from now on; NULL ends it. The struct is copied. Not
 * inside a kernel. Returns 0, or -1 for sizes that make no sense. */
TW_API int32_t tw_workspace_lend(const tw_workspace* workspace);

/* ---- Loading and calling from C ---- */

TW_API const char* tw_version(void);

typedef struct tw_module tw_module;

/* Loads a library that was exported with export_library, and maps its parameters: a file beside it
 * of the same name that ends in .params, for libraries with large constants
 * (runtime/parameter_file.h). Such a library is not to be used without this function, as nothing
 * else tells it where they are. */
TW_API tw_module* tw_module_load(const char* path);
/* The kernel of that name; valid until the module is freed. */
TW_API tw_kernel tw_module_function(tw_module* module, const char* name);
/* The same without checks, where the library has it, otherwise the same. */
TW_API tw_kernel tw_module_unchecked(tw_module* module, const char* name);
/* The scratch memory that a call of the kernel takes in bytes: outside parallel regions, and each
 * thread inside of them. -1: it depends on the arguments. Returns 0, or -1 for unknown names. */
TW_API int32_t tw_module_workspace(tw_module* module, const char* name, int64_t* call_bytes,
                                   int64_t* thread_bytes);
/* The library's description of itself, JSON text; "" when it has none. */
TW_API const char* tw_module_describe(tw_module* module);
TW_API void tw_module_free(tw_module* module);

/* Reads a type's name ("float32", "bool", "bfloat16"). Returns 0, or -1. */
TW_API int32_t tw_parse_dtype(const char* text, DLDataType* type);

/* A compact row-major tensor on the CPU over memory that the caller owns. `shape` is not copied. */
static inline DLTensor tw_tensor(void* data, DLDataType dtype, int32_t ndim, int64_t* shape) {
  DLTensor tensor;
  tensor.data = data;
  tensor.device.device_type = kDLCPU;
  tensor.device.device_id = 0;
  tensor.ndim = ndim;
  tensor.dtype = dtype;
  tensor.shape = shape;
  tensor.strides = NULL;
  tensor.byte_offset = 0;
  return tensor;
}

/* Calls a kernel whose arguments are all tensors, at most 64. Returns what it returns. */
TW_API int32_t tw_call(tw_kernel kernel, DLTensor* const* tensors, int32_t num_tensors);

/* ---- Networks ---- */

/* One instance of a network, from a directory that was exported (runtime/graph_directory.h). Inputs
 * are its variables, parameters included, which have their values when it is loaded. It must be
 * used by one thread at a time. */
typedef struct tw_graph tw_graph;

/* Maps the parameters: they are read when kernels read them. */
TW_API tw_graph* tw_graph_load(const char* directory);
/* Another instance, for another thread; it shares code and parameters, and each may be freed
 * first. */
TW_API tw_graph* tw_graph_clone(tw_graph* graph);
TW_API void tw_graph_free(tw_graph* graph);

TW_API int32_t tw_graph_num_inputs(tw_graph* graph);
TW_API int32_t tw_graph_num_outputs(tw_graph* graph);
/* Valid until the graph is freed. NULL for an index that there is not. */
TW_API const char* tw_graph_input_name(tw_graph* graph, int32_t index);
TW_API const char* tw_graph_output_name(tw_graph* graph, int32_t index);
/* -1 where no input has the name. */
TW_API int32_t tw_graph_input_index(tw_graph* graph, const char* name);
/* 1 for an input that has a value, a parameter for example; 0 for one that has not. */
TW_API int32_t tw_graph_input_is_set(tw_graph* graph, int32_t index);
/* Type and shape, without data; the shape is valid until the graph is freed. Returns 0, or -1. */
TW_API int32_t tw_graph_input_tensor(tw_graph* graph, int32_t index, DLTensor* tensor);

/* Copies elements of a tensor of any strides. Returns 0, or -1. */
TW_API int32_t tw_graph_set_input(tw_graph* graph, const char* name, const DLTensor* value);
/* Uses the memory itself from now on: compact, aligned to an element, and there until another value
 * is set or the graph is freed. Returns 0, or -1. */
TW_API int32_t tw_graph_set_input_zero_copy(tw_graph* graph, const char* name,
                                            const DLTensor* value);
/* Returns 0, or -1. All runs but the first allocate nothing. */
TW_API int32_t tw_graph_run(tw_graph* graph);
/* The memory where each run leaves the output, valid until the graph is freed. Returns 0, or -1. */
TW_API int32_t tw_graph_output(tw_graph* graph, int32_t index, DLTensor* output);
/* Copies an output into a tensor of its type and shape, of any strides. Returns 0, or -1. */
TW_API int32_t tw_graph_get_output(tw_graph* graph, int32_t index, const DLTensor* output);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* TILEWRIGHT_RUNTIME_C_API_H_ */
