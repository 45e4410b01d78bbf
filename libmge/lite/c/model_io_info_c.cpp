// SPDX-License-Identifier: Apache-2.0
// What a model says of its inputs and outputs.
#include <map>
#include <mutex>

#include "libmge/lite/c/call.h"
#include "libmge/lite/c/structs.h"

using namespace lite;
using namespace lite::c;

namespace {

// The arrays that callers were given, by the address of what they asked about. They are as many as there were
// different addresses.
LiteNetworkIO keep(const void* asked_about, NetworkIO info) {
    static auto* kept = std::make_unique<std::map<const void*, std::unique_ptr<IOArrays>>>().release();
    static std::mutex mutex;
    auto arrays = std::make_unique<IOArrays>(std::move(info));
    std::lock_guard lock(mutex);
    auto& place = (*kept)[asked_about];
    place = std::move(arrays);
    return place->arrays();
}

}  // namespace

int LITE_get_model_io_info_by_path(const char* model_path, const LiteConfig config, LiteNetworkIO* ios) {
    return run(__func__, [&](const Call& call) {
        std::string path = call.pointer(model_path, "model_path");
        auto& result = call.given(ios, "ios");
        result = keep(model_path, Runtime::get_model_io_info(path, config_of(config)));
    });
}

int LITE_get_model_io_info_by_memory(const void* model_mem, size_t size, const LiteConfig config,
                                     LiteNetworkIO* ios) {
    return run(__func__, [&](const Call& call) {
        call.pointer(model_mem, "model_mem");
        auto& result = call.given(ios, "ios");
        result = keep(model_mem, Runtime::get_model_io_info(model_mem, size, config_of(config)));
    });
}
