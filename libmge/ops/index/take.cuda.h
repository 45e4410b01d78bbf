// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/index_check.h"
#include "libmge/kernel/cuda/sort_keys.h"
#include "libmge/ops/index/rows_at_places.cuda.h"

namespace mge::cuda {

// Index tensors that broadcast together: combination n names the place Σ place(index k at n) · stride k.
struct Combinations {
    struct Axis {
        const int32_t* index;
        Nest at;         // offsets of combinations in the index tensor
        int64_t stride;  // in places
        IndexCheck check;
    };
    int axes;
    Axis axis[max_axes];
};

// y, dense, from the rows of x at the places; zeros where an index is outside.
void take_rows(Stream stream, const Rows& rows, const Combinations& combinations, size_t element,
               const void* x, void* y);
// Keys of OrderedPlaces in the order of the indices, and the number of each.
void find_places(Stream stream, int64_t count, const Combinations& combinations, uint64_t* keys,
                 uint32_t* numbers);

}  // namespace mge::cuda
