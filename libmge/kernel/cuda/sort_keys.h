// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sorts rows of unsigned keys in ascending order, each with its payload number; stable. In device memory.

#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

template <class Key>
struct KeysToSort {
    int64_t rows, length;
    int bits;  // keys are below 2^bits
    Key *keys, *other_keys;
    uint32_t *numbers, *other_numbers;
    uint32_t* counts;  // size: radix_counts(); by_rank() does not need it
};
inline constexpr int64_t most_keys = int64_t(1) << 31;  // in a row

int64_t radix_counts(int64_t rows, int64_t length);

// Return their argument, with the sorted rows in `keys` and `numbers`: radix sort from the lowest eight bits
// up, for rows of any length; and counting for each key those before it, for short rows. Defined for 32 and
// 64 bits.
template <class Key>
KeysToSort<Key> sort_by_radix(Stream stream, KeysToSort<Key> x);
template <class Key>
KeysToSort<Key> sort_by_rank(Stream stream, KeysToSort<Key> x);

}  // namespace mge::cuda
