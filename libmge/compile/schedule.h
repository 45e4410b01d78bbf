// SPDX-License-Identifier: Apache-2.0
#pragma once
// The order of steps, and which values share memory. A node is a step unless it is a view: then its outputs
// share its input's buffer. A node is dynamic if one of its shapes is known only at run time: it determines
// shapes, memory and algorithm then, and its outputs have no buffers in the plan. If an input of the graph
// has an unknown shape (compile/open_graph.h), known shapes hold at all sizes: they have buffers even then.

#include <vector>

#include "libmge/compile/options/options.h"
#include "libmge/graph/graph.h"

namespace mge {

struct Buffer {
    enum class Kind : uint8_t { arena, input, output, constant };
    Kind kind = Kind::arena;
    size_t bytes = 0;
    int first = 0, last = 0;  // steps at which it is alive
    DeviceId device;
    int port = -1;  // index of the graph input
    ValueId constant = no_value;
};

struct Step {
    NodeId node = -1;
    bool is_dynamic = false;
    DeviceId device;  // the device that runs it
};

// An output that may reuse the memory of an input, if that is released: its step is the last to read it.
struct TakeOver {
    ValueId output;
    int port;  // index of the graph input
};

struct Schedule {
    std::vector<Step> steps;
    std::vector<Buffer> buffers;
    std::vector<int> buffer_of;     // by value; -1: dynamic, or never computed
    std::vector<size_t> offset_of;  // by value: where in its buffer, in bytes
    std::vector<ValueId> view_of;   // by value: the one whose memory it shares; no_value: its own
    std::vector<bool> is_dynamic;   // by value
    std::vector<TakeOver> takeovers;
};

// The value whose memory it shares.
MGE_API ValueId owner_of(ValueId id, const std::vector<ValueId>& view_of);
// Results of a node with the operands whose memory they may reuse, if these have no later readers; the best
// first.
MGE_API std::vector<InPlace> in_place_pairs(const Graph& graph, const Node& node,
                                            const std::vector<ValueId>& view_of);

struct SharedMemory {
    bool views = true;       // a reshape, dense slices and parts share the memory of their input
    bool overwrites = true;  // results reuse the memory of inputs without other readers
};
// The sharing that the options allow.
MGE_API SharedMemory shared_memory(const CompileOptions& options);
// Outputs that are `passing` (by output) need no memory beyond their last reader.
MGE_API Schedule schedule(const Graph& graph, const SharedMemory& shared = {},
                          const std::vector<bool>& passing = {});

}  // namespace mge
