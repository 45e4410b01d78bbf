// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "libmge/graph/graph.h"
#include "libmge/kernel/select.h"

namespace mge {

// Where an operand of a step is stored. A context turns it into an address once.
struct Location {
    enum class Kind : uint8_t { absent, arena, block, input, output, constant, dynamic };
    Kind kind = Kind::absent;
    // arena: byte offset; block: index of a block without a plan; input, output: index of the port's memory;
    // dynamic: value id
    size_t at = 0;
    const void* constant = nullptr;
    size_t place = 0;   // arena: which of the program's places
    size_t offset = 0;  // bytes from the beginning of that to a view
};

struct CompiledStep {
    NodeId node = -1;
    bool is_dynamic = false;
    size_t place = 0;  // where it runs
    Choice choice;
    std::vector<Location> inputs, outputs;
    Location workspace;
    bool is_idle = false;  // there is nothing to compute
};

// The index of a place in a program's list; the size of the list when it is not there.
size_t index_of(DeviceId place, std::span<const DeviceId> places);
// Nothing is in flight when a run returns.
bool are_on_host(std::span<const DeviceId> places);

}  // namespace mge
