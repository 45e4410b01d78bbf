// SPDX-License-Identifier: Apache-2.0
#include "libmge/op/backend.h"

#include <dlfcn.h>

#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace mge {
namespace {

using KernelMap = std::unordered_map<const OpInfo*, KernelList>;

struct Tables {
    std::shared_mutex mutex;
    std::deque<KernelMap> by_kind;
};

KernelMap make_map(std::span<const KernelEntry> entries) {
    KernelMap map;
    for (auto& entry : entries)
        if (entry.kernels) map.emplace(entry.op, entry.kernels());
    return map;
}

Tables& tables() {
    static Tables all;
    static const bool cpu_added = (all.by_kind.push_back(make_map(cpu_kernel_table())), true);
    (void)cpu_added;
    return all;
}

}  // namespace

uint8_t add_backend(const Backend& backend) {
    if (backend.abi != backend_abi)
        throw DeviceError(text("backend '", backend.name, "' was built for interface ", backend.abi,
                               ", this library has ", backend_abi));
    auto& all = tables();
    std::unique_lock lock(all.mutex);
    uint8_t kind = add_device_kind(backend.name, backend.device_count, backend.open_device);
    MGE_CHECK(kind == all.by_kind.size());
    all.by_kind.push_back(make_map(backend.kernels));
    return kind;
}

uint8_t load_backend(const char* path, const char* symbol) {
    void* library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) throw DeviceError(text("cannot load backend: ", ::dlerror()));
    auto entry = reinterpret_cast<const Backend* (*)()>(::dlsym(library, symbol));
    if (!entry) throw DeviceError(text("'", path, "' is not a backend: it has no function ", symbol));
    return add_backend(*entry());
}

KernelList find_kernels(const OpInfo& op, DeviceId id) {
    auto& all = tables();
    std::shared_lock lock(all.mutex);
    auto& map = all.by_kind.at(id.kind);
    auto it = map.find(&op);
    if (it == map.end()) throw DeviceError(text("[", op.name, "] is not available on ", physical_name(id)));
    return it->second;
}

}  // namespace mge
