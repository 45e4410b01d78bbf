// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a Program is inside: for the files of this folder only.

#include <memory>
#include <vector>

#include "libmge/compile/program.h"
#include "libmge/compile/schedule.h"

namespace mge {

// Where an operand of a step lies. A context turns it into an address once.
struct Location {
    enum class Kind : uint8_t { absent, arena, input, output, constant, dynamic };
    Kind kind = Kind::absent;
    size_t at = 0;  // arena: byte offset; input, output: index of the port's memory; dynamic: value id
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
    MemoryReport memory() const override { return memory_; }
    const std::vector<ReplacedValue>& replaced() const override;
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

private:
    void check_recording();
    void place_buffers(const std::vector<Choice>& choices);
    void make_steps(std::vector<Choice> choices);
    void make_step_reports(const std::vector<SourceNode>& sources);
    void make_value_reports();

    Graph graph_;
    CompileOptions options_;
    Schedule schedule_;
    std::vector<Location> buffer_locations_, workspace_locations_;
    std::vector<CompiledStep> steps_;
    std::vector<size_t> input_bytes_, output_bytes_;
    std::vector<PortInfo> inputs_, outputs_;
    std::vector<StepReport> reports_;
    std::vector<ValueReport> values_;
    MemoryReport memory_;
    std::unique_ptr<ReplacementCheck> check_;
};

}  // namespace mge
