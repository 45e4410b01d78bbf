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
template <class T>
void sort_short_rows(Stream stream, const SortedRows& rows, const void* x, void* values, int32_t* indices);

// Unsigned integers that order the elements of a type.
template <class T>
struct SortKey {
    using Type = uint32_t;
};
template <>
struct SortKey<int64_t> {
    using Type = uint64_t;
};
// `keys` has all but its bits.
template <class T>
void sort_long_rows(Stream stream, const SortedRows& rows, KeysToSort<typename SortKey<T>::Type> keys,
                    const void* x, void* values, int32_t* indices);

}  // namespace mge::cuda
