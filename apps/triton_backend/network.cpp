// SPDX-License-Identifier: Apache-2.0
#include "apps/triton_backend/network.h"

#include <algorithm>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string>

#include "lite-c/global_c.h"

namespace mge::triton {

namespace {

constexpr const char* Cipher = "aes-256-gcm";

struct ElementType {
    size_t size;
    const char* name;
};
ElementType element_type(LiteDataType type) {
    switch (type) {
        case LITE_FLOAT:
            return {4, "FP32"};
        case LITE_HALF:
            return {2, "FP16"};
        case LITE_INT:
            return {4, "INT32"};
        case LITE_INT16:
            return {2, "INT16"};
        case LITE_INT8:
            return {1, "INT8"};
        case LITE_UINT8:
            return {1, "UINT8"};
        case LITE_UINT:
            return {4, "UINT32"};
        case LITE_UINT16:
            return {2, "UINT16"};
        case LITE_INT64:
            return {8, "INT64"};
        case LITE_BOOL:
            return {1, "BOOL"};
        case LITE_DOUBLE:
            return {8, "FP64"};
    }
    throw std::runtime_error("Triton has no data type for number " + std::to_string(type) + " of Lite");
}

void check(int failed) {
    if (failed) throw std::runtime_error(LITE_get_last_error());
}

std::vector<uint8_t> read_key(const std::string& path) {
    std::ifstream file(path);
    std::string digits;
    file >> digits;
    std::vector<uint8_t> key;
    const bool is_hexadecimal = digits.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
    if (digits.size() == 64 && is_hexadecimal) {
        for (size_t i = 0; i < digits.size(); i += 2) {
            key.push_back(static_cast<uint8_t>(std::stoi(digits.substr(i, 2), nullptr, 16)));
        }
        return key;
    }
    throw std::runtime_error(path + " is not a key of 64 hexadecimal digits");
}

// Lite keeps one key and one cache for the process, and the server loads several models at once.
std::mutex loading;

void give_key(const std::string& path) {
    const std::vector<uint8_t> key = read_key(path);
    check(LITE_update_decryption_or_key(Cipher, nullptr, key.data(), key.size()));
}

LiteNetwork make_network(const LoadOptions& options) {
    LiteConfig config = *default_config();
    if (!options.key_file.empty()) config.bare_model_cryption_name = Cipher;
    LiteNetwork network = nullptr;
    check(LITE_make_network_config(&network, config));
    return network;
}

LiteLayout layout_of(const TensorInfo& info, const std::vector<int64_t>& shape) {
    if (shape.size() > LAYOUT_MAX_DIM)
        throw std::runtime_error("input " + info.name + " has too many dimensions");
    LiteLayout layout = default_layout;
    layout.data_type = info.type;
    layout.ndim = std::max<size_t>(shape.size(), 1);
    layout.shapes[0] = 1;
    for (size_t i = 0; i < shape.size(); ++i) layout.shapes[i] = static_cast<size_t>(shape[i]);
    return layout;
}

std::vector<int64_t> shape_of(const LiteLayout& layout) {
    return {layout.shapes, layout.shapes + layout.ndim};
}

}  // namespace

size_t size_of(LiteDataType type) { return element_type(type).size; }
const char* name_of(LiteDataType type) { return element_type(type).name; }

size_t bytes_of(LiteDataType type, const std::vector<int64_t>& shape) {
    size_t bytes = size_of(type);
    for (const int64_t extent : shape) bytes *= static_cast<size_t>(extent);
    return bytes;
}

void Network::Destroy::operator()(void* network) const { LITE_destroy_network(network); }

Network::Network(const LoadOptions& options) : network_(make_network(options)) {
    if (options.threads > 0)
        check(LITE_set_cpu_threads_number(network_.get(), static_cast<size_t>(options.threads)));
    const std::lock_guard lock(loading);
    if (!options.key_file.empty()) give_key(options.key_file);
    if (!options.fast_run_cache.empty()) check(LITE_set_persistent_cache(options.fast_run_cache.c_str(), 1));
    check(LITE_load_model_from_path(network_.get(), options.path.c_str()));
    if (!options.fast_run_cache.empty())
        check(LITE_set_network_algo_policy(network_.get(), LITE_ALGO_PROFILE));
    describe();
}

Network::Network(const Network& source, const LoadOptions& options) : network_(make_network(options)) {
    if (options.threads > 0)
        check(LITE_set_cpu_threads_number(network_.get(), static_cast<size_t>(options.threads)));
    check(LITE_shared_weight_with_network(network_.get(), source.network_.get()));
    if (!options.fast_run_cache.empty())
        check(LITE_set_network_algo_policy(network_.get(), LITE_ALGO_PROFILE));
    describe();
}

void Network::describe() {
    const auto each = [this](auto names, LiteTensorPhase phase, std::vector<TensorInfo>& infos,
                             std::vector<LiteTensor>& tensors) {
        size_t count = 0;
        check(names(network_.get(), &count, nullptr));
        std::vector<const char*> found(count);
        check(names(network_.get(), nullptr, found.data()));
        for (const char* name : found) {
            LiteTensor tensor = nullptr;
            check(LITE_get_io_tensor(network_.get(), name, phase, &tensor));
            LiteLayout layout;
            check(LITE_get_tensor_layout(tensor, &layout));
            const std::vector<int64_t> shape = shape_of(layout);
            infos.push_back({name, layout.data_type, shape, shape});
            for (int64_t& size : infos.back().sizes) size = std::max<int64_t>(size, 1);
            tensors.push_back(tensor);
        }
    };
    each(LITE_get_all_input_name, LITE_INPUT, inputs_, input_tensors_);
    each(LITE_get_all_output_name, LITE_OUTPUT, outputs_, output_tensors_);
    for (size_t i = 0; i < inputs_.size(); ++i) {
        for (size_t axis = 0; axis < inputs_[i].shape.size(); ++axis) {
            const char* dimension = nullptr;
            check(LITE_get_input_dimension_name(network_.get(), i, axis, &dimension));
            if (dimension) inputs_[i].shape[axis] = -1;
        }
    }
}

std::byte* Network::input(size_t index, const std::vector<int64_t>& shape) {
    check(LITE_set_tensor_layout(input_tensors_[index], layout_of(inputs_[index], shape)));
    void* memory = nullptr;
    check(LITE_get_tensor_memory(input_tensors_[index], &memory));
    return static_cast<std::byte*>(memory);
}

void Network::run() {
    check(LITE_forward(network_.get()));
    check(LITE_wait(network_.get()));
}

std::vector<int64_t> Network::output_shape(size_t index) const {
    LiteLayout layout;
    check(LITE_get_tensor_layout(output_tensors_[index], &layout));
    return shape_of(layout);
}

const std::byte* Network::output(size_t index) const {
    void* memory = nullptr;
    check(LITE_get_tensor_memory(output_tensors_[index], &memory));
    return static_cast<const std::byte*>(memory);
}

}  // namespace mge::triton
