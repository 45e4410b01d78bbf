// SPDX-License-Identifier: Apache-2.0
// Metadata of a model's inputs and outputs.
#include <algorithm>
#include <list>
#include <mutex>

#include "libmge/lite/c/call.h"
#include "libmge/lite/c/structs.h"

using namespace lite;
using namespace lite::c;

namespace {

// As documented in the header.
constexpr size_t kept_infos = 1024;

struct CachedInfo {
    const void* source;
    std::unique_ptr<IOArrays> arrays;
};

// The returned arrays live until the next query for the same address, as in MegEngine, or until many other
// queries: callers do not free them.
LiteNetworkIO keep(const void* source, NetworkIO info) {
    static auto* kept = std::make_unique<std::list<CachedInfo>>().release();  // the newest first
    static std::mutex mutex;
    auto arrays = std::make_unique<IOArrays>(std::move(info));
    std::lock_guard lock(mutex);
    kept->push_front({source, std::move(arrays)});
    auto is_same = [&](const CachedInfo& info) { return info.source == source; };
    if (auto old = std::find_if(std::next(kept->begin()), kept->end(), is_same); old != kept->end())
        kept->erase(old);
    else if (kept->size() > kept_infos)
        kept->pop_back();
    return kept->front().arrays->arrays();
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
