// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/sort_keys.h"

namespace mge::cuda {

// Rows of `length` elements, where `inner` rows are interleaved, so that the elements of one are at that
// distance.
struct SortedRows {
    int64_t rows, length, inner;
    bool descending, nan_is_largest;
    // The request: the first `taken` elements of each row, or only the one at index `taken` - 1, with the
    // first position of its value.
    int64_t taken;
    bool last_only;
};

inline constexpr int64_t longest_short_row = 2048;

// For short rows.
void sort_short_rows(Stream stream, int type, const SortedRows& rows, const void* x, void* values,
                     int32_t* indices);

// `keys` has all but its bits: memory for keys of four bytes each, or of eight if the elements have as many.
void sort_long_rows(Stream stream, int type, const SortedRows& rows, const KeysToSort<void>& keys,
                    const void* x, void* values, int32_t* indices);

}  // namespace mge::cuda
