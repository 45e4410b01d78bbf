// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "libmge/tensor/index_error.h"

namespace mge {

// Whether indices count from the end when they are negative.
enum class NegativeIndices { count_from_end, refused };

// UserError (class IndexError) that names the first index outside of [-extent, extent), or [0, extent) if
// negative indices are not allowed. Kernels call it before they read at these indices.
inline void check_indices(std::string_view op, int axis, const int32_t* indices, int64_t count,
                          int64_t extent, NegativeIndices negative = NegativeIndices::count_from_end) {
    int64_t lowest = negative == NegativeIndices::count_from_end ? -extent : 0;
    int32_t least = 0, greatest = -1;  // within any bounds
    for (int64_t i = 0; i < count; ++i) {
        least = std::min(least, indices[i]);
        greatest = std::max(greatest, indices[i]);
    }
    if (least >= lowest && greatest < extent) [[likely]]
        return;
    for (int64_t i = 0; i < count; ++i)
        if (indices[i] < lowest || indices[i] >= extent) throw_index(op, axis, indices[i], extent);
}

inline int64_t from_end(int64_t index, int64_t extent) { return index < 0 ? index + extent : index; }

}  // namespace mge
