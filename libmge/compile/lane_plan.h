// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies that overlap with other work (plan.copies_beside), and the order between them. A place
// whose queues support it has three lanes: steps, copies from the host, and copies to it. Each lane runs in
// the order of the program. Two steps of different lanes are ordered if they access the same memory and one
// writes, even through different values at different times.

#include <cstddef>
#include <span>
#include <vector>

#include "libmge/compile/memory/plan_memory.h"
#include "libmge/graph/graph.h"

namespace mge {

struct CompiledStep;
struct Schedule;

struct LanePlan {
    struct Copy {
        size_t step = 0, place = 0, bytes = 0;
        bool is_upload = false;
        // Memory that is visible between runs: on the host, on the device.
        bool is_host_shared = false, is_device_shared = false;
        // Enqueued after all steps, because no step waits for it: a copy from pageable host memory blocks the
        // thread that enqueues it.
        bool is_last = false;
    };
    struct Step {
        int copy = -1;                           // index of its copy; -1 if the step is not a copy
        std::vector<size_t> lane_waits;          // steps that the lane waits for
        std::vector<size_t> host_waits;          // steps that the enqueuing thread waits for
        std::vector<size_t> previous_run_waits;  // steps of the previous run that it waits for
        bool is_waited_for = false;
    };
    std::vector<Copy> copies;
    std::vector<Step> steps;  // empty if there are no copies
};

// True if the node copies between the host and a device that can copy while it works.
bool is_overlapped_copy(const Graph& graph, const Node& node);
bool has_overlapped_copies(const Graph& graph);
LanePlan plan_lanes(const Graph& graph, std::span<const CompiledStep> steps,
                    std::span<const DeviceId> places);

// Limits for longer lives of copied values. Lives grow by up to `steps` steps if that does not raise the
// peak. Up to `spare` bytes of copied inputs may live all the time, so that copies for the next run need not
// wait for the end of this one.
struct CopySlack {
    int steps = 0;
    size_t spare = 0;
};

// Allocates memory earlier for copies to the device, and frees it later for copies from it, so that copies
// wait less. `block_of` maps values to blocks, or -1.
std::vector<MemoryBlock> with_slack_for_copies(std::vector<MemoryBlock> blocks, const Graph& graph,
                                               const Schedule& schedule, std::span<const int> block_of,
                                               CopySlack slack);

}  // namespace mge
