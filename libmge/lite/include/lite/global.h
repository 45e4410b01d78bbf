// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that concern the whole process. They are thread-safe and throw lite::Error.

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

// Decrypts a model: gets the `size` encrypted bytes at `in` and the key, returns the bytes of the model. An
// exception becomes the error of loading.
using DecryptionFunc =
    std::function<std::vector<uint8_t>(const void* in, size_t size, const std::vector<uint8_t>& key)>;
// Parses the information of a packed model. Fills in the configuration, inputs and outputs, the device
// settings
// (`isolated_config`: device_id, number_threads, enable_inplace_model, use_tensorrt), and data for the
// application (`extra_info`). Returns false if the information is invalid.
using ParseInfoFunc = std::function<bool(
    const void* info, size_t size, const std::string& model_name, Config& config, NetworkIO& network_io,
    std::unordered_map<std::string, LiteAny>& isolated_config, std::string& extra_info)>;

// Adds a cipher that models may name. Returns true. Throws if the name is taken or the cipher refuses the
// length of the key.
LITE_API bool register_decryption_and_key(std::string decrypt_name, const DecryptionFunc& func,
                                          const std::vector<uint8_t>& key);
// Replaces the function or key of a cipher; an empty argument keeps the present one. Returns true. Throws if
// there is no such cipher.
LITE_API bool update_decryption_or_key(std::string decrypt_name, const DecryptionFunc& func,
                                       const std::vector<uint8_t>& key);
// Adds a parser for packed models whose information has this type. Returns true. Throws if the type has one.
LITE_API bool register_parse_info_func(std::string info_type, const ParseInfoFunc& parse_func);

// Returns the version of MGE.
LITE_API void get_version(int& major, int& minor, int& patch);
// Lines below the level are not written to standard error. The default is ERROR.
LITE_API void set_log_level(LiteLogLevel level);
LITE_API LiteLogLevel get_log_level();
// Returns the number of devices of a type; 0 if this build or machine has none.
LITE_API size_t get_device_count(LiteDeviceType device_type);
// Returns cached memory to the system. Returns true.
LITE_API bool try_coalesce_all_free_memory();
// Loads a library of own operators. Throws if it cannot be used.
LITE_API void set_loader_lib_path(const std::string& loader_path);
// Sets the file of measured times of algorithms. Networks that are loaded afterwards read and extend it. With
// `always_sync` each measurement is on the disk before the next one begins. A damaged file is not used, with
// a warning.
LITE_API void set_persistent_cache(const std::string& cache_path, bool always_sync = false);
// Writes the measured times to a file, which is empty if no cache was set.
LITE_API void dump_persistent_cache(const std::string& cache_path);
// Always throw: this build has no TensorRT.
LITE_API void set_tensor_rt_cache(std::string tensorrt_cache_path);
LITE_API void dump_tensor_rt_cache();

// A table of the process: the physical addresses of ranges of virtual memory on a device. `length` is in
// bytes. Overlapping ranges are an error.
LITE_API bool register_memory_pair(void* vir_ptr, void* phy_ptr, size_t length, LiteDeviceType device,
                                   LiteBackend backend = LiteBackend::LITE_DEFAULT);
LITE_API bool clear_memory_pair(void* vir_ptr, void* phy_ptr, LiteDeviceType device,
                                LiteBackend backend = LiteBackend::LITE_DEFAULT);
// Returns the physical address of a virtual address. Throws if it is in no registered range.
LITE_API void* lookup_physic_ptr(void* vir_ptr, LiteDeviceType device,
                                 LiteBackend backend = LiteBackend::LITE_DEFAULT);

}  // namespace lite
