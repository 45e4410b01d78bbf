// SPDX-License-Identifier: Apache-2.0
#pragma once
// Constants in the layouts that primitives want. Equal values in an equal layout are one piece of memory,
// whoever asks for them: programs of several shapes, the steps of an unrolled recurrence, threads that each
// load the same model. The values themselves are the key, because passes make them anew for each program.

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

// `data` lies as `given` says; what comes back holds it as `used` says. `threads` threads pack it. `notes`
// records the copy; null: nobody does.
std::shared_ptr<const PackedWeight> pack_weight(const MemoryDesc& given, const MemoryDesc& used,
                                                const void* data, int threads, PackedCopyNotes* notes);

}  // namespace mge::onednn
