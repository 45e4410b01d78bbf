// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a Program is inside: for the files of this folder only.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "libmge/compile/async_level.h"
#include "libmge/compile/bind_algorithms.h"
#include "libmge/compile/lane_plan.h"
#include "libmge/compile/plan_memory.h"
#include "libmge/compile/program.h"
#include "libmge/compile/schedule.h"

namespace mge {

// Where an operand of a step lies. A context turns it into an address once.
struct Location {
    enum class Kind : uint8_t { absent, arena, block, input, output, constant, dynamic };
    Kind kind = Kind::absent;
    // arena: byte offset; block: index of a block without a plan; input, output: index of the port's memory;
    // dynamic: value id
    size_t at = 0;
    const void* constant = nullptr;
    size_t place = 0;   // arena: which of the program's places
    size_t offset = 0;  // bytes behind the beginning of that, where a view lies
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

class ReplacementCheck;

class CompiledProgram final : public Program {
public:
    CompiledProgram(Graph graph, const CompileOptions& options);
    ~CompiledProgram() override;

    const std::vector<PortInfo>& inputs() const override { return inputs_; }
    const std::vector<PortInfo>& outputs() const override { return outputs_; }
    uint64_t id() const override { return id_; }
    const std::vector<DeviceId>& places() const override { return places_; }
    const std::vector<StepReport>& steps() const override { return reports_; }
    const std::vector<ValueReport>& values() const override { return values_; }
    const std::vector<SourceNode>& sources() const override { return *graph_.source_nodes(); }
    MemoryReport memory() const override { return memory_; }
    std::vector<std::span<const std::byte>> made_constants() const override { return made_constants_; }
    const std::vector<ReplacedValue>& replaced() const override;
    const std::vector<IgnoredOption>& options_without_effect() const override { return ignored_; }
    // Null unless the level is below zero.
    const ReplacementCheck* check() const { return check_.get(); }

    // By output: nobody but a callback reads it.
    bool is_callback_output(size_t i) const { return is_callback_output_[i]; }

    const Graph& graph() const override { return graph_; }
    const CompileOptions& options() const { return options_; }
    const std::vector<CompiledStep>& compiled_steps() const { return steps_; }
    // Empty when the caller asks for everything.
    const std::vector<StepThreads>& threads() const { return threads_; }
    // Empty where everything is asked of the places' own queues.
    const LanePlan& copies() const { return copies_; }
    // Values of dynamic steps are found by value id; all others where locate() says.
    Location locate(ValueId id) const;
    // The memory of each input and of each output. Several graph outputs may lie in one output memory.
    struct PortMemory {
        size_t bytes = 0, place = 0;
    };
    const std::vector<PortMemory>& input_memory() const { return input_memory_; }
    const std::vector<PortMemory>& output_memory() const { return output_memory_; }
    // By place.
    const std::vector<size_t>& arena_bytes() const { return arena_bytes_; }
    // With force_dynamic_alloc, instead of an arena: values and workspaces, and the steps that need them.
    const std::vector<MemoryBlock>& blocks() const { return blocks_; }
    // An output memory that may be the memory of an input which is given up for it.
    struct TakenInput {
        size_t output, input;
    };
    const std::vector<TakenInput>& taken_inputs() const { return taken_inputs_; }
    // By output memory, the step that fills it.
    const std::vector<int>& output_steps() const { return output_steps_; }
    // By place, the arenas that were taken while compiling, for the first who asks; empty for all others.
    std::vector<StorageRef> take_arenas() const;
    // ModelError when a mapped file was cut that the steps read constants of.
    void require_whole_constants() const;
    // Some step is an operator that holds graphs.
    bool holds_graphs() const { return holds_graphs_; }
    // Nothing is under way when a run returns.
    bool is_on_host() const;
    // True once: for the run that checks the operators.
    bool is_first_run() const { return checks_first_run_.exchange(false, std::memory_order_relaxed); }

private:
    using ConstantBytes = std::map<const void*, size_t>;  // by address
    void name_ports(const Graph& graph);
    void optimise(Graph graph);
    void forget_caller();
    void find_places();
    size_t index_of(DeviceId place) const;
    void upload_constants(ConstantBytes& given);
    void check_recording();
    void check_outputs() const;
    std::vector<bool> callback_outputs() const;
    void assign_threads();
    StepThreads threads_of(const Step& step, std::span<const int> thread_of_place) const;
    void check_layout();
    void ignore(std::string option, std::string given, std::string reason);
    void order_updates();
    void give_up_values(const std::vector<NodeId>& endpoints);
    void swap_out();
    // `inside`: gets the programs of the graphs that steps hold.
    std::vector<Choice> bind(const ConstantBytes& given,
                             std::vector<std::shared_ptr<const CompiledProgram>>& inside);
    void verify_read(const ConstantBytes& given, const std::set<const void*>& unread) const;
    void count_inside(const std::vector<std::shared_ptr<const CompiledProgram>>& inside);
    void count_constants(const ConstantBytes& given);
    std::vector<Location> plan_arenas(const ArenaBlocks& blocks);
    std::vector<MemoryPlan> plan_lives(const ArenaBlocks& blocks) const;
    void place_buffers(const std::vector<Choice>& choices);
    Location place(const Buffer& buffer, const Location& in_plan);
    void find_taken_inputs();
    void make_steps(std::vector<Choice> choices);
    void count_pieces();
    void make_step_reports();
    void make_value_reports();

    uint64_t id_;
    std::vector<bool> is_callback_output_;
    Graph graph_;
    CompileOptions options_;
    int64_t run_bytes_ = 0;         // that a run of it, or of the program around it, reads and writes
    std::vector<NodeId> repeated_;  // nodes that compute again
    Schedule schedule_;
    std::vector<Location> buffer_locations_, workspace_locations_;
    std::vector<CompiledStep> steps_;
    std::vector<StepThreads> threads_;
    bool copies_beside_ = false;
    LanePlan copies_;
    bool holds_graphs_ = false;
    std::vector<bool> is_released_;  // by value: constants of which the steps read packed copies
    std::vector<MemoryBlock> blocks_;
    std::vector<DeviceId> places_;
    std::vector<size_t> arena_bytes_;
    std::vector<PortMemory> input_memory_, output_memory_;
    std::vector<int> output_steps_;
    std::vector<TakenInput> taken_inputs_;
    mutable std::mutex arena_mutex_;
    mutable std::vector<StorageRef> arenas_;
    mutable std::atomic<bool> checks_first_run_{false};
    std::vector<PortInfo> inputs_, outputs_;
    std::vector<StepReport> reports_;
    std::vector<ValueReport> values_;
    std::vector<IgnoredOption> ignored_;
    MemoryReport memory_;
    // What it has, with what the graphs that its steps hold have: constants that are read as they are, packed
    // copies, generated code, steps.
    ConstantBytes kept_, packed_, code_;
    size_t step_count_ = 0;
    std::vector<std::span<const std::byte>> made_constants_;
    std::unique_ptr<ReplacementCheck> check_;
};

}  // namespace mge
