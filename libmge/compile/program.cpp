// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/program.h"

#include <utility>

#include "libmge/base/files/file.h"
#include "libmge/compile/program_parts.h"
#include "libmge/compile/replacement_check.h"

namespace mge {

TensorSpecs specs_of(std::span<const PortInfo> ports) {
    TensorSpecs specs;
    for (auto& port : ports) specs.push_back(port.spec);
    return specs;
}

void ProgramParts::require_whole_constants() const {
    for (auto* constants : {&pieces.kept, &pieces.packed})
        for (auto [address, bytes] : *constants)
            if (auto* file = MappedFile::of(address); file && file->is_cut()) file->require_whole();
}

Program::Program(std::unique_ptr<const ProgramParts> parts) : parts_(std::move(parts)) {}
Program::~Program() = default;

uint64_t Program::id() const { return parts_->id; }
const Graph& Program::graph() const { return parts_->graph; }
const std::vector<PortInfo>& Program::inputs() const { return parts_->ports.inputs; }
const std::vector<PortInfo>& Program::outputs() const { return parts_->ports.outputs; }
const std::vector<DeviceId>& Program::places() const { return parts_->places; }
const std::vector<StepReport>& Program::steps() const { return parts_->reports.steps; }
const std::vector<ValueReport>& Program::values() const { return parts_->reports.values; }
const std::vector<SourceNode>& Program::sources() const { return *parts_->graph.source_nodes(); }
MemoryReport Program::memory() const { return parts_->reports.memory; }
std::vector<std::span<const std::byte>> Program::made_constants() const {
    return parts_->reports.made_constants;
}
const std::vector<IgnoredOption>& Program::options_without_effect() const { return parts_->reports.ignored; }
const std::vector<ReplacedValue>& Program::replaced() const {
    static const std::vector<ReplacedValue> none;
    return parts_->check ? parts_->check->replaced() : none;
}

}  // namespace mge
