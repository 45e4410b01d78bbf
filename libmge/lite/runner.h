// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program for one set of input shapes, or for all sizes of some dimensions, and the memory of the network's
// tensors that it reads and writes. Memory on the program's device is used in place; otherwise intermediate
// memory is used.

#include <memory>
#include <utility>
#include <vector>

#include "libmge/compile/open_graph.h"
#include "libmge/compile/program.h"
#include "libmge/inspect/io_dump/io_dump_run.h"
#include "libmge/inspect/profile/profiler.h"
#include "libmge/lite/network_ports.h"

namespace lite {

// The owner of an output's memory.
enum class OutputMemory {
    bound,   // the last kernel writes into the tensor's memory
    user,    // the same, and the memory has to be the user's
    lent,    // each run has separate memory for it, which becomes the tensor's
    copied,  // the same, and it is copied into the tensor's
    fitting  // lent if the tensor has no memory for a result of this shape, otherwise copied
};

struct RunnerOptions {
    std::shared_ptr<mge::ContextMemory> memory;
    std::shared_ptr<mge::ContextAllocator> allocator;  // allocator of the intermediate memory; null: the
                                                       // queues'
    OutputMemory output_memory = OutputMemory::bound;
    std::shared_ptr<const mge::OpenGraph> open;  // null: the program is for the shapes of its inputs alone
};

class Runner {
public:
    // `specs` are those of all outputs of the network; `computed` lists the ones that the program computes,
    // in its order. For the others only the shape is needed.
    Runner(std::shared_ptr<const mge::Program> program, mge::TensorSpecs specs, std::vector<size_t> computed,
           const RunnerOptions& options);

    const mge::Program& program() const { return *program_; }
    const std::shared_ptr<const mge::Program>& shared_program() const { return program_; }
    mge::Context& context() { return *context_; }
    bool is_open() const { return options_.open != nullptr; }
    // The program runs for these inputs.
    bool is_for(const mge::TensorSpecs& inputs) const;
    // Specs of all outputs for the next inputs, which an open program does not know.
    void expect(mge::TensorSpecs specs) { specs_ = std::move(specs); }

    // Sets the current memory of the tensors as the next runs' inputs and outputs. The inputs have the
    // program's specs. Error for an output whose memory is not suitable.
    void bind(std::vector<Input>& inputs, std::vector<Output>& outputs);
    // The tensors are as they were when bind() was last called.
    bool is_bound_to(const std::vector<Input>& inputs, const std::vector<Output>& outputs) const;
    // Copies the inputs that a run does not read in place, right before the run.
    void fill(std::vector<Input>& inputs);
    // Layouts of outputs, if they are known before the run.
    void shape(std::vector<Output>& outputs) const;
    // Copies the outputs that the run has not written in place.
    void fetch(std::vector<Output>& outputs);

    // Observers; null: none of them.
    void profile(bool is_wanted);
    const mge::Profiler* profiler() const { return profiler_.get(); }
    void dump_to(mge::IoDumpSink* sink);

private:
    // A tensor as it was at some time.
    struct Seen {
        const Tensor::TensorImplBase* tensor = nullptr;
        uint64_t changes = 0;
        bool operator==(const Seen&) const = default;
        static Seen of(const Tensor& tensor) {
            auto& impl = TensorHelper::impl(tensor);
            return {&impl, impl.changes()};
        }
    };
    bool is_stored_on(const Tensor& tensor, mge::DeviceId place) const;
    bool overlaps_inputs(const Tensor& tensor, const std::vector<Input>& inputs) const;
    Tensor::TensorImplBase& between(std::shared_ptr<Tensor>& tensor, const mge::PortInfo& port,
                                    const mge::TensorSpec& spec) const;
    void bind_input(size_t i, Input& input);
    void bind_output(size_t port, Output& output, const std::vector<Input>& inputs);
    void require_given(const Output& output, const Layout& wanted) const;
    void take(Output& output, const mge::Tensor& result) const;

    std::shared_ptr<const mge::Program> program_;
    mge::TensorSpecs specs_;
    std::vector<size_t> computed_;  // by output of the program, the index of the network's output
    RunnerOptions options_;
    std::unique_ptr<mge::Context> context_;
    std::vector<Seen> seen_inputs_, seen_outputs_;
    mge::Tensors open_inputs_;  // the inputs of an open program, which are bound for each run
    // Intermediate memory, by input and output of the program; null if not needed.
    std::vector<std::shared_ptr<Tensor>> input_copies_, output_copies_;
    bool fills_ = false, fetches_ = false;
    std::unique_ptr<mge::Profiler> profiler_;
    std::unique_ptr<mge::IoDumpRun> dump_;
};

}  // namespace lite
