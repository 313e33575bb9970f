// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/einsum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "ir/expr.h"
#include "schedule/topi/accumulation.h"
#include "schedule/topi/operator.h"

namespace tw::topi {
namespace {

constexpr std::string_view kEllipsis = "...";

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// Labels of dimensions that an ellipsis of `count` stands for.
std::string ellipsis_labels(size_t count) {
  std::string labels;
  for (size_t k = count; k > 0; --k) labels += static_cast<char>(k);
  return labels;
}

}  // namespace

EinsumEquation parse_einsum(std::string_view equation,
                            const std::vector<std::optional<size_t>>& ranks,
                            const EinsumError& error) {
  std::string text;
  for (char c : equation) {
    if (c != ' ') text += c;
  }
  const size_t arrow = text.find("->");
  std::vector<std::string> terms = split(text.substr(0, arrow), ',');
  if (terms.size() != ranks.size()) {
    error(
        fmt::format("'{}' has {} operands and {} are given", equation, terms.size(), ranks.size()),
        "a term for each operand");
  }
  size_t most = 0;  // dimensions of an ellipsis
  // The labels of a term with those of its ellipsis in its place.
  const auto replace = [&](std::string term,
                           const std::function<size_t(size_t named)>& dimensions) {
    const size_t at = term.find(kEllipsis);
    if (at != std::string::npos) term.erase(at, kEllipsis.size());
    for (char c : term) {
      if (std::isalpha(static_cast<unsigned char>(c)) == 0) {
        error(fmt::format("'{}' in '{}'", c, equation),
              "letters, one ellipsis a term, ',' and '->'");
      }
    }
    const size_t more = dimensions(term.size());
    if (at != std::string::npos) term.insert(at, ellipsis_labels(more));
    return term;
  };
  EinsumEquation result;
  for (size_t k = 0; k < terms.size(); ++k) {
    const bool open = terms[k].find(kEllipsis) != std::string::npos;
    result.inputs.push_back(replace(terms[k], [&](size_t named) {
      const size_t rank = ranks[k].value_or(named);
      if (open ? rank < named : rank != named) {
        error(fmt::format("term '{}' of '{}' for an operand of rank {}", terms[k], equation, rank),
              "a label for each dimension");
      }
      most = std::max(most, rank - named);
      return rank - named;
    }));
  }
  if (arrow != std::string::npos) {
    const std::string last = text.substr(arrow + 2);
    const bool open = last.find(kEllipsis) != std::string::npos;
    result.output = replace(last, [&](size_t) { return open ? most : size_t{0}; });
  } else {
    std::map<char, int> counts;
    for (const std::string& labels : result.inputs) {
      for (char c : labels) ++counts[c];
    }
    result.output = ellipsis_labels(most);
    for (const auto& [label, count] : counts) {
      if (count == 1 && std::isalpha(static_cast<unsigned char>(label)) != 0)
        result.output += label;
    }
  }
  for (size_t k = 0; k < result.output.size(); ++k) {
    const char label = result.output[k];
    const bool there = std::ranges::any_of(result.inputs, [&](const std::string& labels) {
      return labels.find(label) != std::string::npos;
    });
    if (!there || result.output.find(label, k + 1) != std::string::npos) {
      error(fmt::format("'{}' in the result of '{}'", label, equation),
            "each label once, of those that operands have");
    }
  }
  return result;
}

Tensor einsum(const std::string& subscripts, const std::vector<Tensor>& operands) {
  const Place place{"einsum", "subscripts"};
  std::vector<std::optional<size_t>> ranks;
  for (const Tensor& t : operands) ranks.emplace_back(static_cast<size_t>(t.rank()));
  if (operands.empty()) bad_argument({"einsum", "operands"}, "there are none", "one or more");
  const EinsumEquation equation =
      parse_einsum(subscripts, ranks, [&](const std::string& what, std::string legal) {
        bad_argument(place, what, std::move(legal));
      });
  std::map<char, Expr> extents;
  for (size_t k = 0; k < operands.size(); ++k) {
    for (size_t d = 0; d < equation.inputs[k].size(); ++d) {
      const Expr extent = operands[k].shape()[d];
      const auto [known, is_new] = extents.emplace(equation.inputs[k][d], extent);
      if (is_new || is_one(extent) || same_extent(known->second, extent)) continue;
      if (!is_one(known->second)) {
        require_extent({"einsum", fmt::format("operand {}", k)}, operands[k], static_cast<int>(d),
                       known->second);
      }
      known->second = extent;
    }
  }
  std::map<char, Expr> positions;
  std::vector<IterVar> summed;
  for (const auto& [label, extent] : extents) {
    if (equation.output.find(label) != std::string::npos) continue;
    summed.push_back(te::reduce_axis({make_zero(extent.dtype()), extent}, "k"));
    positions[label] = summed.back().var();
  }
  std::vector<Expr> shape;
  for (char label : equation.output) shape.push_back(extents.at(label));
  const DType type = operands[0].dtype(), wide = accumulation_type(type);
  const Tensor result = te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        for (size_t d = 0; d < i.size(); ++d) positions[equation.output[d]] = i[d];
        Expr product;
        for (size_t k = 0; k < operands.size(); ++k) {
          std::vector<Expr> position;
          for (size_t d = 0; d < equation.inputs[k].size(); ++d) {
            const Expr& at = positions.at(equation.inputs[k][d]);
            position.push_back(is_one(operands[k].shape()[d]) ? make_zero(at.dtype()) : at);
          }
          const Expr e = tw::cast(wide, operands[k](position));
          product = product.defined() ? product * e : e;
        }
        return summed.empty() ? product : te::sum(product, summed);
      },
      "T_einsum", summed.empty() ? kBroadcast : kReduction);
  return converted(result, type);
}

std::vector<Operator> einsum_rows() {
  return {make_operator(
      "topi", "einsum",
      [](const std::string& subscripts, const std::vector<Tensor>& operands) {
        return einsum(subscripts, operands);
      },
      {{"subscripts", "such as \"ij,jk->ik\""}, {"operands", "of one type"}},
      "The sum over all labels that the result lacks of the product of the operands. ONNX "
      "Einsum.")};
}

}  // namespace tw::topi
