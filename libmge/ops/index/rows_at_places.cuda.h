// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of a tensor at given indices: read, replaced or added to. Take, Embedding and related operators use
// this; Gather and Scatter use it with rows of one element.

#include "libmge/kernel/cuda/copy/nest.h"

namespace mge::cuda {

// outer × count × inner elements, row (o, n) at o · outer_stride + place(n) · place_stride of the tensor. In
// elements, or in units of several where a row may be moved in such (in_units).
struct Rows {
    int64_t outer, outer_stride, count, place_stride, inner;
    Nest inner_nest;

    int64_t numel() const { return outer * count * inner; }
};

// Bytes of the largest unit, 1 … 16, in which rows and addresses can be read or written.
int unit_bytes(const Rows& rows, size_t element, const void* x, const void* y);
Rows in_units(Rows rows, int64_t elements);

// Positions in ascending order, equal ones in the order of the indices: key 0 is out of range, position p has
// key p + 1, and `numbers` contains the index of each.
struct OrderedPlaces {
    const uint64_t* keys;
    const uint32_t* numbers;
};

// y with the rows at the places replaced: of several for one place the last stays.
void set_rows(Stream stream, const Rows& rows, OrderedPlaces places, const Nest& value_nest, size_t element,
              const void* value, void* y);
// y with all rows for a place added to it, in their order.
void add_rows(Stream stream, int type, const Rows& rows, OrderedPlaces places, const Nest& value_nest,
              const void* value, void* y);

}  // namespace mge::cuda
