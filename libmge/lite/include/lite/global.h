// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of the process instead of one network. Errors are lite::Error.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "lite/common_enum_c.h"
#include "lite/macro.h"
#include "lite/network.h"

namespace lite {

// Encrypted bytes, their number and the key, to the bytes of the model.
using DecryptionFunc =
    std::function<std::vector<uint8_t>(const void* in, size_t size, const std::vector<uint8_t>& key)>;
// Reads the information of a packed model: configuration, inputs and outputs, device settings (device_id,
// number_threads, enable_inplace_model, use_tensorrt), and data of the application.
using ParseInfoFunc = std::function<bool(
    const void* info, size_t size, const std::string& model_name, Config& config, NetworkIO& network_io,
    std::unordered_map<std::string, LiteAny>& isolated_config, std::string& extra_info)>;

// A cipher that models may name. An error when the name is taken, or the key has a length that the cipher
// refuses.
LITE_API bool register_decryption_and_key(std::string decrypt_name, const DecryptionFunc& func,
                                          const std::vector<uint8_t>& key);
// Another function or key for a name that exists; an empty one stays as it is.
LITE_API bool update_decryption_or_key(std::string decrypt_name, const DecryptionFunc& func,
                                       const std::vector<uint8_t>& key);
// An error when there is a function for the type.
LITE_API bool register_parse_info_func(std::string info_type, const ParseInfoFunc& parse_func);

LITE_API void get_version(int& major, int& minor, int& patch);
// ERROR unless it was set.
LITE_API void set_log_level(LiteLogLevel level);
LITE_API LiteLogLevel get_log_level();
LITE_API size_t get_device_count(LiteDeviceType device_type);
// Memory that is cached and not in use goes back to the system.
LITE_API bool try_coalesce_all_free_memory();
// Opens a library of operators.
LITE_API void set_loader_lib_path(const std::string& loader_path);
// A file with the measured times of algorithms, read and extended by all networks that are loaded from now
// on. Always_sync: each measurement is in the file before the next one begins.
LITE_API void set_persistent_cache(const std::string& cache_path, bool always_sync = false);
// Writes the measured times; without a cache, an empty one.
LITE_API void dump_persistent_cache(const std::string& cache_path);
// Errors: this build has no TensorRT.
LITE_API void set_tensor_rt_cache(std::string tensorrt_cache_path);
LITE_API void dump_tensor_rt_cache();

// A table of the process: which physical address a piece of virtual memory has on a device.
LITE_API bool register_memory_pair(void* vir_ptr, void* phy_ptr, size_t length, LiteDeviceType device,
                                   LiteBackend backend = LiteBackend::LITE_DEFAULT);
LITE_API bool clear_memory_pair(void* vir_ptr, void* phy_ptr, LiteDeviceType device,
                                LiteBackend backend = LiteBackend::LITE_DEFAULT);
// The physical address for one inside a registered range; an error if there is no such range.
LITE_API void* lookup_physic_ptr(void* vir_ptr, LiteDeviceType device,
                                 LiteBackend backend = LiteBackend::LITE_DEFAULT);

}  // namespace lite
