// SPDX-License-Identifier: Apache-2.0
// Keys of AttrStmt, and what node and value mean for each.
#pragma once

#include <string_view>

namespace tw::attr {

// node: undefined; value: int32. Set by the `pragma` primitive as "pragma_" + name; the body is the
// marked loop, or what is inside it when the loop has one iteration and is gone.
inline constexpr char kPragmaPrefix[] = "pragma_";
// Largest number of statements an automatic unroll may produce (value) below this point.
inline constexpr char kAutoUnrollMaxStep[] = "pragma_auto_unroll_max_step";
// Leave the unrolling of marked loops to code generation when 0.
inline constexpr char kUnrollExplicit[] = "pragma_unroll_explicit";
// Vector stores below this point go around the caches where their address is known to be aligned.
inline constexpr char kStoreNontemporal[] = "pragma_store_nontemporal";
// The parallel loop below is dealt out while it runs: whoever is free takes the next `value`
// iterations, for iterations of unequal cost.
inline constexpr char kParallelDynamic[] = "pragma_parallel_dynamic";
inline constexpr std::string_view kPragmas[] = {kAutoUnrollMaxStep, kUnrollExplicit,
                                                kStoreNontemporal, kParallelDynamic};
// node: int32 number of a dimension; value: int32. Around a Realize: the pitch of the
// dimension, in elements, is a multiple of the factor; with kRowPitchOffset, so much more than one.
inline constexpr char kRowPitch[] = "row_pitch";
inline constexpr char kRowPitchOffset[] = "row_pitch_offset";
// node: tensor_operands(part, operands…) of ir/intrinsics.def; value: string, the name of a tensor
// intrinsic. The body is the loop nest that it stands for. Gone after the pass `tensorize`.
inline constexpr char kTensorIntrin[] = "tensor_intrin";
// node: buffer variable; value: the first element of a tensor, all of which is in memory. Below,
// the variable is the tensor's memory, row-major without gaps. Gone after storage_flatten.
inline constexpr char kBufferBind[] = "buffer_bind";
// node: undefined; value: string, the Python or te line that the statements below come from.
inline constexpr char kSourceLine[] = "source_line";
// node: undefined; value: string, the thread axis that the loop below is, such as "threadIdx.x".
// The loop means what it means without; gone after lower_threads.
inline constexpr char kThread[] = "thread_axis";
// node: int32 number of an output; value: 1. Around its Realize, later its Allocate: what is in
// memory is computed for the next iteration of the loop around before this one reads it. Gone after
// inject_double_buffer.
inline constexpr char kDoubleBuffer[] = "double_buffer";
// A scope of storage: tile registers of x86. Only tensor intrinsics reach it.
inline constexpr char kTileScope[] = "amx.tile";
// node: buffer; value: uint alignment in bytes that the address is known to have.
inline constexpr char kStorageAlignment[] = "storage_alignment";
// node: undefined; value: string, name of the compute scope that code generation turns into a
// function of its own, so that aliasing facts of the arguments hold there.
inline constexpr char kComputeScope[] = "compute_scope";

// node: int32 variable, the number of this task; value: int32, how many tasks. The body runs once a
// task, on the thread pool. Made by lower_parallel.
inline constexpr char kParallelLaunch[] = "parallel_launch";
// The same; a thread takes the next task when it is done with one.
inline constexpr char kParallelLaunchDynamic[] = "parallel_launch_dynamic";
inline bool is_parallel_launch(std::string_view key) {
  return key == kParallelLaunch || key == kParallelLaunchDynamic;
}

}  // namespace tw::attr
