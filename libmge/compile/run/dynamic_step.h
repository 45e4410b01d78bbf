// SPDX-License-Identifier: Apache-2.0
#pragma once
// A step whose shapes are known only at run time: it infers shapes, selects an algorithm and allocates during
// the run. The results are cached by shape.

#include <array>
#include <functional>

#include "libmge/compile/options/options.h"
#include "libmge/graph/graph.h"
#include "libmge/kernel/select.h"

namespace mge {

class DynamicStep final : public OutputAllocator {
public:
    // `read` returns the tensor of an input value, `write` stores that of an output. `make` allocates it, or
    // returns its place in the memory plan. If `may_view`, outputs may share the memory of input 0, which is
    // not part of the plan.
    DynamicStep(const Graph& graph, const Node& node, const CompileOptions& options, bool may_view,
                std::function<Tensor(ValueId)> read, std::function<void(ValueId, Tensor)> write,
                std::function<Tensor(ValueId, const TensorSpec&, DeviceId)> make);

    // `run` is the run of the program that contains this step, or nullptr.
    void run(const ProgramRun* run);
    // Values whose last reader is this step; it frees them.
    void release_after(std::vector<ValueId> values) { released_ = std::move(values); }
    void* allocate(size_t output, const TensorSpec& spec) override;

    // The function of an instruction: launch.allocator is the step.
    static void run_instruction(const Prepared&, const Launch& launch) {
        static_cast<DynamicStep*>(launch.allocator)->run(launch.run);
    }

private:
    struct Plan {
        std::shared_ptr<const void> params;
        TensorSpecs inputs, outputs;
        std::vector<size_t> view_offsets;  // into the memory of input 0; if set, there is no algorithm
        Choice choice;
    };
    Plan& find_plan(std::shared_ptr<const void> params, std::span<const Tensor> inputs);
    Plan make_plan(std::shared_ptr<const void> params, std::span<const Tensor> inputs) const;
    // Checks the specs of outputs in the graph, which could not be checked earlier. Throws ModelError if they
    // are wrong.
    void check_outputs(const TensorSpecs& inferred) const;

    static constexpr size_t kept_plans = 8;

    const Graph& graph_;
    const Node& node_;
    const CompileOptions& options_;
    bool may_view_;
    DeviceId device_, output_device_;  // the kernel's; the outputs'
    std::function<Tensor(ValueId)> read_;
    std::function<void(ValueId, Tensor)> write_;
    std::function<Tensor(ValueId, const TensorSpec&, DeviceId)> make_;
    std::vector<Plan> plans_;
    size_t oldest_ = 0;
    Tensors outputs_;
    std::vector<ValueId> released_;
};

}  // namespace mge
