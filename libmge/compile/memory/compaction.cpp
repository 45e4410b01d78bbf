// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/memory/compaction.h"

#include <utility>

#include "libmge/device/queue.h"

namespace mge {

void Compaction::add(Tensor& value) {
    if (!value.is_sole_owner() || value.impl()->offset != 0) return;
    add(value.impl()->storage, [&value, spec = value.spec(), device = value.device()](StorageRef storage) {
        value = storage ? Tensor(spec, std::move(storage), 0, device) : Tensor();
    });
}

void Compaction::add(const StorageRef& storage, std::function<void(StorageRef)> moved) {
    if (storage->users.load() != 1) return;
    Value value{storage->bytes, std::vector<char>(storage->bytes), std::move(moved)};
    if (value.bytes)
        queue_of(arenas_.place(place_)).copy_to_host(value.kept.data(), storage->data, value.bytes);
    values_.push_back(std::move(value));
}

bool Compaction::run(size_t needed) {
    if (values_.empty()) return false;
    size_t all = needed;
    for (auto& value : values_) {
        all += value.bytes;
        value.moved({});
    }
    arenas_.prepare_dynamic(place_, all);
    for (auto& value : values_) {
        StorageRef storage = arenas_.allocate_dynamic(place_, value.bytes);
        queue_of(arenas_.place(place_)).copy_from_host(storage->data, value.kept.data(), value.bytes);
        value.moved(std::move(storage));
    }
    return true;
}

}  // namespace mge
