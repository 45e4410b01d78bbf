// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/onednn/packed_weight.h"

#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/files/file.h"
#include "libmge/base/hash.h"
#include "libmge/base/joined.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/base/threads/per_process.h"
#include "libmge/device/device.h"
#include "libmge/kernel/constant_prints.h"
#include "libmge/kernel/cpu/onednn/reorder.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/packed_copies.h"
#include "libmge/kernel/packed_weight_cache.h"

namespace mge::onednn {
namespace {

// Larger constants are read piece by piece. At most one piece of a mapped file is in memory then: packing a
// layer that is most of the network takes its packed copy and no second one.
constexpr size_t piece_bytes = size_t(16) << 20;

// Smaller ones are packed by the caller alone. A woken team stays awake for a while, and kernels
// are generated meanwhile for the next packing and for the reader of the weight. Each changes page
// permissions, which interrupts every processor that runs a thread of the process: some 15 us each.
constexpr size_t worth_a_team = size_t(1) << 18;

std::span<const std::byte> bytes_at(const void* data, size_t first, size_t count) {
    return {static_cast<const std::byte*>(data) + first, count};
}

// For a large constant, the fingerprint of the fingerprints of its parts, which the threads share; the same
// for any number of threads.
Fingerprint fingerprint_of(const void* data, size_t size, int threads) {
    constexpr size_t part_bytes = worth_a_team;
    if (size <= part_bytes) return fingerprint(data, size);
    std::vector<Fingerprint> parts(ceil_div(size, part_bytes));
    constexpr size_t parts_of_piece = piece_bytes / part_bytes;
    for (size_t first = 0; first < parts.size(); first += parts_of_piece) {
        size_t count = std::min(parts_of_piece, parts.size() - first);
        par_for(threads, int64_t(count), 1, [&](int64_t begin, int64_t end) {
            for (size_t i = first + size_t(begin); i < first + size_t(end); ++i)
                parts[i] = fingerprint(static_cast<const std::byte*>(data) + i * part_bytes,
                                       std::min(part_bytes, size - i * part_bytes));
        });
        size_t begin = first * part_bytes;
        if (size > piece_bytes) release_pages(bytes_at(data, begin, std::min(piece_bytes, size - begin)));
    }
    return fingerprint(parts.data(), parts.size() * sizeof(Fingerprint));
}

struct Entry {
    MemoryDesc given, used;
    std::weak_ptr<const PackedWeight> weight;
};

// The packed weights by the fingerprint of the values.
struct Table {
    std::mutex mutex;
    std::multimap<Fingerprint, Entry> entries;

