// SPDX-License-Identifier: Apache-2.0
// cache_read
#include <fmt/format.h>

#include <algorithm>

#include "ir/expr.h"
#include "schedule/primitives/apply.h"
#include "schedule/primitives/checks.h"
#include "schedule/scan_stages.h"

namespace tw {
namespace {

bool reads(const ScheduleData& schedule, const StageData& reader, const te::Tensor& tensor) {
  return std::any_of(reader.inputs.begin(), reader.inputs.end(), [&](const te::Tensor& t) {
    return t.value_index() == tensor.value_index() &&
           find_stage(schedule, t.op().get()) == find_stage(schedule, tensor.op().get());
  });
}

te::Operation copy_of(const te::Tensor& tensor, const std::string& scope) {
  const std::vector<IterVar>& from = tensor.op()->data_axes();
  const std::vector<Expr> shape = tensor.shape();
  std::vector<IterVar> axes;
  std::vector<Expr> indices;
  for (size_t d = 0; d < shape.size(); ++d) {
    const std::string name = d < from.size() ? from[d].name() : fmt::format("ax{}", d);
    const Var var(name, shape[d].dtype());
    axes.emplace_back(Range{make_zero(var.dtype()), shape[d]}, var, IterKind::DataParallel);
    indices.push_back(var);
  }
  const int v = tensor.value_index();
  const std::string part = tensor.op()->num_outputs() > 1 ? fmt::format(".v{}", v) : "";
  return te::compute_op(name_in_scope(tensor.name() + part, scope), std::move(axes),
                        {tensor(indices)});
}

}  // namespace

StepResults apply_cache_read(const PrimitiveCall& call) {
  ScheduleData& schedule = call.schedule();
  StageData& source = call.stage();
  const std::string& scope = call.text(1);
  const std::vector<StageData*>& readers = call.stages(2);
  const int64_t output = call.given(3) ? call.integer(3) : 0;
  require_scope(call, scope);
  if (output < 0 || output >= source.op->num_outputs()) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = fmt::format("there is no output {}", output),
               .legal = fmt::format("0 to {}", source.op->num_outputs() - 1)});
  }
  const te::Tensor tensor = source.op.output(static_cast<int>(output));
  std::vector<StageData*> legal = consumers_of(schedule, source);
  const StageData* holder = holder_of(schedule, source);
  std::erase_if(legal,
                [&](const StageData* s) { return s == holder || !reads(schedule, *s, tensor); });
  if (readers.empty()) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = "cache_read for no reader",
               .legal = names(legal)});
  }
  for (size_t k = 0; k < readers.size(); ++k) {
    if (std::find(legal.begin(), legal.end(), readers[k]) == legal.end()) {
      call.fail(
          {.code = ErrorCode::NotAConsumer,
           .what = source.op->num_outputs() == 1
                       ? fmt::format("'{}' does not read it", readers[k]->name())
                       : fmt::format("'{}' does not read output {}", readers[k]->name(), output),
           .legal = names(legal)});
    }
    if (std::find(readers.begin(), readers.begin() + static_cast<std::ptrdiff_t>(k), readers[k]) !=
        readers.begin() + static_cast<std::ptrdiff_t>(k)) {
      call.fail(
          {.code = ErrorCode::BadArgument,
           .what = fmt::format("the reader '{}' stands twice in the list", readers[k]->name()),
           .legal = "each reader once"});
    }
  }

  auto owned = std::make_unique<StageData>();
  owned->storage.scope = scope;
  owned->where = call.where();
  StageData& cache = insert_stage(schedule, source, true, std::move(owned));
  reset_axes(schedule, cache, copy_of(tensor, scope));
  for (StageData* reader : readers) {
    set_operation(schedule, *reader, reader->op->with_reads([&](const ProducerLoad& read) {
      if (find_stage(schedule, read.producer.get()) != &source ||
          read.value_index != tensor.value_index()) {
        return Expr();
      }
      ProducerLoad next = read;
      next.producer = cache.op;
      next.value_index = 0;
      return make(std::move(next));
    }));
  }
  refresh_consumers(schedule, cache);
  return {&cache};
}

}  // namespace tw
