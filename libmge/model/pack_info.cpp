// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/pack_info.h"

#include <functional>
#include <nlohmann/json.hpp>

#include "libmge/base/error.h"
#include "libmge/base/files/file_limit.h"
#include "libmge/base/json_depth.h"
#include "libmge/base/version.h"

namespace mge {
namespace {

using Json = nlohmann::ordered_json;

// Cut at the first zero and behind the last brace.
std::string_view json_text(std::string_view data) {
    data = data.substr(0, data.find('\0'));
    size_t end = data.rfind('}');
    return end == data.npos ? data : data.substr(0, end + 1);
}

Json parse(std::string_view text) { return is_too_deep(text) ? Json() : Json::parse(text, nullptr, false); }

PackedInfo read_fields(const Json& json, const std::function<void(const std::string&)>& fail) {
    PackedInfo info;
    auto required = [&](const char* key, bool (Json::*is)() const noexcept, const char* type) -> const Json& {
        if (!json.contains(key) || !(json.at(key).*is)()) fail(text("'", key, "' must be a ", type));
        return json.at(key);
    };
    info.valid = required("valid", &Json::is_boolean, "boolean").get<bool>();
    if (!info.valid) return info;
    info.name = required("name", &Json::is_string, "string").get<std::string>();
    info.version = required("version", &Json::is_string, "string").get<std::string>();
    if (auto found = json.find("has_compression"); found != json.end() && found->is_boolean())
        info.has_compression = found->get<bool>();
    if (auto found = json.find("extra_info"); found != json.end()) info.extra = found->dump();
    return info;
}

}  // namespace

PackedInfo parse_packed_info(std::string_view data, const std::string& label, const std::string& model_name) {
    auto fail = [&](const std::string& what) {
        throw ModelError(text("'", label, "': the info of the packed model is damaged: ", what));
    };
    if (data.empty()) return {};
    std::string_view text = json_text(data);
    FileBudget(label, text.size()).take(text.size(), memory_per_byte_of_text);
    Json json = parse(text);
    if (!json.is_object()) fail("it is not a JSON object");
    PackedInfo info = read_fields(json, fail);
    if (info.valid && info.name != model_name)
        throw ModelError(mge::text("'", label, "': its info is for the model '", info.name,
                                   "', its header says '", model_name, "'"));
    info.json = text;
    return info;
}

PackedInfo complete_packed_info(const std::string& given, const std::string& name,
                                const std::string& default_name) {
    auto fail = [](const std::string& what) { throw UserError(text("the info of a packed model: ", what)); };
    Json json = given.empty() ? Json::object() : parse(given);
    if (!json.is_object()) fail("it must be a JSON object");
    const Json before = json;
    if (!name.empty()) json["name"] = name;
    for (auto& [key, value] : {std::pair<const char*, Json>{"valid", !given.empty()},
                               {"name", default_name},
                               {"version", version}})
        if (!json.contains(key)) json[key] = value;
    PackedInfo info = read_fields(json, fail);
    if (info.name.empty())
        info.name = json["name"].is_string() ? json["name"].get<std::string>() : default_name;
    info.json = json == before ? given : json.dump();  // the user's own text if it is complete
    return info;
}

}  // namespace mge
