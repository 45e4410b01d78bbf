// SPDX-License-Identifier: Apache-2.0
#pragma once
// How operators that change rows at places find out which of them meet: the keys of all places are sorted.
// Then nothing depends on the order in which threads come.

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/cuda/sort_keys.h"
#include "libmge/ops/index/rows_at_places.cuda.h"

namespace mge::ops {

struct PlaceOrder {
    enum class Method : uint8_t { rank, radix };

    Method method = Method::rank;
    int64_t count = 0;
    int bits = 0;  // number of bits of a key

    static PlaceOrder of(Method method, int64_t count, int64_t places);
    // For an Algorithm's `supports`.
    static Support supports(Method method, int64_t count);
    size_t workspace() const;
    // Memory for the keys and their numbers, which the caller writes.
    cuda::KeysToSort<uint64_t> keys_in(void* workspace) const;
    cuda::OrderedPlaces sort(cuda::Stream stream, const cuda::KeysToSort<uint64_t>& keys) const;
};

// Unchanged elements come from the first input, unless the output reuses its memory.
inline void copy_first_input(const Launch& launch, size_t bytes) {
    if (launch.inputs[0] != launch.outputs[0] && bytes)
        launch.queue->copy(launch.outputs[0], launch.inputs[0], bytes);
}

}  // namespace mge::ops
