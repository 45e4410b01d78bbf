// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "libmge/kernel/algorithm.h"
#include "libmge/tensor/tensor.h"

namespace mge {

// The place where an algorithm runs.
struct LaunchSite {
    Queue& queue;
    int threads = 1;
    OutputAllocator* allocator = nullptr;  // set only if shapes are determined at run time
    void* workspace = nullptr;             // null: taken from the queue
    const ProgramRun* run = nullptr;       // run of the program that contains this step; null: an eager
                                           // operator
};

inline constexpr size_t few_operands = 8;  // most operators have no more: their addresses need no memory

// launch() with more operands, or with a workspace that is taken from the queue.
MGE_API void launch_with_memory(const Algorithm& algorithm, const Prepared& prepared, const LaunchSite& site,
                                std::span<const Tensor> inputs, std::span<const Tensor> outputs);

inline void write_addresses(std::span<const Tensor> tensors, auto* to) {
    for (auto& tensor : tensors) *to++ = tensor ? tensor.address() : nullptr;
}

// Runs a prepared algorithm on tensors: the one place that turns them into addresses and takes a workspace
// from the queue. Null tensors are absent inputs, and outputs that the algorithm allocates itself.
inline void launch(const Algorithm& algorithm, const Prepared& prepared, const LaunchSite& site,
                   std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
    bool needs_memory = prepared.workspace() && !site.workspace;
    if (inputs.size() > few_operands || outputs.size() > few_operands || needs_memory) [[unlikely]]
        return launch_with_memory(algorithm, prepared, site, inputs, outputs);
    const void* in[few_operands];
    void* out[few_operands];
    write_addresses(inputs, in);
    write_addresses(outputs, out);
    algorithm.run(prepared, {{in, inputs.size()},
                             {out, outputs.size()},
                             site.workspace,
                             site.threads,
                             site.allocator,
                             &site.queue,
                             site.run});
}

}  // namespace mge
