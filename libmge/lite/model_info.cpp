// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/model_info.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <ranges>

#include "libmge/base/joined.h"
#include "libmge/base/log.h"
#include "libmge/lite/as_lite_error.h"
#include "libmge/lite/layout.h"
#include "libmge/model/pack_info.h"
#include "lite/global.h"

namespace lite {
namespace {

using Json = nlohmann::json;
using mge::text;
using IsolatedConfig = std::unordered_map<std::string, LiteAny>;

// The newest version of MegEngine Lite whose infos are fully supported.
constexpr std::array<int64_t, 3> known_version{1, 13, 0};

// A part of the info, with the way to it for messages: "IO.inputs[0].shape".
class Part {
public:
    Part(const Json& json, std::string way) : json_(json), way_(std::move(way)) {
        if (!json.is_object()) fail("must be an object");
    }

    [[noreturn]] void fail(const std::string& what) const {
        throw Error(text("the information of the packed model: ", way_.empty() ? "it" : way_, " ", what));
    }
    bool has(const char* key) const { return json_.contains(key); }
    Part part(const char* key) const { return {json_.at(key), way_to(key)}; }

    void read(const char* key, bool& value) const {
        if (!has(key)) return;
        if (!json_.at(key).is_boolean()) fail(text("needs true or false as ", key));
        value = json_.at(key).get<bool>();
    }
    void read(const char* key, std::string& value) const {
        if (!has(key)) return;
        if (!json_.at(key).is_string()) fail(text("needs a text as ", key));
        value = json_.at(key).get<std::string>();
    }
    template <std::integral T>
    void read(const char* key, T& value, int64_t least = std::numeric_limits<T>::min()) const {
        if (!has(key)) return;
        auto& number = json_.at(key);
        constexpr auto most = uint64_t(std::numeric_limits<T>::max());
        bool fits = number.is_number_unsigned()
                        ? number.get<uint64_t>() <= most
                        : number.is_number_integer() && number.get<int64_t>() >= least;
        if (!fits || (number.is_number_unsigned() && least > 0 && number.get<uint64_t>() < uint64_t(least)))
            fail(text("needs a whole number from ", least, " to ", most, " as ", key));
        value = number.get<T>();
    }
    // One of the names.
    template <class T, size_t n>
    void read(const char* key, T& value, const std::array<std::pair<const char*, T>, n>& choices) const {
        if (!has(key)) return;
        std::string name;
        read(key, name);
        auto found = std::ranges::find(choices, name, [](auto& choice) { return std::string(choice.first); });
        if (found == choices.end())
            fail(text("has '", name, "' as ", key, "; there are ", mge::joined(std::views::keys(choices))));
        value = found->second;
    }
    // The objects of a list.
    std::vector<Part> list(const char* key) const {
        if (!has(key)) return {};
        auto& entries = json_.at(key);
        if (!entries.is_array()) fail(text("needs a list as ", key));
        std::vector<Part> parts;
        for (size_t i = 0; i < entries.size(); ++i)
            parts.emplace_back(entries[i], text(way_to(key), "[", i, "]"));
        return parts;
    }

private:
    std::string way_to(const char* key) const { return way_.empty() ? key : way_ + "." + key; }

