// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "libmge/base/api.h"

namespace mge {

// What else runs between two runs of a step, which decides what caches still hold of its operands: in a loop
// over one product its weights stay, in a large network they come from memory. Times of different
// neighbourhoods are different times, so it is a part of the key that they are cached under.
struct Neighbourhood {
    // A power of two; 0: so much that caches hold little, whatever it is exactly.
    int64_t bytes = 0;

    MGE_API static Neighbourhood of_bytes(int64_t bytes);
    bool is_large() const { return bytes == 0; }
    // Behind Problem::key(): "" or " beside=128K".
    MGE_API std::string key() const;
};

}  // namespace mge
