// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>

#include "libmge/device/device.h"
#include "libmge/kernel/algorithm.h"

namespace mge {

// Values that prepare() makes from a constant input. Unlike a vector's, their memory comes from the host's
// allocator, which counts it and keeps to the memory limit.
template <class T>
class PackedValues {
public:
    PackedValues() = default;
    // `count` zeros; throws MemoryError when the limit does not allow them.
    explicit PackedValues(int64_t count) : count_(size_t(count)) {
        if (!count_) return;
        storage_ = queue_of(host_device).allocate(count_ * sizeof(T));
        std::fill_n(data(), count_, T{});
    }

    T* data() { return storage_ ? static_cast<T*>(storage_->data) : nullptr; }
    const T* data() const { return storage_ ? static_cast<const T*>(storage_->data) : nullptr; }
    size_t size() const { return count_; }
    bool empty() const { return count_ == 0; }
    MemoryPiece piece() const { return {data(), count_ * sizeof(T)}; }

private:
    StorageRef storage_;
    size_t count_ = 0;
};

}  // namespace mge
