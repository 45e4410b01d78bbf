// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the memory of a program goes: over its steps, and in the process as the system sees it.

#include <cstddef>
#include <optional>
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

// What a context of the program takes, its weights included; `of_file`: weights that lie in a mapped file.
MGE_API size_t predicted_bytes(const Program& program);
// MemoryError, before anything is allocated, when that is above the limit: it names the step with the most
// memory in use.
MGE_API void check_memory_limit(const Program& program, size_t limit);

// Memory of this process as the system sees it.
struct ProcessMemory {
    size_t anonymous = 0;  // resident, of no file
    size_t file = 0;       // resident, of mapped files
    size_t peak = 0;       // of both together, since the start
};
MGE_API ProcessMemory process_memory();
// Gives free memory back to the system first, so that what is seen is in use.
MGE_API ProcessMemory settled_process_memory();
// Resident bytes of one mapped file; nullopt where the system does not tell.
MGE_API std::optional<size_t> resident_bytes_of_file(const std::string& path);

}  // namespace mge
