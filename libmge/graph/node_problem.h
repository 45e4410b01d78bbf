// SPDX-License-Identifier: Apache-2.0
#pragma once
// A node of a graph as the Problem for which kernels are selected. If a value has a layout other than the
// plain one, the problem is that of the operator's physical form, if it has one (op/physical_form.h).

#include <memory>
#include <optional>
#include <vector>

#include "libmge/graph/graph.h"
#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/select.h"

namespace mge {

// Operands of a node: specs with layouts, including absent ones, and the constants among the inputs.
struct Operands {
    TensorSpecs inputs, outputs;
    std::vector<const void*> constants;  // per input; nullptr unless it is constant
    DeviceId device, output_device;      // the kernel's; the outputs'
};
// Returns the device a node runs on: that of its outputs, unless the operator moves data.
DeviceId running_place(const Graph& graph, const Node& node);
// Returns the address at which kernels on the device can prepare from a constant; nullptr if it is not there
// yet.
const void* address_for(DeviceId device, const Tensor& constant);

// If `packs` is false, no input counts as constant, so that no algorithm packs in advance.
Operands operands_of(const Graph& graph, const Node& node, bool packs = true);

// True if some operator is fast enough in another layout that layouts are worth choosing.
bool prefers_layouts(const Graph& graph);

// Owns the data that its Problem refers to.
class NodeProblem {
public:
    NodeProblem(const OpInfo& op, std::shared_ptr<const void> params, Operands operands, int threads,
                Precision precision);
    Problem problem() const;
    KernelList kernels() const;
    Choice choose(const SelectOptions& options) const;
    std::optional<Cost> find_cost(const SelectOptions& options) const;
    std::optional<size_t> find_heuristic_workspace(const SelectOptions& options) const;
    // True if an algorithm other than the reference accepts the problem and the options permit it.
    bool is_supported(const SelectOptions& options) const;

private:
    bool is_accepted(const NamedCandidate& named, const SelectOptions& options) const;

    const OpInfo& op_;
    std::shared_ptr<const void> params_;
    Operands operands_;
    uint32_t constant_mask_ = 0;
    int threads_;
    Precision precision_;
};

}  // namespace mge