    const Json& json_;
    std::string way_;
};

constexpr std::array<std::pair<const char*, LiteBackend>, 1> backends{{{"MGE", LITE_DEFAULT}}};
constexpr std::array<std::pair<const char*, LiteDeviceType>, 5> devices{{{"CPU", LITE_CPU},
                                                                         {"CUDA", LITE_CUDA},
                                                                         {"ATLAS", LITE_ATLAS},
                                                                         {"CAMBRICON", LITE_CAMBRICON},
                                                                         {"NPU", LITE_NPU}}};
constexpr std::array<std::pair<const char*, LiteIOType>, 2> io_types{
    {{"value", LITE_IO_VALUE}, {"shape", LITE_IO_SHAPE}}};
constexpr std::array<std::pair<const char*, LiteDataType>, 6> data_types{{{"float32", LITE_FLOAT},
                                                                          {"float16", LITE_HALF},
                                                                          {"int32", LITE_INT},
                                                                          {"int16", LITE_INT16},
                                                                          {"int8", LITE_INT8},
                                                                          {"uint8", LITE_UINT8}}};
constexpr const char* extents[] = {"dim0", "dim1", "dim2", "dim3"};

void read_options(const Part& part, Options& o) {
    for (auto [key, value] : {std::pair{"weight_preprocess", &o.weight_preprocess},
                              {"fuse_preprocess", &o.fuse_preprocess},
                              {"fake_next_exec", &o.fake_next_exec},
                              {"var_sanity_check_first_run", &o.var_sanity_check_first_run},
                              {"const_shape", &o.const_shape},
                              {"force_dynamic_alloc", &o.force_dynamic_alloc},
                              {"force_output_dynamic_alloc", &o.force_output_dynamic_alloc},
                              {"no_profiling_on_shape_change", &o.no_profiling_on_shape_change}})
        part.read(key, *value);
    part.read("jit_level", o.jit_level);
    part.read("comp_node_seq_record_level", o.comp_node_seq_record_level);
    part.read("graph_opt_level", o.graph_opt_level);
    part.read("async_exec_level", o.async_exec_level);
}

void read_device(const Part& part, Config& config, IsolatedConfig& isolated) {
    if (!part.has("type")) part.fail(text("needs a type: ", mge::joined(std::views::keys(devices))));
    part.read("type", config.device_type, devices);
    if (part.has("device_id")) {
        int32_t id = 0;
        part.read("device_id", id, -1);
        isolated["device_id"] = id;
    }
    if (part.has("number_threads")) {
        uint32_t threads = 0;
        part.read("number_threads", threads);
        isolated["number_threads"] = threads;
    }
    for (const char* key : {"enable_inplace_model", "use_tensorrt"}) {
        bool value = false;
        part.read(key, value);
        isolated[key] = value;
    }
}

void read_io(const Part& part, std::vector<IO>& list) {
    IO io;
    part.read("name", io.name);
    if (io.name.empty()) part.fail("needs a name");
    auto known = std::ranges::find(list, io.name, &IO::name);
    if (known != list.end()) io = *known;
    part.read("is_host", io.is_host);
    part.read("io_type", io.io_type, io_types);
    part.read("dtype", io.config_layout.data_type, data_types);
    if (part.has("shape")) {
        Part shape = part.part("shape");
        auto& layout = io.config_layout;
        for (layout.ndim = 0; layout.ndim < std::size(extents) && shape.has(extents[layout.ndim]);
             ++layout.ndim)
            shape.read(extents[layout.ndim], layout.shapes[layout.ndim], 1);
        as_lite_error([&] { mge::checked_numel("shape", spec_of(layout).shape); });
    }
    if (known == list.end())
        list.push_back(std::move(io));
    else
        *known = std::move(io);
}

void read_ios(const Part& part, const char* key, std::vector<IO>& list) {
    std::vector<std::string> names;
    for (auto& entry : part.list(key)) {
        std::string name;
        entry.read("name", name);
        if (std::ranges::find(names, name) != names.end()) entry.fail(text("repeats the name '", name, "'"));
        names.push_back(name);
        read_io(entry, list);
    }
}

void check_version(const std::string& version, const std::string& model) {
    std::array<int64_t, 3> numbers{};
    char end = 0;
    long long major = 0, minor = 0, patch = 0;
    if (std::sscanf(version.c_str(), "%lld.%lld.%lld%c", &major, &minor, &patch, &end) != 3)
        throw Error(text("the information of the packed model: its version is '", version,
                         "', not major.minor.patch"));
    numbers = {major, minor, patch};
    if (numbers > known_version)
        mge::log_warning(text("the information of the model '", model, "' is of version ", version,
                              ", newer than those this program knows (", known_version[0], ".",
                              known_version[1], ".", known_version[2], ")"));
}

// The built-in parser, "LITE_default".
bool parse_default(const void* data, size_t size, const std::string& model_name, Config& config,
                   NetworkIO& network_io, IsolatedConfig& isolated, std::string& extra_info) {
    auto info = mge::parse_packed_info({static_cast<const char*>(data), size}, model_name, model_name);
    if (!info.valid) return false;
    check_version(info.version, model_name);
    Json json = Json::parse(info.json);
    Part all(json, "");
    all.read("has_compression", config.has_compression);
    all.read("backend", config.backend, backends);
    if (all.has("device")) read_device(all.part("device"), config, isolated);
    if (all.has("options")) read_options(all.part("options"), config.options);
    if (all.has("IO")) {
        read_ios(all.part("IO"), "inputs", network_io.inputs);
        read_ios(all.part("IO"), "outputs", network_io.outputs);
    }
    extra_info = info.extra;
    return true;
}

struct Registry {
    std::mutex mutex;
    std::map<std::string, ParseInfoFunc> parsers{{mge::default_info_parser, parse_default}};
};

Registry& registry() {
    static Registry instance;
    return instance;
}

ParseInfoFunc find_parser(const ModelInfo& info) {
    auto& [mutex, parsers] = registry();
    std::lock_guard lock(mutex);
    if (auto found = parsers.find(info.parser); found != parsers.end()) return found->second;
    throw Error(text("'", info.label, "': its information is for the parser '", info.parser, "'; there are ",
                     mge::joined(std::views::keys(parsers)), ", and register_parse_info_func() adds others"));
}

// Programs may store numbers and bools in any type that can hold them.
template <class... T>
std::optional<int64_t> number_in(const LiteAny& any) {
    std::optional<int64_t> result;
    auto take = [&]<class U>(U value) {
        if (!result && any.try_cast(value)) result = int64_t(value);
    };
    (take(T{}), ...);
    return result;
}

std::optional<int64_t> find_number(const IsolatedConfig& isolated, std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
        auto found = isolated.find(key);
        if (found == isolated.end()) continue;
        auto number = number_in<bool, int32_t, uint32_t, int8_t, uint8_t, int64_t, uint64_t>(found->second);
        if (!number)
            throw Error(text("the parser of the packed model's information returned no number as ", key));
        return number;
    }
    return std::nullopt;
}

// The names in MegEngine's headers and those that its loader reads differ; both mean the same.
void apply_isolated(const IsolatedConfig& isolated, Configuration& configuration) {
    if (auto id = find_number(isolated, {"device_id"})) configuration.config.device_id = int(*id);
    if (auto n = find_number(isolated, {"number_threads", "nr_threads"}); n && *n > 1)
        configuration.threads = size_t(*n);
    if (auto on = find_number(isolated, {"enable_inplace_model", "is_inplace_mode", "is_inplace_model"}))
        configuration.is_in_place = *on != 0;
    if (find_number(isolated, {"use_tensorrt"}).value_or(0))
        throw Error(
            "the information of the packed model requests TensorRT (use_tensorrt), which this build does not "
            "have; ExtraConfig::disable_configure_by_model_info loads the model without it");
}

}  // namespace

bool register_parse_info_func(std::string info_type, const ParseInfoFunc& parse_func) {
    return as_lite_error([&] {
        if (info_type.empty() || !parse_func)
            throw Error("a parser of information needs a name and a function");
        auto& [mutex, parsers] = registry();
        std::lock_guard lock(mutex);
        if (!parsers.try_emplace(info_type, parse_func).second)
            throw Error(text("there is already a parser of information '", info_type, "'"));
        return true;
    });
}

void apply_model_info(const ModelInfo& info, Configuration& configuration, std::string& extra_info) {
    auto parse = find_parser(info);
    Configuration changed = configuration;
    IsolatedConfig isolated;
    std::string extra;
    try {
        if (!parse(info.text.data(), info.text.size(), info.model_name, changed.config, changed.io, isolated,
                   extra))
            return;
        apply_isolated(isolated, changed);
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const Error& e) {
        constexpr size_t prefix = std::string_view("Error: ").size();
        throw Error(text("'", info.label, "': ", e.what() + prefix));
    }
    configuration = std::move(changed);
    extra_info = std::move(extra);
}

}  // namespace lite