    std::shared_ptr<const PackedWeight> find(const Fingerprint& key, const MemoryDesc& given,
                                             const MemoryDesc& used) {
        for (auto [it, end] = entries.equal_range(key); it != end; ++it)
            if (it->second.given == given && it->second.used == used)
                if (auto weight = it->second.weight.lock()) return weight;
        return nullptr;
    }
};

Table& table() {
    // A child made by fork() shares neither its parent's later packing nor its lock.
    static PerProcess<Table> tables;
    return tables.get();
}

struct PartOfReorder {
    Part from, to;
};

// Along the axis that is outermost in the source, so that each reads one stretch of it; empty where it cannot
// be cut.
std::vector<PartOfReorder> parts_of_reorder(const MemoryDesc& from, const MemoryDesc& to) {
    auto source = from.blocking(), target = to.blocking();
    if (!source || source->blocks || !target) return {};
    std::span strides(source->strides.data(), size_t(from.rank()));
    auto axis = int(std::ranges::max_element(strides) - strides.begin());
    int64_t block = 1;
    for (int i = 0; i < target->blocks; ++i)
        if (target->block_axes[i] == axis) block *= target->block_sizes[i];
    auto bytes_of_block = strides[axis] * block * int64_t(dnnl_data_type_size(from.type()));
    int64_t step = std::max<int64_t>(int64_t(piece_bytes) / bytes_of_block, 1) * block;
    std::vector<PartOfReorder> parts;
    for (int64_t begin = 0; begin < from.dims()[axis]; begin += step) {
        int64_t count = std::min(step, from.dims()[axis] - begin);
        auto read = part_of(from, axis, begin, count), written = part_of(to, axis, begin, count);
        if (!read || !written) return {};
        parts.push_back({*read, *written});
    }
    return parts;
}

void pack(const MemoryDesc& from, const void* source, const MemoryDesc& to, void* target, int threads) {
    std::vector<PartOfReorder> parts;
    if (from.bytes() > piece_bytes && is_mapped(source)) parts = parts_of_reorder(from, to);
    for (auto& part : parts) {
        auto read = bytes_at(source, part.from.bytes, part.from.desc.bytes());
        reorder(part.from.desc, read.data(), part.to.desc, static_cast<std::byte*>(target) + part.to.bytes,
                threads);
        release_pages(read);
    }
    if (parts.empty()) reorder(from, source, to, target, threads);
}

// The layouts of a constant and of its copy; nullopt: they have no name.
std::optional<std::string> layouts_of(const MemoryDesc& given, const MemoryDesc& used) {
    auto from = given.text(), to = used.text();
    return from && to ? std::optional(*from + *to) : std::nullopt;
}

// Made ahead of time.
std::shared_ptr<const PackedWeight> find_made(const MemoryDesc& given, const MemoryDesc& used,
                                              const void* data) {
    auto storage = find_packed_copy(data, [&](std::string_view layouts, size_t size) {
        return size == used.bytes() && layouts == layouts_of(given, used);
    });
    return storage ? std::make_shared<const PackedWeight>(std::move(storage)) : nullptr;
}

void note(PackedCopyNotes& notes, const MemoryDesc& given, const MemoryDesc& used, const void* data,
          const std::shared_ptr<const PackedWeight>& weight) {
    if (auto layouts = layouts_of(given, used))
        notes.add(weight, {data, std::move(*layouts), weight->data(), used.bytes()});
}

// The key of a copy in files: values, layouts, and the library that defines the layouts.
Fingerprint copy_key(const Fingerprint& values, const std::string& layouts) {
    auto& version = *dnnl_version();
    std::string key(reinterpret_cast<const char*>(&values), sizeof values);
    key += layouts;
    key += text("oneDNN ", version.major, '.', version.minor, '.', version.patch, ' ', version.hash);
    return fingerprint(key.data(), key.size());
}

// Returns "128x128x3x3 f32 for oneDNN 2.6.3".
std::string purpose_of(const MemoryDesc& given) {
    auto dims = given.dims();
    auto& version = *dnnl_version();
    return text(joined(std::vector(dims.begin(), dims.end()), "x"), ' ', dnnl_dt2str(given.type()),
                " for oneDNN ", version.major, '.', version.minor, '.', version.patch);
}

std::shared_ptr<const PackedWeight> find_or_pack(const MemoryDesc& given, const MemoryDesc& used,
                                                 const void* data, int threads, PackedWeightCache* cache) {
    if (auto made = find_made(given, used, data)) return made;
    Table& known = table();
    auto find = [&](const Fingerprint& key) {
        std::lock_guard lock(known.mutex);
        return known.find(key, given, used);
    };
    if (auto noted = ConstantPrints::find(data, given.bytes()))
        if (auto weight = find(*noted)) return weight;
    Fingerprint key = fingerprint_of(data, given.bytes(), threads);
    ConstantPrints::note(data, given.bytes(), key);
    if (auto weight = find(key)) return weight;
    // Without the lock: others pack their own meanwhile.
    auto layouts = cache ? layouts_of(given, used) : std::nullopt;
    if (!layouts) cache = nullptr;
    const Fingerprint name = cache ? copy_key(key, *layouts) : Fingerprint{};
    StorageRef memory = cache ? cache->find(name, used.bytes()) : StorageRef{};
    const bool is_new = !memory;
    if (is_new) memory = queue_of(host_device).allocate(used.bytes());
    auto packed = std::make_shared<const PackedWeight>(std::move(memory));
    if (is_new) {
        pack(given, data, used, packed->data(), used.bytes() < worth_a_team ? 1 : threads);
        if (cache) cache->add(name, packed, packed->data(), used.bytes(), purpose_of(given));
    }
    std::lock_guard lock(known.mutex);
    if (auto weight = known.find(key, given, used)) return weight;
    std::erase_if(known.entries, [](auto& entry) { return entry.second.weight.expired(); });
    known.entries.emplace(key, Entry{given, used, packed});
    return packed;
}

}  // namespace

std::shared_ptr<const PackedWeight> pack_weight(const MemoryDesc& given, const MemoryDesc& used,
                                                const void* data, int threads, const Packing& packing) {
    auto weight = find_or_pack(given, used, data, threads, packing.cache);
    if (packing.notes) note(*packing.notes, given, used, data, weight);
    return weight;
}

}  // namespace mge::onednn
