// SPDX-License-Identifier: Apache-2.0
#include "libmge/op/backend.h"

#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "libmge/base/files/plugin.h"

namespace mge {
namespace {

using KernelMap = std::unordered_map<const OpInfo*, KernelList>;

// Append-only. Reads take no lock, because a child of fork() could inherit it locked; the lock orders
// writers.
struct Tables {
    std::array<KernelMap, 256> by_kind;
    // Kernels added later, by kind: the newest of immutable maps. Old maps stay, because they may still be
    // read.
    std::array<std::atomic<const KernelMap*>, 256> added{};
    std::deque<KernelMap> every_added;
    std::atomic<size_t> count{1};
    std::mutex adding;

    Tables();
};

KernelMap make_map(std::span<const KernelEntry> entries) {
    KernelMap map;
    for (auto& entry : entries)
        if (entry.kernels) map.emplace(entry.op, entry.kernels());
    return map;
}

Tables::Tables() { by_kind[0] = make_map(cpu_kernel_table()); }

Tables& tables() {
    static Tables all;
    return all;
}

}  // namespace

uint8_t add_backend(const Backend& backend) {
    if (backend.abi != backend_abi)
        throw DeviceError(text("backend '", backend.name, "' was built for interface ", backend.abi,
                               ", this library has ", backend_abi));
    auto& all = tables();
    std::lock_guard lock(all.adding);
    uint8_t kind = add_device_kind(backend.name, backend.device_count, backend.open_device,
                                   backend.why_no_device ? backend.why_no_device : "");
    MGE_CHECK(kind == all.count.load(std::memory_order_relaxed));
    all.by_kind[kind] = make_map(backend.kernels);
    all.count.store(size_t(kind) + 1, std::memory_order_release);
    return kind;
}

uint8_t load_backend(const char* path, const char* symbol) {
    auto [entry, why_not] = open_plugin(path, symbol);
    if (!entry) throw DeviceError(text("cannot load backend: ", why_not));
    return add_backend(*reinterpret_cast<const Backend* (*)()>(entry)());
}

void add_kernels(uint8_t kind, std::span<const KernelEntry> entries) {
    auto& all = tables();
    std::lock_guard lock(all.adding);
    auto* before = all.added[kind].load(std::memory_order_relaxed);
    KernelMap map = make_map(entries);
    if (before) map.insert(before->begin(), before->end());
    all.added[kind].store(&all.every_added.emplace_back(std::move(map)), std::memory_order_release);
}

KernelList find_kernels(const OpInfo& op, DeviceId id) {
    auto& all = tables();
    MGE_CHECK(id.kind < all.count.load(std::memory_order_acquire), "kind of device ", int(id.kind));
    uint8_t kind = op.traits.of_every_device ? host_device.kind : id.kind;
    if (auto it = all.by_kind[kind].find(&op); it != all.by_kind[kind].end()) return it->second;
    if (auto* added = all.added[kind].load(std::memory_order_acquire))
        if (auto it = added->find(&op); it != added->end()) return it->second;
    throw DeviceError(text("[", op.name, "] is not available on ", physical_name(id)));
}

}  // namespace mge
