// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "libmge/base/api.h"

namespace mge {

// Other work between two runs of a step, which determines how much of its operands is still in the caches: in
// a loop over one product its weights stay, in a large network they come from memory. Different
// neighbourhoods have different times, so it is a part of the cache key.
struct Neighbourhood {
    // A power of two; 0: so much that caches keep little.
    int64_t bytes = 0;

    MGE_API static Neighbourhood of_bytes(int64_t bytes);
    bool is_large() const { return bytes == 0; }
    // Behind Problem::key(): "" or " beside=128K".
    MGE_API std::string key() const;
};

}  // namespace mge
