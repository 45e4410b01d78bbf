// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the memory of a program goes: over its steps, and in the process as the system sees it.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libmge/compile/program.h"

namespace mge {

// One piece of the arena, as long as it is in use.
struct MemoryBlockUse {
    std::string name;             // of the values that share it: the first of them
    std::string owner;            // the operator that makes it, with its name
    std::string kind;             // "activation" or "workspace"
    std::vector<ValueId> values;  // none for a workspace
    size_t offset = 0, bytes = 0;
    int first = 0, last = 0;  // steps, both inclusive
    int overwrites = -1;      // index of the block whose memory it goes on in (its last reader's result)
};

struct MemoryTimeline {
    std::vector<MemoryBlockUse> blocks;  // of the arena, by time
    std::vector<size_t> live;            // by step: bytes in use
    size_t arena = 0, peak = 0;
    int peak_step = -1;  // where most is in use; −1: no steps
    size_t weights = 0, packed_weights = 0, inputs_outputs = 0;
};
MGE_API MemoryTimeline memory_timeline(const Program& program);

// A picture: steps from left to right, addresses from bottom to top, a curve of the bytes in use above.
MGE_API std::string to_svg(const MemoryTimeline& timeline, const Program& program);

// Bytes of the graph's constants that do not lie in a mapped file: they take memory as long as the graph is
// there, whatever a program needs of them.
MGE_API size_t held_weights(const Graph& graph);
// What a context of the program takes, weights included; `held`: the graph it was made of, when that stays.
MGE_API size_t predicted_bytes(const Program& program, const Graph* held = nullptr);
// MemoryError, before anything is allocated, when that is above the limit: it names the step with the most
// memory in use.
MGE_API void check_memory_limit(const Program& program, size_t limit, const Graph* held = nullptr);

// Memory of this process as the system sees it.
struct ProcessMemory {
    size_t anonymous = 0;  // resident, of no file
    size_t file = 0;       // resident, of mapped files
    size_t peak = 0;       // of both together, since the start
};
MGE_API ProcessMemory process_memory();
// Gives free memory back to the system first, so that what is seen is in use.
MGE_API ProcessMemory settled_process_memory();
// Of these pieces of memory; pages that they share with others count whole. nullopt where the system does not
// tell.
MGE_API std::optional<size_t> resident_bytes(std::vector<std::span<const std::byte>> pieces);
// The graph's constants, each piece of memory once; with `mapped`, those in mapped files, else the others.
MGE_API std::vector<std::span<const std::byte>> constant_pieces(const Graph& graph, bool mapped);

}  // namespace mge
