// SPDX-License-Identifier: Apache-2.0
#include "lite-c/global_c.h"

#include "libmge/base/text.h"
#include "libmge/lite/c/call.h"
#include "libmge/lite/c/structs.h"
#include "libmge/lite/decryption.h"
#include "lite/global.h"

using namespace lite;
using namespace lite::c;

namespace {

void require_size(const char* what, size_t size) {
    if (size > PTRDIFF_MAX)
        throw Error(mge::text(what, ' ', size, " bytes, more than the address space holds"));
}

std::vector<uint8_t> key_of(const uint8_t* data, size_t size) {
    require_size("the key has", size);
    return {data, data + size};
}

// The function is called for the size first.
DecryptionFunc decryption_of(const LiteDecryptionFunc function) {
    if (!function) return {};
    return [function](const void* in, size_t size, const std::vector<uint8_t>& key) {
        size_t capacity = function(in, size, key.data(), key.size(), nullptr);
        require_size("the decryption function requests space for", capacity);
        std::vector<uint8_t> out(capacity);
        if (out.empty()) return out;
        size_t written = function(in, size, key.data(), key.size(), out.data());
        if (written != out.size())
            throw Error(mge::text("the decryption function has written ", written,
                                  " bytes after requesting space for ", out.size()));
        return out;
    };
}

// Records the device settings of a C function, under the names that the loader uses.
void note_device(int device_id, size_t threads, int is_in_place, int uses_tensorrt, const Config& before,
                 std::unordered_map<std::string, LiteAny>& isolated) {
    if (device_id != before.device_id) isolated["device_id"] = LiteAny(int32_t{device_id});
    if (threads != 0) {
        if (threads > UINT32_MAX)
            throw Error(mge::text("the parser of the information requests ", threads, " threads"));
        isolated["number_threads"] = LiteAny(static_cast<uint32_t>(threads));
    }
    if (is_in_place) isolated["enable_inplace_model"] = LiteAny(true);
    if (uses_tensorrt) isolated["use_tensorrt"] = LiteAny(true);
}

ParseInfoFunc parser_of(const LiteParseInfoFunc function) {
    return [function](const void* info, size_t size, const std::string& model_name, Config& config,
                      NetworkIO& network_io, std::unordered_map<std::string, LiteAny>& isolated,
                      std::string&) {
        IOArrays arrays(network_io);
        LiteConfig config_in_c = config_of(config);
        LiteNetworkIO io_in_c = arrays.arrays();
        int device_id = config.device_id, is_in_place = 0, uses_tensorrt = 0;
        size_t threads = 0;
        int answer = function(info, size, model_name.c_str(), &config_in_c, &io_in_c, &device_id, &threads,
                              &is_in_place, &uses_tensorrt);
        if (answer != 0)
            throw Error(mge::text("the parser of the information of '", model_name, "' returned ", answer));
        note_device(device_id, threads, is_in_place, uses_tensorrt, config, isolated);
        Config parsed = config_of(config_in_c);
        NetworkIO io = io_of(io_in_c);
        config = std::move(parsed);
        network_io = std::move(io);
        return true;
    };
}

}  // namespace

int LITE_get_version(int* major, int* minor, int* patch) {
    return run(__func__, [&](const Call& call) {
        auto &first = call.given(major, "major"), &second = call.given(minor, "minor"),
             &third = call.given(patch, "patch");
        get_version(first, second, third);
    });
}

int LITE_get_device_count(LiteDeviceType device_type, size_t* count) {
    return run(__func__, [&](const Call& call) {
        auto& result = call.given(count, "count");
        result = get_device_count(device_type);
    });
}

int LITE_try_coalesce_all_free_memory() {
    return run(__func__, [&](const Call&) { try_coalesce_all_free_memory(); });
}

int LITE_register_decryption_and_key(const char* decrypt_name, const LiteDecryptionFunc func,
                                     const uint8_t* key_data, size_t key_size) {
    return run(__func__, [&](const Call& call) {
        call.pointer(decrypt_name, "decrypt_name");
        call.pointer(func, "func");
        call.pointer(key_data, "key_data");
        register_decryption_and_key(decrypt_name, decryption_of(func), key_of(key_data, key_size));
    });
}

int LITE_update_decryption_or_key(const char* decrypt_name, const LiteDecryptionFunc func,
                                  const uint8_t* key_data, size_t key_size) {
    return run(__func__, [&](const Call& call) {
        call.pointer(decrypt_name, "decrypt_name");
        std::optional<std::vector<uint8_t>> key;
        if (key_data) key = key_of(key_data, key_size);
        update_decryption(decrypt_name, decryption_of(func), key);
    });
}

int LITE_register_parse_info_func(const char* info_type, const LiteParseInfoFunc func) {
    return run(__func__, [&](const Call& call) {
        call.pointer(info_type, "info_type");
        register_parse_info_func(info_type, parser_of(call.pointer(func, "func")));
    });
}

int LITE_set_loader_lib_path(const char* loader_path) {
    return run(__func__,
               [&](const Call& call) { set_loader_lib_path(call.pointer(loader_path, "loader_path")); });
}

int LITE_set_persistent_cache(const char* cache_path, int always_sync) {
    return run(__func__, [&](const Call& call) {
        set_persistent_cache(call.pointer(cache_path, "cache_path"), always_sync != 0);
    });
}

int LITE_dump_persistent_cache(const char* cache_path) {
    return run(__func__,
               [&](const Call& call) { dump_persistent_cache(call.pointer(cache_path, "cache_path")); });
}

int LITE_set_tensor_rt_cache(const char* tensorrt_cache_path) {
    return run(__func__, [&](const Call& call) {
        set_tensor_rt_cache(call.pointer(tensorrt_cache_path, "tensorrt_cache_path"));
    });
}

int LITE_dump_tensor_rt_cache() {
    return run(__func__, [&](const Call&) { dump_tensor_rt_cache(); });
}

int LITE_set_log_level(LiteLogLevel level) {
    return run(__func__, [&](const Call&) { set_log_level(level); });
}

int LITE_get_log_level(LiteLogLevel* level) {
    return run(__func__, [&](const Call& call) {
        auto& result = call.given(level, "level");
        result = get_log_level();
    });
}

int LITE_register_memory_pair(void* vir_ptr, void* phy_ptr, size_t length, LiteDeviceType device,
                              LiteBackend backend) {
    return run(__func__, [&](const Call& call) {
        call.pointer(vir_ptr, "vir_ptr");
        register_memory_pair(vir_ptr, call.pointer(phy_ptr, "phy_ptr"), length, device, backend);
    });
}

int LITE_clear_memory_pair(void* vir_ptr, void* phy_ptr, LiteDeviceType device, LiteBackend backend) {
    return run(__func__, [&](const Call& call) {
        call.pointer(vir_ptr, "vir_ptr");
        clear_memory_pair(vir_ptr, call.pointer(phy_ptr, "phy_ptr"), device, backend);
    });
}

int LITE_lookup_physic_ptr(void* vir_ptr, void** phy_ptr, LiteDeviceType device, LiteBackend backend) {
    return run(__func__, [&](const Call& call) {
        call.pointer(vir_ptr, "vir_ptr");
        auto& result = call.given(phy_ptr, "phy_ptr");
        result = lookup_physic_ptr(vir_ptr, device, backend);
    });
}
