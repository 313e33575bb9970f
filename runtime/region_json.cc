// SPDX-License-Identifier: Apache-2.0
#include "runtime/region_json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "runtime/read_number.h"

namespace tw::vendor {
namespace {

using Json = nlohmann::json;

// [number of the alternative, value].
Json of_attribute(const Attribute& a) {
  return std::visit(
      [&](const auto& v) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>) {
          return Json::array({0, nullptr});
        } else if constexpr (std::is_same_v<std::decay_t<decltype(v)>, double>) {
          // JSON has no infinities, and no NaN.
          return Json::array({a.index(), std::isfinite(v) ? Json(v) : Json(fmt::format("{}", v))});
        } else {
          return Json::array({a.index(), v});
        }
      },
      a);
}

template <size_t k = 0>
Attribute attribute_of(size_t kind, const Json& value) {
  if constexpr (k < std::variant_size_v<Attribute>) {
    if (kind != k) return attribute_of<k + 1>(kind, value);
    if constexpr (k == 0) {
      return std::monostate();
    } else if constexpr (std::is_same_v<std::variant_alternative_t<k, Attribute>, double>) {
      return value.is_string() ? read_double(value.get<std::string>()).value()
                               : value.get<double>();
    } else {
      return value.get<std::variant_alternative_t<k, Attribute>>();
    }
  }
  return std::monostate();
}

// Each number is that of a value.
std::vector<size_t> numbers(const Json& list, const Region& region) {
  const auto read = list.get<std::vector<size_t>>();
  for (size_t v : read) {
    if (v >= region.values.size()) throw std::runtime_error("a region without such a value");
  }
  return read;
}

}  // namespace

std::string to_json(const Region& region) {
  Json json{{"name", region.name},
            {"inputs", region.inputs},
            {"outputs", region.outputs},
            {"threads", region.threads}};
  for (const Value& v : region.values)
    json["values"].push_back(
        {{"shape", v.shape}, {"dtype", v.dtype}, {"constant", v.constant != nullptr}});
  for (const Composite& c : region.composites) {
    Json steps = Json::array();
    for (const Step& s : c.steps) {
      Json attributes = Json::object();
      for (const auto& [name, a] : s.attributes) attributes[name] = of_attribute(a);
      steps.push_back({{"op", s.op},
                       {"node", s.node},
                       {"attributes", attributes},
                       {"inputs", s.inputs},
                       {"outputs", s.outputs}});
    }
    json["composites"].push_back({{"pattern", c.pattern}, {"steps", steps}});
  }
  return json.dump();
}

Region from_json(const std::string& text,
                 const std::function<const void*(size_t value)>& constant) {
  const Json json = Json::parse(text);
  Region region{.name = json.at("name"),
                .values = {},
                .inputs = {},
                .outputs = {},
                .composites = {},
                .threads = json.at("threads")};
  for (const Json& v : json.at("values")) {
    region.values.push_back({.shape = v.at("shape"), .dtype = v.at("dtype"), .constant = nullptr});
    if (v.at("constant").get<bool>())
      region.values.back().constant = constant(region.values.size() - 1);
  }
  region.inputs = numbers(json.at("inputs"), region);
  region.outputs = numbers(json.at("outputs"), region);
  for (const Json& c : json.at("composites")) {
    Composite& composite = region.composites.emplace_back();
    composite.pattern = c.at("pattern");
    for (const Json& s : c.at("steps")) {
      Step& step = composite.steps.emplace_back();
      step.op = s.at("op");
      step.node = s.at("node");
      step.inputs = numbers(s.at("inputs"), region);
      step.outputs = numbers(s.at("outputs"), region);
      for (const auto& [name, a] : s.at("attributes").items())
        step.attributes[name] = attribute_of(a.at(0).get<size_t>(), a.at(1));
    }
  }
  return region;
}

}  // namespace tw::vendor
