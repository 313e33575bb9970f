/* SPDX-License-Identifier: Apache-2.0
 *
 * What another code generator is: a shared library that builds regions of networks, and exports one
 * function,
 *
 *   const tw_codegen* tilewright_codegen(void);
 *
 * This header is all that it needs; it links nothing of us. C99; runtime/codegen.h is the same for
 * C++, with classes. docs/byoc.md writes one.
 *
 * The life of a kernel: `build` makes its state of a region. `clone` makes further states for
 * threads that call at once. `run` computes. `save`, when the network is exported, writes what
 * `build` is given again where it is loaded. `release` ends each state. No function may let an
 * exception out, print, or change the memory that it is shown.
 */
#ifndef TILEWRIGHT_RUNTIME_CODEGEN_ABI_H_
#define TILEWRIGHT_RUNTIME_CODEGEN_ABI_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a struct of this header does. */
#define TW_CODEGEN_VERSION 2
#define TW_CODEGEN_SYMBOL "tilewright_codegen"

/* ---- A region; valid while `build` runs, but for the elements of constants ---- */

/* A tensor. */
typedef struct tw_codegen_value {
  const int64_t* shape;
  int64_t rank;
  const char* dtype; /* "float32" */
  /* Its elements, row-major, where they never change; valid as long as any state of the kernel.
   * NULL for others. */
  const void* constant;
} tw_codegen_value;

/* Which members of an attribute hold its value. */
enum {
  TW_ATTRIBUTE_NONE = 0,     /* none of them */
  TW_ATTRIBUTE_BOOL = 1,     /* integer, 0 or 1 */
  TW_ATTRIBUTE_INT = 2,      /* integer */
  TW_ATTRIBUTE_FLOAT = 3,    /* real */
  TW_ATTRIBUTE_TEXT = 4,     /* text */
  TW_ATTRIBUTE_INTS = 5,     /* lists, one */
  TW_ATTRIBUTE_INT_LISTS = 6 /* lists, num_lists of them */
};
typedef struct tw_codegen_integers {
  const int64_t* values;
  int64_t count;
} tw_codegen_integers;
typedef struct tw_codegen_attribute {
  const char* name; /* as the operator's schema in graph/ops says */
  int64_t kind;
  int64_t integer;
  double real;
  const char* text;
  const tw_codegen_integers* lists;
  int64_t num_lists;
} tw_codegen_attribute;

/* A call of an operator, by our name of it. Inputs and outputs are numbers of values. */
typedef struct tw_codegen_step {
  const char *op, *node;
  const tw_codegen_attribute* attributes; /* all of the schema */
  int64_t num_attributes;
  tw_codegen_integers inputs, outputs;
} tw_codegen_step;

/* Steps that are an instance of one pattern; a step that is in none is alone, and `pattern` is "".
 * Only outputs of the last step are read by others. */
typedef struct tw_codegen_composite {
  const char* pattern;
  const tw_codegen_step* steps;
  int64_t num_steps;
} tw_codegen_composite;

typedef struct tw_codegen_region {
  const char* name;
  const tw_codegen_value* values;
  int64_t num_values;
  tw_codegen_integers inputs, outputs;    /* of the kernel; constants are no inputs */
  const tw_codegen_composite* composites; /* in an order in which they can run */
  int64_t num_composites;
  int64_t threads; /* that a kernel may use; where there are others, it is built again */
} tw_codegen_region;

/* ---- A code generator ---- */

/* What a call of a kernel gets. */
typedef struct tw_codegen_call {
  void* state; /* no other call has it meanwhile */
  /* Elements, row-major, of the region's inputs and then of its outputs, in the region's order.
   * They are aligned to an element. Inputs are not to be written. */
  void* const* tensors;
  /* As much as workspace_bytes said, aligned to 64, uninitialised. */
  void* workspace;
} tw_codegen_call;

/* Where a function says in words, ended by a zero, why it failed. */
typedef struct tw_codegen_error {
  char text[512];
} tw_codegen_error;

/* Takes bytes that are to be saved; several calls follow each other. */
typedef struct tw_codegen_sink {
  void (*write)(struct tw_codegen_sink* self, const void* bytes, int64_t count);
} tw_codegen_sink;

typedef struct tw_codegen {
  int64_t version; /* TW_CODEGEN_VERSION */
  /* What kernels compute with, and which version of it: "oneDNN 2.6.3". Where it has changed, what
   * was timed is timed again. */
  const char* computes_with;
  /* The state of a kernel for the region, or NULL with an error. `saved`: what `save` wrote for
   * such a region, perhaps on another machine; NULL where there is nothing. */
  void* (*build)(const tw_codegen_region* region, const void* saved, int64_t saved_bytes,
                 tw_codegen_error* error);
  /* Scratch memory of one call; below 0: it cannot say, and the kernel is not used. */
  int64_t (*workspace_bytes)(void* state);
  /* Returns 0, or nonzero with an error. */
  int32_t (*run)(const tw_codegen_call* call, tw_codegen_error* error);
  /* The same kernel for one more thread, released before `state`; constants are shared. NULL, or a
   * function that returns NULL: threads wait for each other. */
  void* (*clone)(void* state);
  /* Writes what `build` shall be given where the kernel is loaded. The region and its constants are
   * kept in any case. NULL, or nothing written: it is built again of these. Returns 0, or nonzero
   * with an error. */
  int32_t (*save)(void* state, tw_codegen_sink* sink, tw_codegen_error* error);
  void (*release)(void* state);
} tw_codegen;

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* TILEWRIGHT_RUNTIME_CODEGEN_ABI_H_ */
