// SPDX-License-Identifier: Apache-2.0
#pragma once
// Positions of a program's buffers in its arena. Every buffer is alive from one step to another. Buffers
// alive at the same step must not overlap.
//
// Blocks are placed one by one, largest first, each into the tightest gap between its contemporaries. That is
// at most a few per cent above the lower bound (the largest sum of blocks alive at one step). A local search
// then moves protruding blocks to the front of the order and places all again, until it reaches the bound or
// its budget. If so many are alive together that one placement would exceed the budget, each block is placed
// when its life begins.

#include <cstddef>
#include <span>
#include <vector>

#include "libmge/base/api.h"
#include "libmge/base/numbers/ceil_div.h"

namespace mge {

struct MemoryBlock {
    size_t bytes = 0;
    int first = 0, last = 0;  // steps, both inclusive
    size_t place = 0;         // places have separate arenas
};

struct MemoryPlan {
    std::vector<size_t> offsets;  // by block, aligned to `arena_alignment`
    size_t bytes = 0;
    size_t lower_bound = 0;
};

inline constexpr size_t arena_alignment = 64;
constexpr size_t align_up(size_t bytes, size_t alignment = arena_alignment) {
    return round_up(bytes, alignment);
}

// Plans the memory of one place.
MGE_API MemoryPlan plan_memory(std::span<const MemoryBlock> blocks);

// Returns a plan per place; its `offsets` are those of the place's blocks, in order.
std::vector<MemoryPlan> plan_places(std::span<const MemoryBlock> blocks, size_t places);

// Throws InternalError if two blocks overlap in time and place, or if the plan's figures are wrong.
MGE_API void verify_plan(std::span<const MemoryBlock> blocks, const MemoryPlan& plan);

// Returns the bytes alive at each step, with each block rounded up to the alignment.
std::vector<size_t> live_bytes(std::span<const MemoryBlock> blocks);

}  // namespace mge
