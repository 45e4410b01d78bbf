// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/sort_keys.h"

namespace mge::cuda {

// Slices of `length` elements each, of some type.
struct Slices {
    const void* x;
    int64_t count, length;
};

// The numbers of the slices in rising order of their elements, equal ones in their order, in `numbers` of
// what is given back; and of each place there whether its slice differs from the one before.
KeysToSort<uint64_t> order_slices(Stream stream, int type, const Slices& slices, KeysToSort<uint64_t> keys,
                                  bool* begins);

// Groups of equal slices: of each the place in the order where it begins, and its first slice. `in_order`:
// the first slices of all groups in the order wanted, null where that is the groups'.
struct SliceGroups {
    int64_t count, groups;
    const uint32_t* numbers;
    const int32_t* begin;
    const uint32_t* first_slice;
    const int32_t* in_order;
};
// begins[i]: whether slice i is the first one of a group.
void mark_first_slices(Stream stream, const SliceGroups& groups, bool* begins);
// Writes, for groups in the requested order, the first position of each, the group of every slice, and the
// sizes.
void write_groups(Stream stream, const SliceGroups& groups, int64_t* first, int64_t* inverse,
                  int64_t* counts);
// The slices of those numbers, of so many bytes an element.
void take_slices(Stream stream, const Slices& slices, int element, const int64_t* numbers, int64_t count,
                 void* values);

}  // namespace mge::cuda
