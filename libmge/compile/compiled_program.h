// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a Program is inside: for the files of this folder only.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

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
};

struct CompiledStep {
    NodeId node = -1;
    bool is_dynamic = false;
    Choice choice;
    std::vector<Location> inputs, outputs;
    Location workspace;
};

class ReplacementCheck;

class CompiledProgram final : public Program {
public:
    CompiledProgram(Graph graph, const CompileOptions& options);
    ~CompiledProgram() override;

    const std::vector<PortInfo>& inputs() const override { return inputs_; }
    const std::vector<PortInfo>& outputs() const override { return outputs_; }
    const std::vector<StepReport>& steps() const override { return reports_; }
    const std::vector<ValueReport>& values() const override { return values_; }
    const std::vector<SourceNode>& sources() const override { return *graph_.source_nodes(); }
    MemoryReport memory() const override { return memory_; }
    std::vector<std::span<const std::byte>> made_constants() const override { return made_constants_; }
    const std::vector<ReplacedValue>& replaced() const override;
    const std::vector<IgnoredOption>& options_without_effect() const override { return ignored_; }
    // Null unless the level is below zero.
    const ReplacementCheck* check() const { return check_.get(); }

    const Graph& graph() const { return graph_; }
    const CompileOptions& options() const { return options_; }
    const std::vector<CompiledStep>& compiled_steps() const { return steps_; }
    // Values of dynamic steps are found by value id; all others where locate() says.
    Location locate(ValueId id) const;
    // Bytes of each input's and of each output's memory. Several graph outputs may lie in one output memory.
    const std::vector<size_t>& input_bytes() const { return input_bytes_; }
    const std::vector<size_t>& output_bytes() const { return output_bytes_; }
    size_t arena_bytes() const { return memory_.plan; }
    // With force_dynamic_alloc, instead of an arena: values and workspaces, and the steps that need them.
    const std::vector<MemoryBlock>& blocks() const { return blocks_; }
    // By output memory, the step that fills it.
    const std::vector<int>& output_steps() const { return output_steps_; }
    // The arena that was taken while compiling, for the first who asks; null for all others.
    StorageRef take_arena() const;
    // True once: for the run that checks the operators.
    bool is_first_run() const { return checks_first_run_.exchange(false, std::memory_order_relaxed); }

private:
    using ConstantBytes = std::map<const void*, size_t>;  // by address
    void check_recording();
    void check_layout();
    void ignore(std::string option, std::string given, std::string reason);
    void give_up_values(const std::vector<NodeId>& endpoints);
    std::vector<Choice> bind();
    void count_constants(const ConstantBytes& given);
    void place_buffers(const std::vector<Choice>& choices);
    Location place(const Buffer& buffer, const Location& in_plan);
    void make_steps(std::vector<Choice> choices);
    // `seen`: pieces of steps before.
    void count_pieces(const Prepared& prepared, std::set<const void*>& seen);
    void make_step_reports();
    void make_value_reports();

    Graph graph_;
    CompileOptions options_;
    std::vector<NodeId> repeated_;  // nodes that compute again
    Schedule schedule_;
    std::vector<Location> buffer_locations_, workspace_locations_;
    std::vector<CompiledStep> steps_;
    std::vector<bool> is_released_;  // by value: constants of which the steps read packed copies
    std::vector<MemoryBlock> blocks_;
    std::vector<size_t> input_bytes_, output_bytes_;
    std::vector<int> output_steps_;
    mutable std::mutex arena_mutex_;
    mutable StorageRef arena_;
    mutable std::atomic<bool> checks_first_run_{false};
    std::vector<PortInfo> inputs_, outputs_;
    std::vector<StepReport> reports_;
    std::vector<ValueReport> values_;
    std::vector<IgnoredOption> ignored_;
    MemoryReport memory_;
    std::vector<std::span<const std::byte>> made_constants_;
    std::unique_ptr<ReplacementCheck> check_;
};

}  // namespace mge
