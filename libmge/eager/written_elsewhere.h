// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tracks memory that others may write: other libraries through DLPack, other processes, and objects of this
// process that keep the memory. Tapes hold copies of values there that their gradient rules will read. So a
// write between forward and backward pass does not change the gradient.

#include <utility>

#include "libmge/tensor/tensor.h"

namespace mge {

// Marks a storage as writable by others for the life of this object. The storage may be freed earlier. Tapes
// of the calling thread copy the values that they hold there.
class MGE_API WrittenElsewhere {
public:
    WrittenElsewhere() = default;
    explicit WrittenElsewhere(const Storage* storage);
    WrittenElsewhere(WrittenElsewhere&& other) noexcept : storage_(std::exchange(other.storage_, nullptr)) {}
    WrittenElsewhere& operator=(WrittenElsewhere&& other) noexcept {
        std::swap(storage_, other.storage_);
        return *this;
    }
    ~WrittenElsewhere();

private:
    const Storage* storage_ = nullptr;
};

// True if any memory is marked: one relaxed load.
bool is_any_written_elsewhere();
bool is_written_elsewhere(const Tensor& tensor);

// Copies the values that tapes of this thread hold in the storage. Defined in tape.cpp.
void keep_values_for_tapes(const Storage* storage);

}  // namespace mge
