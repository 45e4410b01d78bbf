// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of unsigned keys in rising order, each with the number that it carries; equal keys stay in their
// order. In memory of the device.

#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

template <class Key>
struct KeysToSort {
    int64_t rows, length;
    int bits;  // keys are below 2^bits
    Key *keys, *other_keys;
    uint32_t *numbers, *other_numbers;
    uint32_t* counts;  // so many as radix_counts() says; by_rank() needs none
};
inline constexpr int64_t most_keys = int64_t(1) << 31;  // in a row

int64_t radix_counts(int64_t rows, int64_t length);

// What they give is their argument, with the sorted rows in `keys` and `numbers`: from its lowest eight bits
// to the highest ones, for rows of any length; and by counting for each key those before it, for short rows.
// Defined for 32 and 64 bits.
template <class Key>
KeysToSort<Key> sort_by_radix(Stream stream, KeysToSort<Key> x);
template <class Key>
KeysToSort<Key> sort_by_rank(Stream stream, KeysToSort<Key> x);

}  // namespace mge::cuda
