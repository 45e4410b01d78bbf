// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/copy/nest.h"
#include "libmge/kernel/cuda/index_check.h"

namespace mge::cuda {

// One index per element. The index tensor is lines × length, the length being that along the axis.
struct IndexedElements {
    const int32_t* index;
    IndexCheck check;
    int64_t axis_stride;  // stride of x
    Nest at;              // offsets of the index tensor's elements in x, except for the axis
    // The lines, and an element of each of them to the next one.
    int64_t lines, length;
    Nest line_in_index, line_in_x;
    int64_t step;

    int64_t numel() const { return lines * length; }
};

void gather_elements(Stream stream, const IndexedElements& elements, size_t bytes, const void* x, void* y);
// Keys of OrderedPlaces in the order of the indices, and the number of each.
void find_places(Stream stream, const IndexedElements& elements, uint64_t* keys, uint32_t* numbers);
// y with elements of the source set or added: a thread goes along each line, since only indices of one line
// can meet.
void set_lines(Stream stream, const IndexedElements& elements, size_t bytes, const void* source, void* y);
void add_lines(Stream stream, int type, const IndexedElements& elements, const void* source, void* y);

}  // namespace mge::cuda
