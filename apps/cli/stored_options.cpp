// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/stored_options.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "apps/cli/json_number.h"
#include "libmge/base/error.h"

namespace mge::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* metadata_key = "load_and_run.options";
constexpr const char* const_shape_key = "load_and_run.const_shape";
constexpr int version = 1;

std::string specs_text(const TensorSpecs& specs) {
    std::string result;
    for (auto& spec : specs) result += text(result.empty() ? "" : "; ", spec);
    return result;
}

// The one layout that images lie in.
std::string layout_of(const Program& program) {
    for (auto& value : program.values())
        if (!value.spec.layout.is_plain()) return value.spec.layout.name();
    return "nchw";
}

}  // namespace

void store_options(Model& model, const CompileOptions& options, const Program& program) {
    Json result{{"version", version}, {"level", std::abs(options.level)}, {"layout", layout_of(program)}};
    if (options.graph_opt.jit) result["jit"] = *options.graph_opt.jit;
    for (auto& s : jit_switches)
        if (auto& value = options.graph_opt.jit_config.*s.member) result[s.name] = *value;
    for (auto& s : graph_switches)
        if (auto& value = options.graph_opt.*s.member) result[s.name] = *value;
    for (auto& p : half_precisions)
        if (options.graph_opt.*p.member) result[p.name] = true;
    result["inputs"] = specs_text(specs_of(program.inputs()));
    result["threads"] = options.threads;
    result["algorithms"] = Json::array();
    for (auto& step : program.steps()) {
        bool is_open = step.algorithm == "chosen at run time";
        result["algorithms"].push_back(is_open ? "" : step.algorithm);
    }
    model.metadata[metadata_key] = result.dump();
}

void store_layout(Model& model, const std::string& layout) {
    Json result{{"version", version}, {"level", CompileOptions().level}, {"layout", layout}};
    result["inputs"] = "";
    result["threads"] = 0;
    result["algorithms"] = Json::array();
    model.metadata[metadata_key] = result.dump();
}

void store_const_shape(Model& model) { model.metadata[const_shape_key] = "true"; }

bool has_const_shape(const Model& model) { return model.metadata.contains(const_shape_key); }

std::optional<StoredOptions> stored_options(const Model& model) {
    auto it = model.metadata.find(metadata_key);
    if (it == model.metadata.end()) return std::nullopt;
    try {
        Json json = Json::parse(it->second);
        if (json.at("version") != version)
            throw ModelError("the options in the model are of another version");
        StoredOptions stored;
        auto& o = stored.options;
        o.level = whole_number<int>(json.at("level"));
        o.layout = json.at("layout").get<std::string>();
        if (json.contains("jit")) o.graph_opt.jit = whole_number<int>(json["jit"]);
        for (auto& s : jit_switches)
            if (json.contains(s.name)) o.graph_opt.jit_config.*s.member = json[s.name].get<bool>();
        for (auto& s : graph_switches)
            if (json.contains(s.name)) o.graph_opt.*s.member = json[s.name].get<bool>();
        for (auto& p : half_precisions)
            if (json.contains(p.name)) o.graph_opt.*p.member = json[p.name].get<bool>();
        stored.inputs = json.at("inputs").get<std::string>();
        stored.threads = whole_number<int>(json.at("threads"));
        stored.algorithms = json.at("algorithms").get<std::vector<std::string>>();
        return stored;
    } catch (const Json::exception&) {
        throw ModelError("the options in the model's metadata cannot be read");
    }
}

CompileOptions with_stored(const CompileOptions& options, const StoredOptions& stored,
                           const TensorSpecs& inputs) {
    CompileOptions result = options;
    result.level = stored.options.level;
    result.layout = stored.options.layout;
    result.graph_opt = stored.options.graph_opt;
    if (specs_text(inputs) == stored.inputs && options.threads == stored.threads)
        result.algorithms = stored.algorithms;
    return result;
}

}  // namespace mge::cli
