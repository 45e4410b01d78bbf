// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "libmge/kernel/algorithm.h"
#include "libmge/tensor/tensor.h"

namespace mge {

// Where an algorithm runs.
struct LaunchSite {
    Queue& queue;
    int threads = 1;
    OutputAllocator* allocator = nullptr;  // set only where shapes are found out while running
    void* workspace = nullptr;             // null: taken from the queue
};

// Runs a prepared algorithm on tensors: the one place that turns them into addresses and takes a workspace
// from the queue. Null tensors are absent inputs, and outputs that the algorithm allocates itself.
MGE_API void launch(const Algorithm& algorithm, const Prepared& prepared, const LaunchSite& site,
                    std::span<const Tensor> inputs, std::span<const Tensor> outputs);

}  // namespace mge
