// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "libmge/graph/graph.h"
#include "libmge/kernel/select.h"

namespace mge {

// The storage of a step's operand. A context converts it to an address once.
struct Location {
    enum class Kind : uint8_t { absent, arena, block, input, output, constant, dynamic };
    Kind kind = Kind::absent;
    // arena: byte offset; block: index of a block without a plan; input, output: index of the port's memory;
    // dynamic: value id
    size_t at = 0;
    const void* constant = nullptr;
    size_t place = 0;   // arena: index into the program's places
    size_t offset = 0;  // offset of a view in bytes
};

struct CompiledStep {
    NodeId node = -1;
    bool is_dynamic = false;
    size_t place = 0;  // device index
    Choice choice;
    std::vector<Location> inputs, outputs;
    Location workspace;
    bool is_idle = false;  // nothing to compute
};

// Returns the index of a place in a list, or the list's size.
size_t index_of(DeviceId place, std::span<const DeviceId> places);
// True if no work is in flight when a run returns.
bool are_on_host(std::span<const DeviceId> places);

}  // namespace mge
