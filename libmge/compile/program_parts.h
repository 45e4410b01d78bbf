// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of a Program, for this folder only. The stages of a compilation make them one after another
// (compile/compilation.h); they are immutable afterwards.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "libmge/compile/lane_plan.h"
#include "libmge/compile/memory/location.h"
#include "libmge/compile/memory/plan_memory.h"
#include "libmge/compile/program.h"
#include "libmge/compile/run/async_level.h"
#include "libmge/kernel/select.h"

namespace mge {

class ReplacementCheck;

struct Ports {
    std::vector<PortInfo> inputs, outputs;
    std::vector<bool> is_callback_output;  // by output: only a callback reads it
};

// The memory that values of a program need, and the location of each.
struct MemoryLayout {
    std::vector<Location> values;      // by value; absent if no step computes it
    std::vector<Location> workspaces;  // by step
    // The memory of each input and output. Several graph outputs may share one output memory.
    struct PortMemory {
        size_t bytes = 0, place = 0;
    };
    std::vector<PortMemory> inputs, outputs;
    std::vector<int> output_steps;    // by output memory: the step that fills it
    std::vector<size_t> arena_bytes;  // by place
    // With force_dynamic_alloc, instead of an arena: values and workspaces, with the steps that need them.
    std::vector<MemoryBlock> blocks;
    // An output memory that may reuse the memory of a donated input.
    struct TakenInput {
        size_t output, input;
    };
    std::vector<TakenInput> taken_inputs;

    // Throws InternalError for a value without a location.
    Location locate(ValueId id) const;
};

// How steps are enqueued.
struct EnqueuePlan {
    std::vector<StepThreads> threads;  // by step; empty if the caller enqueues all of them
    LanePlan copies;                   // empty if all steps use the queues of their places
};

using ConstantBytes = std::map<const void*, size_t>;  // by address

// Memory of a program without its contexts, including that of nested graphs: constants read unchanged, packed
// copies, generated code. Also the number of steps.
struct Pieces {
    ConstantBytes kept, packed, code;
    size_t steps = 0;
};

struct Reports {
    std::vector<StepReport> steps;
    std::vector<ValueReport> values;
    std::vector<IgnoredOption> ignored;
    std::vector<std::span<const std::byte>> made_constants;
    MemoryReport memory;
};

// Resources for the first context or the first run of a program. Thread-safe.
class FirstUse {
public:
    FirstUse(std::vector<StorageRef> arenas, bool is_checked)
        : arenas_(std::move(arenas)), is_checked_(is_checked) {}
    // Returns the arenas allocated during compilation by place; empty except for the first caller.
    std::vector<StorageRef> take_arenas() {
        std::lock_guard lock(mutex_);
        return std::exchange(arenas_, {});
    }
    // True for the first caller, whose run checks the operators.
    bool take_check() { return is_checked_.exchange(false, std::memory_order_relaxed); }

private:
    std::mutex mutex_;
    std::vector<StorageRef> arenas_;
    std::atomic<bool> is_checked_;
};

struct ProgramParts {
    uint64_t id = 0;
    CompileOptions options;
    Graph graph;
    Ports ports;
    std::vector<DeviceId> places;
    MemoryLayout placement;
    std::vector<CompiledStep> steps;
    EnqueuePlan enqueue_plan;
    Pieces pieces;
    Reports reports;
    std::unique_ptr<const ReplacementCheck> check;  // null unless the level is below zero
    std::unique_ptr<FirstUse> first_use;

    // Throws ModelError if a mapped file with constants that the steps read was truncated.
    void require_whole_constants() const;
};

}  // namespace mge
