// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/operator.h"

#include <fmt/format.h>

#include <unordered_map>

#include "runtime/error.h"
#include "schedule/topi/topi.h"

namespace tw::topi {

std::string_view annotation_of(ParameterType type) {
  constexpr std::string_view kTexts[] = {
#define PARAMETER_TYPE(name, type, annotation, legal) annotation,
#include "schedule/topi/parameter_types.def"
#undef PARAMETER_TYPE
  };
  return kTexts[static_cast<size_t>(type)];
}

std::string_view legal_of(ParameterType type) {
  constexpr std::string_view kTexts[] = {
#define PARAMETER_TYPE(name, type, annotation, legal) legal,
#include "schedule/topi/parameter_types.def"
#undef PARAMETER_TYPE
  };
  return kTexts[static_cast<size_t>(type)];
}

std::string Operator::full_name() const { return fmt::format("{}.{}", module, name); }

const std::vector<Operator>& operators() {
  static const std::vector<Operator> rows = [] {
    std::vector<Operator> all;
    for (const auto family : {&elementwise_rows,
                              &broadcast_rows,
                              &reduction_rows,
                              &transform_rows,
                              &slice_rows,
                              &sort_rows,
                              &nn::activation_rows,
                              &nn::dense_rows,
                              &nn::normalization_rows,
                              &nn::pad_rows,
                              &nn::pooling_rows,
                              &nn::pool_grad_rows,
                              &nn::softmax_rows,
                              &nn::upsampling_rows,
                              &vision::boxes_rows,
                              &vision::class_suppression_rows,
                              &vision::regions_rows,
                              &gather_rows,
                              &scatter_rows,
                              &cumulative_rows,
                              &rearrange_rows,
                              &matrix_rows,
                              &moments_rows,
                              &einsum_rows,
                              &nn::nonlinearity_rows,
                              &nn::root_normalization_rows,
                              &nn::conv_rows,
                              &nn::conv_transpose_rows,
                              &nn::conv2d_blocked_rows,
                              &nn::lrn_rows,
                              &nn::mirror_pad_rows,
                              &image::resize_rows,
                              &image::grid_sample_rows}) {
      for (Operator& row : family()) all.push_back(std::move(row));
    }
    return all;
  }();
  return rows;
}

const Operator* find_operator(std::string_view full_name) {
  static const std::unordered_map<std::string, const Operator*> by_name = [] {
    std::unordered_map<std::string, const Operator*> map;
    for (const Operator& row : operators()) map.emplace(row.full_name(), &row);
    return map;
  }();
  const auto found = by_name.find(std::string(full_name));
  return found == by_name.end() ? nullptr : found->second;
}

void detail::require_texts(std::string_view name, size_t texts, size_t parameters) {
  TW_CHECK(texts == parameters, fmt::format("operator '{}' has {} parameters and texts for {}",
                                            name, parameters, texts));
}

}  // namespace tw::topi
