// SPDX-License-Identifier: Apache-2.0
// Operations made from others: with other reads, or with other axes.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "ir/substitute.h"
#include "schedule/te/operation.h"

namespace tw {

// `f` gets each read with its indices rewritten already; an undefined result keeps the read. The
// axes stay. Placeholders come back as they are.
using ReadRewrite = std::function<Expr(const ProducerLoad& read)>;
te::Operation rewrite_reads(const te::Operation& op, const ReadRewrite& f);

// The operation over fresh axes: pairs of an axis of `op` and what takes its place, in the domain,
// in the reduction and in the bodies.
using AxisReplacement = std::vector<std::pair<IterVar, IterVar>>;
te::Operation replace_axes(const te::Operation& op, std::string name, const AxisReplacement& axes);

// Both hold; `inner` is looked at where `outer` holds only, so that it may read what is there only.
Expr guarded_condition(const Expr& outer, const Expr& inner);

// The operation over other data axes, `values` being what the old ones are in terms of them; the
// reduction axes stay. Where `inside` does not hold (undefined: everywhere it does) a reduction
// takes no terms and other bodies are zero.
te::Operation change_axes(const te::Operation& op, std::vector<IterVar> data_axes,
                          const VarMap& values, const Expr& inside);

}  // namespace tw
