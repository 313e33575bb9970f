// SPDX-License-Identifier: Apache-2.0
// storage_flatten: tensors become buffers with one row-major index.
//
// before:                                        after:
//   realize B([y, 1], [0, 8]) {                    // attr [B] storage_scope = "global"
//     for (x, 0, 8) {                              allocate B[float32 * 1 * 8]
//       B(y, x) = A(y, (x + 2))                    for (x, 0, 8) {
//     }                                              B[x] = A[(((y*10) + x) + 2)]
//   }                                              }
//
// An element that is a vector is a row of its lanes: memory holds scalars, and such an access is
// one of as many as there are lanes, B[ramp((x*4), 1, 4)]. Arguments of the kernel bind to their
// own buffers, indexed from zero; everything else is counted from the realized minimum. Constants
// are gathered at the end of an index, so that it stays in Horner form, which printing shows and
// code generation addresses well.
#include <fmt/format.h>

#include <limits>
#include <map>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/memory_shape.h"
#include "ir/substitute.h"
#include "lower/passes.h"
#include "lower/scoped_mutator.h"
#include "runtime/error.h"

namespace tw::pass {
namespace {

// e == rest + constant.
struct Peeled {
  Expr rest;
  int64_t constant = 0;
};
Peeled peel_constant(const Expr& e) {
  if (auto c = as_const_int(e)) return {make_zero(e.dtype()), *c};
  if (const Add* add = as<Add>(e)) {
    if (auto c = as_const_int(add->b)) return {add->a, *c};
    if (auto c = as_const_int(add->a)) return {add->b, *c};
  }
  if (const Sub* sub = as<Sub>(e)) {
    if (auto c = as_const_int(sub->b)) return {sub->a, -*c};
  }
  return {e, 0};
}

// Indices are of the extents' type. Those of 32 bits must reach every element; of symbolic shapes
// the kernel sees to that when it is called.
void require_reachable(const std::string& name, const std::vector<Expr>& extents) {
  constexpr double kMost = std::numeric_limits<int32_t>::max();
  constexpr double kMostWide = 0x1p59;  // elements of up to 8 bytes, whose sizes are sure to fit
  double elements = 1;
  bool wide = false;
  for (const Expr& extent : extents) {
    wide |= extent.dtype().bits > 32;
    elements *= static_cast<double>(as_const_int(extent).value_or(1));
  }
  if (elements <= (wide ? kMostWide : kMost)) return;
  raise({.code = ErrorCode::BadShape,
         .what = fmt::format("'{}' has {:.0f} elements, more than {}-bit indices reach", name,
                             elements, wide ? 64 : 32),
         .legal = wide ? fmt::format("up to {:.0f}", kMostWide)
                       : fmt::format("up to {:.0f}, or extents of type int64", kMost)});
}

class Flatten : public ScopedMutator {
 public:
  explicit Flatten(const Kernel& kernel) {
    for (const KernelArgument& a : kernel.arguments) {
      if (!a.is_tensor || !a.producer.defined()) continue;
      bind(a);
    }
    for (const KernelConstant& c : kernel.constants) {
      if (c.producer.defined()) bind(c);
    }
  }

 protected:
  using ScopedMutator::on;

  Stmt on(const Realize& op, const Stmt&) override {
    const auto key = std::make_pair(op.producer.get(), op.value_index);
    if (auto it = buffers_.find(key); it != buffers_.end() && it->second.is_argument) {
      return mutate(op.body);
    }
    const DType type = op.producer->output_dtype(op.value_index);
    Buffer buffer{.var = buffer_var(name_of(op), type.element()), .lanes = type.lanes};
    const std::vector<Pitch> pitches = std::exchange(pitches_, {});
    for (const Range& r : op.bounds) {
      buffer.mins.push_back(analyzer_.simplify(mutate(r.min)));
      buffer.extents.push_back(analyzer_.simplify(mutate(r.extent)));
    }
    require_reachable(name_of(op), memory_shape(buffer.extents, type));
    if (!pitches.empty()) buffer.strides = strides_of(name_of(op), buffer.extents, pitches);
    buffers_[key] = buffer;
    const Stmt body = mutate(op.body);
    buffers_.erase(key);
    std::vector<Expr> extents = buffer.extents;
    if (!buffer.strides.empty()) extents = {extents[0] * buffer.strides[0]};
    extents = memory_shape(std::move(extents), type);
    if (extents.empty()) extents.push_back(1);
    return make(Allocate{.buffer = buffer.var,
                         .type = type.element(),
                         .extents = extents,
                         .scope = op.scope,
                         .body = body});
  }

