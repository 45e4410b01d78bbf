// SPDX-License-Identifier: Apache-2.0
#include "libmge/eager/written_elsewhere.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "libmge/base/threads/at_fork.h"

namespace mge {
namespace {

struct Table {
    std::mutex mutex;
    std::unordered_map<const Storage*, int> writers;  // number of other users of the memory
    std::atomic<size_t> size{0};
};

Table& table() {
    static auto& all = *std::make_unique<Table>().release();
    return all;
}
const HeldAcrossFork writers_at_fork([]() -> auto& { return table().mutex; });

}  // namespace

WrittenElsewhere::WrittenElsewhere(const Storage* storage) : storage_(storage) {
    if (!storage_) return;
    {
        auto& all = table();
        std::lock_guard lock(all.mutex);
        ++all.writers[storage_];
        all.size.store(all.writers.size(), std::memory_order_relaxed);
    }
    keep_values_for_tapes(storage_);
}

WrittenElsewhere::~WrittenElsewhere() {
    if (!storage_) return;
    auto& all = table();
    std::lock_guard lock(all.mutex);
    if (auto known = all.writers.find(storage_); --known->second == 0) all.writers.erase(known);
    all.size.store(all.writers.size(), std::memory_order_relaxed);
}

bool is_any_written_elsewhere() { return table().size.load(std::memory_order_relaxed) > 0; }

bool is_written_elsewhere(const Tensor& tensor) {
    if (!tensor || tensor.is_symbolic() || !tensor.impl()->storage) return false;
    auto& all = table();
    std::lock_guard lock(all.mutex);
    return all.writers.contains(tensor.impl()->storage.get());
}

}  // namespace mge
