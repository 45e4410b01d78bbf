// SPDX-License-Identifier: Apache-2.0
#pragma once
// Remembers fingerprints of constants. A graph that is compiled again for other shapes finds its packed
// constants by fingerprint. Reading all weights again would take longer than the rest.

#include <optional>
#include <vector>

#include "libmge/base/hash.h"
#include "libmge/tensor/tensor.h"

namespace mge {

// Fingerprints of these constants are remembered while the object lives, which shares their memory. All
// functions are thread-safe. A child of fork() remembers nothing of its parent's.
class MGE_API ConstantPrints {
public:
    explicit ConstantPrints(Tensors constants = {});
    ~ConstantPrints();
    ConstantPrints(const ConstantPrints&) = delete;
    ConstantPrints& operator=(const ConstantPrints&) = delete;

    // The noted fingerprint of so many bytes at the beginning of a constant; nullopt if there is none.
    static std::optional<Fingerprint> find(const void* constant, size_t bytes);
    // Is ignored unless `constant` is the memory of a constant of a living object.
    static void note(const void* constant, size_t bytes, const Fingerprint& print);

private:
    Tensors constants_;
};

}  // namespace mge
