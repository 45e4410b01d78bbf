// SPDX-License-Identifier: Apache-2.0
#pragma once
// Constants in the layouts of primitives. Equal values in equal layouts share one piece of memory: for
// programs of several shapes, the steps of an unrolled recurrence, and threads that load the same model. The
// values themselves are the key, because passes copy them for each program.

#include <memory>

#include "libmge/kernel/cpu/onednn/memory_desc.h"
#include "libmge/kernel/packed_copies.h"
#include "libmge/tensor/storage.h"

namespace mge::onednn {

class PackedWeight {
public:
    explicit PackedWeight(StorageRef storage) : storage_(std::move(storage)) {}
    void* data() const { return storage_->data; }

private:
    StorageRef storage_;
};

// `data` has the layout `given`; the result has the layout `used`. Packs with `threads` threads, unless an
// earlier process left the copy in the cache.
std::shared_ptr<const PackedWeight> pack_weight(const MemoryDesc& given, const MemoryDesc& used,
                                                const void* data, int threads, const Packing& packing);

}  // namespace mge::onednn
