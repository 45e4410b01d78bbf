// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/onednn/packed_weight.h"

#include <map>
#include <mutex>

#include "libmge/base/hash.h"
#include "libmge/base/per_process.h"
#include "libmge/device/device.h"
#include "libmge/kernel/cpu/onednn/primitive.h"

namespace mge::onednn {
namespace {

struct Entry {
    MemoryDesc given, used;
    std::weak_ptr<const PackedWeight> weight;
};

// What is packed now, by the fingerprint of the values.
struct Table {
    std::mutex mutex;
    std::multimap<Fingerprint, Entry> entries;

    std::shared_ptr<const PackedWeight> find(const Fingerprint& key, const MemoryDesc& given,
                                             const MemoryDesc& used) {
        for (auto [it, end] = entries.equal_range(key); it != end; ++it)
            if (is_equal(it->second.given, given) && is_equal(it->second.used, used))
                if (auto weight = it->second.weight.lock()) return weight;
        return nullptr;
    }
};

Table& table() {
    // A child made by fork() shares nothing with its parent's later packing, nor its lock.
    static PerProcess<Table> tables([](Table*) { return std::make_unique<Table>(); });
    return tables.get();
}

void reorder(const MemoryDesc& from, const void* source, const MemoryDesc& to, void* target) {
    dnnl_memory_t made;
    check(dnnl_memory_create(&made, &from, engine(), const_cast<void*>(source)), "dnnl_memory_create");
    Memory in(made);
    check(dnnl_memory_create(&made, &to, engine(), target), "dnnl_memory_create");
    Memory out(made);
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, in.get()}, {DNNL_ARG_TO, out.get()}};
    Primitive primitive = make_reorder(from, to);
    check(dnnl_primitive_execute(primitive.get(), stream(), 2, arguments), "dnnl_primitive_execute");
}

}  // namespace

std::shared_ptr<const PackedWeight> pack_weight(const MemoryDesc& given, const MemoryDesc& used,
                                                const void* data) {
    Fingerprint key = fingerprint(data, bytes(given));
    Table& known = table();
    {
        std::lock_guard lock(known.mutex);
        if (auto weight = known.find(key, given, used)) return weight;
    }
    // Without the lock: others pack their own meanwhile.
    auto packed = std::make_shared<const PackedWeight>(queue_of(host_device).allocate(bytes(used)));
    reorder(given, data, used, packed->data());
    std::lock_guard lock(known.mutex);
    if (auto weight = known.find(key, given, used)) return weight;
    std::erase_if(known.entries, [](auto& entry) { return entry.second.weight.expired(); });
    known.entries.emplace(key, Entry{given, used, packed});
    return packed;
}

}  // namespace mge::onednn
