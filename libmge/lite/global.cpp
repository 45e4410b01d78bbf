// SPDX-License-Identifier: Apache-2.0
#include "lite/global.h"

#include <cstdio>

#include "libmge/base/log.h"
#include "libmge/base/version.h"
#include "libmge/device/kinds.h"
#include "libmge/lite/as_lite_error.h"
#include "libmge/lite/default_log_level.h"
#include "libmge/lite/device.h"
#include "libmge/lite/memory_pairs.h"
#include "libmge/lite/persistent_cache.h"
#include "libmge/op/operator_library.h"

namespace lite {
namespace {

constexpr const char* no_tensorrt = "this build has no TensorRT, so there is no cache of TensorRT engines";

MemoryPairs& memory_pairs() {
    static MemoryPairs instance;
    return instance;
}

}  // namespace

void use_default_log_level() { mge::set_default_log_level(mge::LogLevel::error); }

void get_version(int& major, int& minor, int& patch) {
    if (std::sscanf(mge::version, "%d.%d.%d", &major, &minor, &patch) != 3)
        throw Error(mge::text("the version '", mge::version, "' is not three numbers"));
}

void set_log_level(LiteLogLevel level) {
    if (level < DEBUG || level > ERROR)
        throw Error(mge::text("there is no log level ", int(level), "; they are 0 (DEBUG) to 3 (ERROR)"));
    mge::set_log_level(mge::LogLevel(level));
}

LiteLogLevel get_log_level() {
    use_default_log_level();
    return LiteLogLevel(mge::log_level());
}

size_t get_device_count(LiteDeviceType device_type) {
    return as_lite_error([&] { return device_count(device_type); });
}

bool try_coalesce_all_free_memory() {
    return as_lite_error([] {
        mge::release_cached_memory();
        return true;
    });
}

void set_loader_lib_path(const std::string& loader_path) {
    as_lite_error([&] { mge::load_operators(loader_path); });
}

void set_persistent_cache(const std::string& cache_path, bool always_sync) {
    use_default_log_level();
    set_persistent_cache_file(cache_path, always_sync);
}

void dump_persistent_cache(const std::string& cache_path) {
    use_default_log_level();
    write_persistent_cache(cache_path);
}

void set_tensor_rt_cache(std::string) { throw Error(no_tensorrt); }
void dump_tensor_rt_cache() { throw Error(no_tensorrt); }

bool register_memory_pair(void* vir_ptr, void* phy_ptr, size_t length, LiteDeviceType device,
                          LiteBackend backend) {
    return as_lite_error([&] {
        require_backend(backend);
        memory_pairs().add(vir_ptr, phy_ptr, length, device);
        return true;
    });
}

bool clear_memory_pair(void* vir_ptr, void* phy_ptr, LiteDeviceType device, LiteBackend backend) {
    return as_lite_error([&] {
        require_backend(backend);
        memory_pairs().remove(vir_ptr, phy_ptr, device);
        return true;
    });
}

void* lookup_physic_ptr(void* vir_ptr, LiteDeviceType device, LiteBackend backend) {
    return as_lite_error([&] {
        require_backend(backend);
        return memory_pairs().physical(vir_ptr, device);
    });
}

}  // namespace lite
