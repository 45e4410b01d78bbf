// SPDX-License-Identifier: Apache-2.0
#include "apps/triton_backend/model_config.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace mge::triton {

namespace {

using Json = nlohmann::json;

Json parsed(const std::string& text) {
    Json config = Json::parse(text, nullptr, false);
    if (!config.is_object()) throw std::runtime_error("the model's configuration is not JSON");
    return config;
}

std::string parameter(const Json& config, const char* name) {
    const Json::json_pointer place("/parameters/" + std::string(name) + "/string_value");
    return config.contains(place) ? config[place].get<std::string>() : "";
}

int number(const std::string& name, const std::string& text) {
    if (text.empty()) return 0;
    if (text.size() > 6 || text.find_first_not_of("0123456789") != std::string::npos) {
        throw std::runtime_error("the parameter " + name + " is not a number: " + text);
    }
    return std::stoi(text);
}

Json tensors(const std::vector<TensorInfo>& infos, bool has_batch) {
    Json list = Json::array();
    for (const TensorInfo& info : infos) {
        const std::vector<int64_t> dims(info.shape.begin() + (has_batch ? 1 : 0), info.shape.end());
        list.push_back({{"name", info.name}, {"data_type", std::string("TYPE_") + name_of(info.type)}});
        // Triton's configurations have no tensors of rank 0 behind the batch.
        if (dims.empty()) {
            list.back()["dims"] = {1};
            list.back()["reshape"] = {{"shape", Json::array()}};
        } else {
            list.back()["dims"] = dims;
        }
    }
    return list;
}

bool is_missing(const Json& config, const char* name) {
    return !config.contains(name) || config[name].empty();
}

}  // namespace

ModelSettings settings_of(const std::string& text) {
    const Json config = parsed(text);
    ModelSettings settings;
    settings.file_name = config.value("default_model_filename", "");
    settings.key_file = parameter(config, "key_file");
    settings.fast_run_cache = parameter(config, "fast_run_cache");
    settings.threads = number("threads", parameter(config, "threads"));
    settings.max_batch = config.value("max_batch_size", 0);
    settings.has_batching = settings.max_batch > 0 || parameter(config, "batching") == "off";
    int instances = 0;
    for (const Json& group : config.value("instance_group", Json::array()))
        instances += group.value("count", 1);
    settings.instances = std::max(instances, 1);
    return settings;
}

std::string completed(const std::string& text, const std::vector<TensorInfo>& inputs,
                      const std::vector<TensorInfo>& outputs, int max_batch) {
    Json config = parsed(text);
    config["max_batch_size"] = max_batch;
    if (is_missing(config, "input")) config["input"] = tensors(inputs, max_batch > 0);
    if (is_missing(config, "output")) config["output"] = tensors(outputs, max_batch > 0);
    if (max_batch > 1 && !config.contains("dynamic_batching") && !config.contains("sequence_batching")) {
        config["dynamic_batching"] = Json::object();
    }
    return config.dump();
}

}  // namespace mge::triton
