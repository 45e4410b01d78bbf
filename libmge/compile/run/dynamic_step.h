// SPDX-License-Identifier: Apache-2.0
#pragma once
// A step whose shapes only a run can tell: it infers, chooses an algorithm and allocates while running. What
// it found out for some shapes is kept for the next run with the same ones.

#include <array>
#include <functional>

#include "libmge/compile/options/options.h"
#include "libmge/graph/graph.h"
#include "libmge/kernel/select.h"

namespace mge {

class DynamicStep final : public OutputAllocator {
public:
    // `read` gives the tensor of an input value, `write` takes that of an output, `make` allocates it.
    // `may_view`: the memory of input 0 is not part of the plan, so an output may go on using it.
    DynamicStep(const Graph& graph, const Node& node, const CompileOptions& options, bool may_view,
                std::function<Tensor(ValueId)> read, std::function<void(ValueId, Tensor)> write,
                std::function<Tensor(const TensorSpec&, DeviceId)> make);

    // `run`: the run of the program that this step is in; null outside of one.
    void run(const ProgramRun* run);
    // Values that nobody reads after this step: their memory is given back then.
    void release_after(std::vector<ValueId> values) { released_ = std::move(values); }
    void* allocate(size_t output, const TensorSpec& spec) override;

    // As an instruction's function: the step itself stands in launch.allocator.
    static void run_instruction(const Prepared&, const Launch& launch) {
        static_cast<DynamicStep*>(launch.allocator)->run(launch.run);
    }

private:
    struct Plan {
        std::shared_ptr<const void> params;
        TensorSpecs inputs, outputs;
        std::vector<size_t> view_offsets;  // in the memory of input 0; then nothing is chosen
        Choice choice;
    };
    Plan& find_plan(std::shared_ptr<const void> params, std::span<const Tensor> inputs);
    Plan make_plan(std::shared_ptr<const void> params, std::span<const Tensor> inputs) const;
    // What the graph says of the outputs could not be compared with anything before. ModelError when it is
    // not so.
    void check_outputs(const TensorSpecs& inferred) const;

    static constexpr size_t kept_plans = 8;

    const Graph& graph_;
    const Node& node_;
    const CompileOptions& options_;
    bool may_view_;
    DeviceId device_, output_device_;  // where it runs, and where its outputs lie
    std::function<Tensor(ValueId)> read_;
    std::function<void(ValueId, Tensor)> write_;
    std::function<Tensor(const TensorSpec&, DeviceId)> make_;
    std::vector<Plan> plans_;
    size_t oldest_ = 0;
    Tensors outputs_;
    std::vector<ValueId> released_;
};

}  // namespace mge
