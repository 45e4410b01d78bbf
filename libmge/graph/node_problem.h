// SPDX-License-Identifier: Apache-2.0
#pragma once
// A node of a graph as the Problem that kernels are chosen for.
// Where values lie in other layouts than the plain one, it is that of the operator's physical form, if there
// is one (op/physical_form.h).

#include <memory>
#include <optional>
#include <vector>

#include "libmge/graph/graph.h"
#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/select.h"

namespace mge {

// Operands of a node: specs with layouts, absent ones included, and the constants among the inputs.
struct Operands {
    TensorSpecs inputs, outputs;
    std::vector<const void*> constants;  // per input; null for those that are not constant
    DeviceId device, output_device;      // where the node runs, and where its outputs lie
};
// Where a node runs: where its outputs lie, unless it moves data.
DeviceId running_place(const Graph& graph, const Node& node);
// What a node on a device may read ahead of a constant; null when it lies elsewhere still.
const void* address_for(DeviceId device, const Tensor& constant);

// Without `packs` no input counts as constant, so that algorithms pack none ahead.
Operands operands_of(const Graph& graph, const Node& node, bool packs = true);

// Some operator is so much faster in other layouts than the plain one that layouts will be chosen for it.
bool prefers_layouts(const Graph& graph);

// Owns what its Problem points to.
class NodeProblem {
public:
    NodeProblem(const OpInfo& op, std::shared_ptr<const void> params, Operands operands, int threads,
                Precision precision);
    Problem problem() const;
    KernelList kernels() const;
    Choice choose(const SelectOptions& options) const;
    std::optional<Cost> find_cost(const SelectOptions& options) const;
    std::optional<size_t> find_heuristic_workspace(const SelectOptions& options) const;
    // Some algorithm that is no mere reference accepts the problem, and the options accept it.
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
