// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory that others may write: other libraries that have it by DLPack, other processes, and this one through
// an object that keeps its memory. A tape holds copies of the values in such memory that its gradient rules
// will read, so a write between a forward and a backward pass leaves the gradient as it is.

#include <utility>

#include "libmge/tensor/tensor.h"

namespace mge {

// Says for its life that others may write to a storage, which need not live as long. Tapes of the calling
// thread that hold values there get copies.
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

// Whether there is such memory at all: one relaxed load.
bool is_any_written_elsewhere();
bool is_written_elsewhere(const Tensor& tensor);

// Defined by tape.cpp: what the constructor asks of the tapes of this thread.
void keep_values_for_tapes(const Storage* storage);

}  // namespace mge
