// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <variant>

#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/cuda/copy/strided_copy.h"
#include "libmge/kernel/strided_copy.h"

namespace mge::cuda {

// A StridedCopy on a GPU: computed once, and run repeatedly. One launch, or none for an empty copy.
class CopyPlan {
public:
    explicit CopyPlan(const StridedCopy& copy);
    void run(const Launch& launch, const void* source, void* target) const;

private:
    struct Nothing {};
    struct Run {
        size_t bytes;
    };
    struct Way {
        int unit = 1;                                  // in bytes
        int64_t source_offset = 0, target_offset = 0;  // in bytes
        std::variant<Nothing, Run, CopyPacks, CopyTiles> method;
    };
    static Way find_way(const StridedCopy& copy, bool is_aligned);

    // For addresses that are multiples of 16 bytes, and for others.
    Way aligned_, unaligned_;
};

}  // namespace mge::cuda
