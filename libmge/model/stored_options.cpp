// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/stored_options.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "libmge/base/error.h"
#include "libmge/base/joined.h"

namespace mge {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* metadata_key = "load_and_run.options";
constexpr const char* const_shape_key = "load_and_run.const_shape";
constexpr const char* packed_info_key = "lite_info";
constexpr int version = 1;

// Name of an option in files; older ones use this name for the level.
std::string key_of(const compat::NamedOption& option) {
    return option.field == "level" ? "level" : std::string(option.name);
}

// Names of options in the info of a packed model, if they differ.
constexpr std::pair<std::string_view, std::string_view> packed_names[] = {{"jit_level", "jit"}};

Json to_json(const OptionValue& value) {
    return std::visit(
        [](auto& given) -> Json {
            constexpr bool is_set = !std::is_same_v<decltype(given), const std::monostate&>;
            if constexpr (is_set)
                return given;
            else
                return nullptr;
        },
        value);
}

OptionValue to_value(const std::string& key, const Json& json) {
    if (json.is_null()) return {};
    if (json.is_boolean()) return json.get<bool>();
    if (json.is_number_unsigned() && json.get<uint64_t>() > uint64_t(INT64_MAX))
        throw ModelError(text("the model's option '", key, "' is too large"));
    if (json.is_number_integer()) return json.get<int64_t>();
    if (json.is_number()) return json.get<double>();
    if (json.is_string()) return json.get<std::string>();
    if (json.is_array()) return json.get<std::vector<std::string>>();
    throw ModelError(text("the model's option '", key, "' has no value that an option has"));
}

void add(StoredOptions& stored, const compat::NamedOption& option, const std::string& key, const Json& json) {
    OptionValue value = to_value(key, json);
    CompileOptions scratch{.naming = compat::path_of};
    try {
        set_option(scratch, option, value);
    } catch (const UserError& e) {
        throw ModelError(text("the model's option '", key, "' cannot be used: ", e.what()));
    }
    stored.values.push_back({&option, std::move(value)});
}

int whole_number(const Json& json) {
    if (json.is_number_integer())
        if (auto number = json.get<int64_t>(); number >= 0 && number <= INT32_MAX) return int(number);
    throw ModelError(
        "the options in the model's metadata cannot be read: 'threads' is not a number of threads");
}

StoredOptions read_stored(const Json& json) {
    if (json.at("version") != version) throw ModelError("the options in the model are of another version");
    StoredOptions stored;
    for (const char* key : {"level", "layout"}) json.at(key);  // every version has written these
    for (auto& option : compat::named_options())
        if (auto key = key_of(option); option.is_stored && json.contains(key))
            add(stored, option, key, json[key]);
    stored.inputs = json.at("inputs").get<std::string>();
    stored.threads = whole_number(json.at("threads"));
    stored.algorithms = json.at("algorithms").get<std::vector<std::string>>();
    return stored;
}

// There false and 0 do not determine one of our three states.
bool has_no_effect(const compat::NamedOption& option, const Json& json) {
    return option.may_be_unset && (json == false || json == 0);
}

std::optional<StoredOptions> read_packed_info(const Json& json) {
    auto options = json.find("options");
    if (options == json.end() || !options->is_object()) return std::nullopt;
    StoredOptions stored;
    for (auto& [key, value] : options->items()) {
        std::string_view name = key;
        for (auto& [theirs, ours] : packed_names)
            if (name == theirs) name = ours;
        auto* option = compat::find_named_option(name);
        if (option && option->is_stored && !has_no_effect(*option, value)) add(stored, *option, key, value);
    }
    return stored.values.empty() ? std::nullopt : std::optional(stored);
}

Json stored_json(const CompileOptions& options) {
    Json result{{"version", version}, {"level", std::abs(options.level)}, {"layout", options.layout}};
    const CompileOptions plain;
    for (auto& option : compat::named_options()) {
        bool is_stored = option.is_stored && option.get(options) != option.get(plain);
        if (is_stored && !result.contains(key_of(option)))
            result[key_of(option)] = to_json(option.get(options));
    }
    result["inputs"] = "";
    result["threads"] = 0;
    result["algorithms"] = Json::array();
    return result;
}

}  // namespace

std::string image_layout(const Program& program) {
    for (auto& value : program.values())
        if (!value.spec.layout.is_plain()) return value.spec.layout.name();
    return "nchw";
}

void store_options(Model& model, const CompileOptions& options) {
    model.metadata[metadata_key] = stored_json(options).dump();
}

void store_options(Model& model, const CompileOptions& options, const Program& program) {
    Json result = stored_json(options);
    result["layout"] = image_layout(program);
    result["inputs"] = joined(specs_of(program.inputs()), "; ");
    result["threads"] = options.threads;
    for (auto& step : program.steps()) {
        bool is_open = step.algorithm == "chosen at run time";
        result["algorithms"].push_back(is_open ? "" : step.algorithm);
    }
    model.metadata[metadata_key] = result.dump();
}

void store_const_shape(Model& model) {
    model.metadata[const_shape_key] = "true";
    for (ValueId id : model.graph.inputs()) model.graph.value(id).dimensions.clear();
}

bool has_const_shape(const Model& model) { return model.metadata.contains(const_shape_key); }

std::optional<StoredOptions> stored_options(const Model& model) {
    auto text_of = [&](const char* key) {
        auto it = model.metadata.find(key);
        return it == model.metadata.end() ? nullptr : &it->second;
    };
    try {
        if (auto* own = text_of(metadata_key)) return read_stored(Json::parse(*own));
        if (auto* info = text_of(packed_info_key)) return read_packed_info(Json::parse(*info));
    } catch (const Json::exception&) {
        throw ModelError("the options in the model's metadata cannot be read");
    }
    return std::nullopt;
}

CompileOptions with_stored(const CompileOptions& options, const StoredOptions& stored) {
    CompileOptions result = options;
    for (auto& [option, value] : stored.values) set_option(result, *option, value);
    return result;
}

CompileOptions with_stored(const CompileOptions& options, const StoredOptions& stored,
                           const TensorSpecs& inputs) {
    CompileOptions result = with_stored(options, stored);
    if (joined(inputs, "; ") == stored.inputs && options.threads == stored.threads)
        result.algorithms = stored.algorithms;
    return result;
}

}  // namespace mge
