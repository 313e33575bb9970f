// SPDX-License-Identifier: Apache-2.0
#include "runtime/module_metadata.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/error.h"
#include "runtime/version.h"

namespace tw {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 2;
constexpr std::string_view kKinds[] = {"tensor", "int", "float"};

ArgumentKind parse_kind(std::string_view text) {
  for (size_t i = 0; i < std::size(kKinds); ++i) {
    if (kKinds[i] == text) return static_cast<ArgumentKind>(i);
  }
  raise({.code = ErrorCode::ModuleLoad,
         .what = fmt::format("the library's metadata has an argument of kind '{}'", text),
         .legal = "tensor, int, float"});
}

ArgumentInfo argument_from(const Json& json) {
  ArgumentInfo argument{.name = json.at("name"),
                        .kind = parse_kind(json.at("kind").get<std::string>()),
                        .dtype = parse_dtype(json.at("dtype").get<std::string>())};
  if (argument.kind != ArgumentKind::Tensor) return argument;
  for (const Json& extent : json.at("shape")) {
    if (extent.is_string()) {
      argument.shape.emplace_back(extent.get<std::string>());
    } else {
      argument.shape.emplace_back(extent.get<int64_t>());
    }
  }
  argument.output = json.value("output", false);
  argument.may_share = json.value("may_share", std::vector<int32_t>{});
  return argument;
}

Json size_to_json(const WorkspaceSize& size) {
  const auto bytes = [](const std::optional<int64_t>& n) { return n ? Json(*n) : Json(nullptr); };
  return {{"call", bytes(size.call)}, {"thread", bytes(size.thread)}};
}

// Libraries that do not say it take what they want.
WorkspaceSize size_from(const Json& function) {
  const auto bytes = [&](const char* which) -> std::optional<int64_t> {
    if (!function.contains("workspace") || function["workspace"].at(which).is_null()) return {};
    return function["workspace"][which].get<int64_t>();
  };
  return {.call = bytes("call"), .thread = bytes("thread")};
}

}  // namespace

std::string_view to_string(ArgumentKind kind) { return kKinds[static_cast<size_t>(kind)]; }

std::string metadata_to_json(const ModuleInfo& info) {
  Json functions = Json::array();
  for (const FunctionInfo& function : info.functions) {
    Json arguments = Json::array();
    for (const ArgumentInfo& argument : function.arguments) {
      Json json = {{"name", argument.name},
                   {"kind", to_string(argument.kind)},
                   {"dtype", to_string(argument.dtype)}};
      if (argument.kind == ArgumentKind::Tensor) {
        Json shape = Json::array();
        for (const Extent& extent : argument.shape) {
          std::visit([&](const auto& value) { shape.push_back(value); }, extent);
        }
        json["shape"] = std::move(shape);
        if (argument.output) json["output"] = true;
        if (!argument.may_share.empty()) json["may_share"] = argument.may_share;
      }
      arguments.push_back(std::move(json));
    }
    Json& json = functions.emplace_back(Json::object());
    json["name"] = function.name;
    if (!function.symbol.empty()) json["symbol"] = function.symbol;
    if (!function.unchecked.empty()) json["unchecked"] = function.unchecked;
    json["workspace"] = size_to_json(function.workspace);
    json["arguments"] = std::move(arguments);
  }
  Json json = {{"tilewright", version()},
               {"version", kVersion},
               {"target", info.target},
               {"instruction_sets", info.instruction_sets}};
  if (!info.parameters.empty()) json["parameters"] = info.parameters;
  json["functions"] = std::move(functions);
  return json.dump();
}

ModuleInfo metadata_from_json(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (const int version = json.at("version"); version > kVersion) {
      raise({.code = ErrorCode::ModuleLoad,
             .what = fmt::format("the library's metadata has version {}", version),
             .legal = fmt::format("up to {}; rebuild it or update Tilewright", kVersion)});
    }
    ModuleInfo info{.target = json.value("target", ""),
                    .instruction_sets = json.value("instruction_sets", std::vector<std::string>{}),
                    .parameters = json.value("parameters", "")};
    for (const Json& function : json.at("functions")) {
      FunctionInfo& added = info.functions.emplace_back();
      added.name = function.at("name");
      added.symbol = function.value("symbol", "");
      added.unchecked = function.value("unchecked", "");
      added.workspace = size_from(function);
      for (const Json& argument : function.at("arguments")) {
        added.arguments.push_back(argument_from(argument));
      }
    }
    return info;
  } catch (const Json::exception& e) {
    raise({.code = ErrorCode::ModuleLoad,
           .what = fmt::format("the library's metadata cannot be read: {}", e.what())});
  } catch (const UserError& e) {
    if (e.code() == ErrorCode::ModuleLoad) throw;
    raise({.code = ErrorCode::ModuleLoad,
           .what = fmt::format("the library's metadata cannot be read: {}", e.what())});
  }
}

std::string to_string(const FunctionInfo& info) {
  std::string text = info.name + "(";
  for (size_t i = 0; i < info.arguments.size(); ++i) {
    const ArgumentInfo& argument = info.arguments[i];
    text += fmt::format("{}{}: {}", i == 0 ? "" : ", ", argument.name, to_string(argument.dtype));
    if (argument.kind != ArgumentKind::Tensor) continue;
    text += '[';
    for (size_t d = 0; d < argument.shape.size(); ++d) {
      if (d != 0) text += ", ";
      std::visit([&](const auto& value) { text += fmt::format("{}", value); }, argument.shape[d]);
    }
    text += ']';
  }
  return text + ")";
}

}  // namespace tw