  Stmt on(const AttrStmt& op, const Stmt& self) override {
    if (op.key == attr::kBufferBind) return mutate(with_memory(op));
    if (op.key != attr::kRowPitch && op.key != attr::kRowPitchOffset) {
      return ScopedMutator::on(op, self);
    }
    const auto dimension = static_cast<size_t>(as_const_int(op.node).value_or(0));
    const int64_t value = as_const_int(op.value).value_or(0);
    if (op.key == attr::kRowPitch) {
      pitches_.push_back({dimension, value, 0});
    } else if (!pitches_.empty()) {
      pitches_.back().offset = value;
    }
    return mutate(op.body);
  }

  Stmt on(const Provide& op, const Stmt&) override {
    const Buffer& buffer = find(op.producer, op.value_index);
    return make(Store{.buffer = buffer.var,
                      .value = mutate(op.value),
                      .index = places(buffer, mutate(op.indices))});
  }

  Expr on(const ProducerLoad& op, const Expr&) override {
    const Buffer& buffer = find(op.producer, op.value_index);
    return make(Load{.type = op.dtype.element(),
                     .buffer = buffer.var,
                     .index = places(buffer, mutate(op.indices))});
  }

  // What is fetched is an address.
  Expr on(const Call& op, const Expr& self) override {
    const Expr result = ScopedMutator::on(op, self);
    const Load* load = op.name == "prefetch" ? as<Load>(as<Call>(result)->args[0]) : nullptr;
    const Ramp* lanes = load != nullptr ? as<Ramp>(load->index) : nullptr;
    if (lanes == nullptr) return result;
    const Expr first =
        make(Load{.type = load->type.element(), .buffer = load->buffer, .index = lanes->base});
    return with(result, [&](Call& c) { c.args[0] = first; });
  }

  Stmt on(const Prefetch& op, const Stmt&) override {
    raise({.code = ErrorCode::Internal,
           .what = "prefetch reached storage_flatten",
           .stage = op.producer->name});
  }

 private:
  struct Buffer {
    Var var;
    std::vector<Expr> mins, extents;
    std::vector<Expr> strides;  // empty: row-major without gaps
    int lanes = 1;
    bool is_argument = false;
  };

  // Of an argument or a constant of the kernel.
  template <class Array>
  void bind(const Array& array) {
    require_reachable(array.name, array.shape);
    const std::vector<Expr> extents = array.producer->output_shape(array.value_index);
    buffers_[{array.producer.get(), array.value_index}] = {
        .var = array.var,
        .mins = std::vector<Expr>(extents.size(), 0),
        .extents = extents,
        .lanes = array.producer->output_dtype(array.value_index).lanes,
        .is_argument = true};
  }

  // The body with the tensor's memory in place of the variable that stands for it.
  Stmt with_memory(const AttrStmt& op) {
    const ProducerLoad& tensor = *as<ProducerLoad>(op.value);
    const Buffer& buffer = find(tensor.producer, tensor.value_index);
    const std::vector<Expr> shape = tensor.producer->output_shape(tensor.value_index);
    bool whole = buffer.strides.empty();
    for (size_t d = 0; d < shape.size(); ++d)
      whole = whole && analyzer_.can_prove_equal(buffer.extents[d], shape[d]);
    if (!whole) {
      raise({.code = ErrorCode::BadArgument,
             .what = "statements address its memory, which is not row-major without gaps",
             .stage = tensor.producer->name,
             .legal = "no storage_align of what te.extern reads"});
    }
    const Variable* bound = bound_by(op);
    return substitute(op.body,
                      [&](const Var& v) { return v.get() == bound ? Expr(buffer.var) : Expr(); });
  }

