// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which steps of a program are copies that run beside its other work (seq_opt.enable_seq_comp_node_opt), and
// who comes behind whom. Places whose queues can do so have three lanes: one of the steps, one of copies from
// the host and one of copies to it. Each lane is in the order of the program. Two steps of different lanes
// keep theirs where both touch the same memory and one of them writes there, be it by another value that lies
// there at another time.

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
        // Memory that others see between runs: of the host, of the device.
        bool is_host_shared = false, is_device_shared = false;
        // Asked for behind all steps, as nobody comes behind it: memory of the host that is not page-locked
        // lets whoever asks wait until it is copied.
        bool is_last = false;
    };
    struct Step {
        int copy = -1;                    // its index; none of the others is one
        std::vector<size_t> behind;       // steps, for which the lane waits
        std::vector<size_t> host_waits;   // for which whoever asks for it waits
        std::vector<size_t> behind_last;  // for which it waits in the run before
        bool is_waited_for = false;
    };
    std::vector<Copy> copies;
    std::vector<Step> steps;  // empty where there are no copies
};

// Whether the node moves a value between the host and a device that can do so beside its work.
bool is_copy_beside(const Graph& graph, const Node& node);
bool has_copies_beside(const Graph& graph);
LanePlan plan_lanes(const Graph& graph, std::span<const CompiledStep> steps,
                    std::span<const DeviceId> places);

// By how much copies may lengthen the lives of what they copy: by so many steps, as far as no more is alive
// at once; and what inputs are copied to may live all the time, so many bytes in all, so that copies of the
// next run need not wait for the end of this one.
struct CopyRoom {
    int steps = 0;
    size_t spare = 0;
};

// Lets memory be there before a copy to the device and after one from it, so that the copies need not wait
// for their neighbours. `block_of`: by value, its block, or -1.
std::vector<MemoryBlock> with_room_for_copies(std::vector<MemoryBlock> blocks, const Graph& graph,
                                              const Schedule& schedule, std::span<const int> block_of,
                                              CopyRoom room);

}  // namespace mge
