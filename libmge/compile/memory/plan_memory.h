// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the buffers of a program lie in its arena. Every buffer is alive from one step to another; two that
// are alive at the same step may not overlap.
//
// Blocks are placed one by one, the largest first, each into the tightest gap that its contemporaries leave.
// That is at most a few per cent above the lower bound (the largest sum of blocks alive at one step); a local
// search then moves blocks that stick out to the front of the order and places all again, until the bound is
// reached or the budget is spent. Where so many are alive together that one placement would take longer than
// that, each block is placed when it begins, among those alive then.

#include <cstddef>
#include <span>
#include <vector>

#include "libmge/base/api.h"

namespace mge {

struct MemoryBlock {
    size_t bytes = 0;
    int first = 0, last = 0;  // steps, both inclusive
    size_t place = 0;         // blocks of different places lie in different arenas
};

struct MemoryPlan {
    std::vector<size_t> offsets;  // in the order of the blocks, aligned to `arena_alignment`
    size_t bytes = 0;
    size_t lower_bound = 0;
};

inline constexpr size_t arena_alignment = 64;
constexpr size_t align_up(size_t bytes, size_t alignment = arena_alignment) {
    return (bytes + alignment - 1) / alignment * alignment;
}

// Of one place.
MGE_API MemoryPlan plan_memory(std::span<const MemoryBlock> blocks);

// By place, its plan; `offsets` are those of its own blocks, in their order.
std::vector<MemoryPlan> plan_places(std::span<const MemoryBlock> blocks, size_t places);

// InternalError when two blocks overlap in time and place, or the figures of the plan are wrong.
MGE_API void verify_plan(std::span<const MemoryBlock> blocks, const MemoryPlan& plan);

// The bytes alive at each step, each block rounded up to the alignment.
std::vector<size_t> live_bytes(std::span<const MemoryBlock> blocks);

}  // namespace mge