  // The pitch of a dimension is to leave `offset` on division by `factor`.
  struct Pitch {
    size_t dimension;
    int64_t factor, offset;
  };

  std::vector<Expr> strides_of(const std::string& name, const std::vector<Expr>& extents,
                               const std::vector<Pitch>& pitches) {
    std::vector<Expr> strides(extents.size());
    Expr stride = 1;
    for (size_t d = extents.size(); d-- > 0;) {
      for (const Pitch& p : pitches) {
        if (p.dimension != d) continue;
        require_reachable(name, {make_const(int_type(32), p.factor), extents[d]});
        const Expr factor = make_const(stride.dtype(), p.factor);
        const Expr missing = make_const(stride.dtype(), p.offset) - stride;
        stride = analyzer_.simplify(stride + floor_mod(missing, factor));
      }
      strides[d] = stride;
      require_reachable(name, {stride, extents[d]});
      stride = analyzer_.simplify(stride * extents[d]);
    }
    return strides;
  }

  static std::string name_of(const Realize& op) {
    return op.producer->num_outputs() > 1 ? fmt::format("{}.v{}", op.producer->name, op.value_index)
                                          : op.producer->name;
  }

  const Buffer& find(const ProducerRef& producer, int value_index) const {
    auto it = buffers_.find({producer.get(), value_index});
    if (it == buffers_.end()) {
      raise({.code = ErrorCode::MalformedIr,
             .what = "accessed outside the region where it is realized, and no argument",
             .stage = producer->name});
    }
    return it->second;
  }

  // The index of an element, or of its lanes.
  Expr places(const Buffer& buffer, const std::vector<Expr>& indices) {
    const Expr index = flat_index(buffer, indices);
    if (buffer.lanes == 1) return index;
    const DType type = index.dtype();
    return make(Ramp{.base = analyzer_.simplify(index * make_const(type, buffer.lanes)),
                     .stride = make_const(type, 1),
                     .lanes = buffer.lanes});
  }

  Expr flat_index(const Buffer& buffer, const std::vector<Expr>& indices) {
    TW_CHECK(indices.size() == buffer.extents.size(), "rank of an access");
    Expr index = 0;
    int64_t constant = 0;
    if (!buffer.strides.empty()) {
      for (size_t d = 0; d < indices.size(); ++d)
        index = index + (indices[d] - buffer.mins[d]) * buffer.strides[d];
      return analyzer_.canonical_simplify(index);
    }
    for (size_t d = 0; d < indices.size(); ++d) {
      Expr offset = is_zero(buffer.mins[d])
                        ? analyzer_.simplify(indices[d])
                        : analyzer_.canonical_simplify(indices[d] - buffer.mins[d]);
      Peeled peeled = peel_constant(offset);
      const Expr& extent = buffer.extents[d];
      if (auto c = as_const_int(extent)) {
        constant *= *c;
      } else {
        index = index + make_const(index.dtype(), constant);
        constant = 0;
      }
      index = index * extent + peeled.rest;
      // A fused axis comes back together: ((f/3)*3) + f%3 is f.
      if (d > 0) index = analyzer_.simplify(index);
      constant += peeled.constant;
    }
    return index + make_const(index.dtype(), constant);
  }

  std::vector<Pitch> pitches_;                                 // of the Realize that comes
  std::map<std::pair<const Producer*, int>, Buffer> buffers_;  // look-ups only
};

}  // namespace

Kernel storage_flatten(Kernel kernel, const PassContext&) {
  kernel.body = Flatten(kernel).mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
