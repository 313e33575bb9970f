// SPDX-License-Identifier: Apache-2.0
// The passes, in the order in which the table of pipeline.cc runs them. Each is a pure function in
// a file of its own, whose header comment shows a before and an after; requirements and guarantees
// are columns of the table.
#pragma once

#include "lower/pipeline.h"

namespace tw::pass {

Kernel check_bounds(Kernel kernel, const PassContext& context);
Kernel inject_prefetch(Kernel kernel, const PassContext& context);
Kernel storage_flatten(Kernel kernel, const PassContext& context);
Kernel tensorize(Kernel kernel, const PassContext& context);
Kernel inject_virtual_thread(Kernel kernel, const PassContext& context);
KernelModule split_host_device(KernelModule module, const PassContext& context);
Kernel lower_threads(Kernel kernel, const PassContext& context);
Kernel inject_double_buffer(Kernel kernel, const PassContext& context);
Kernel canonical_simplify(Kernel kernel, const PassContext& context);
Kernel loop_partition(Kernel kernel, const PassContext& context);
Kernel vectorize_loop(Kernel kernel, const PassContext& context);
Kernel unmask_accumulator(Kernel kernel, const PassContext& context);
Kernel promote_accumulator(Kernel kernel, const PassContext& context);
Kernel storage_rewrite(Kernel kernel, const PassContext& context);
Kernel transpose_loads(Kernel kernel, const PassContext& context);
Kernel unroll_loop(Kernel kernel, const PassContext& context);
Kernel simplify(Kernel kernel, const PassContext& context);
Kernel share_strided_loads(Kernel kernel, const PassContext& context);
Kernel shuffle_gathers(Kernel kernel, const PassContext& context);
Kernel interleave_stores(Kernel kernel, const PassContext& context);
Kernel remove_no_op(Kernel kernel, const PassContext& context);
Kernel unsign_dot_products(Kernel kernel, const PassContext& context);
Kernel nontemporal_stores(Kernel kernel, const PassContext& context);
Kernel share_arguments(Kernel kernel, const PassContext& context);
Kernel make_api(Kernel kernel, const PassContext& context);
Kernel lower_parallel(Kernel kernel, const PassContext& context);
Kernel place_allocations(Kernel kernel, const PassContext& context);
Kernel expand_math(Kernel kernel, const PassContext& context);
Kernel lower_intrin(Kernel kernel, const PassContext& context);

}  // namespace tw::pass
