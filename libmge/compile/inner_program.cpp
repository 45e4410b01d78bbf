// SPDX-License-Identifier: Apache-2.0
// A graph that an operator holds, as a program: its inputs and outputs lie wherever the operator's are, step
// by step, and nothing is allocated once it has run.

#include <array>
#include <atomic>

#include "libmge/compile/compiled_context.h"
#include "libmge/device/device.h"
#include "libmge/graph/inner_graph.h"

namespace mge {
namespace {

class InnerProgram final : public SubgraphProgram {
public:
    explicit InnerProgram(const std::shared_ptr<const CompiledProgram>& program)
        : context_(program, nullptr, false),
          queue_(queue_of(program->options().device)),
          inputs_(program->inputs().size()),
          ports_(program->outputs().size(), no_port),
          outputs_(program->output_memory().size()),
          specs_(specs_of(program->outputs())) {
        std::vector<bool> is_taken(outputs_.size());
        for (size_t i = 0; i < ports_.size(); ++i) {
            Location location = program->locate(program->graph().outputs()[i]);
            if (location.kind != Location::Kind::output || is_taken[location.at]) continue;
            ports_[i] = location.at;
            is_taken[location.at] = true;
        }
    }

    void run(std::span<const void* const> inputs, std::span<void* const> outputs) override {
        for (size_t i = 0; i < inputs.size(); ++i)
            if (inputs[i] != inputs_[i]) context_.bind_input(i, inputs_[i] = inputs[i]);
        for (size_t i = 0; i < outputs.size(); ++i)
            if (size_t port = ports_[i]; port != no_port && outputs[i] != outputs_[port])
                context_.point_output(port, outputs_[port] = outputs[i]);
        context_.run_in_turn();
        for (size_t i = 0; i < outputs.size(); ++i)
            if (ports_[i] == no_port && outputs[i]) copy_output(i, outputs[i]);
    }

    const TensorSpecs& outputs() const override { return specs_; }
    Tensor output(size_t i) override { return context_.output(i); }
    Queue& queue() override { return queue_; }

private:
    static constexpr size_t no_port = SIZE_MAX;

    // An input or a constant that is a result, or one that is a result twice.
    void copy_output(size_t i, void* to) {
        Tensor result = context_.output(i);
        queue_.copy(to, result.address(), result.spec().bytes());
    }

    CompiledContext context_;
    Queue& queue_;
    std::vector<const void*> inputs_;  // as they are bound
    std::vector<size_t> ports_;        // by output, whose memory is bound; no_port: copied
    std::vector<void*> outputs_;       // by port
    TensorSpecs specs_;                // of the outputs
};

class InnerPrograms final : public SubgraphPrograms {
public:
    explicit InnerPrograms(std::shared_ptr<const CompiledProgram> program) : program_(std::move(program)) {}
    ~InnerPrograms() override {
        for (auto& spare : spares_) std::unique_ptr<SubgraphProgram>{spare.load()};
    }

    std::unique_ptr<SubgraphProgram> borrow() const override {
        for (auto& spare : spares_)
            if (auto* program = spare.exchange(nullptr, std::memory_order_acquire))
                return std::unique_ptr<SubgraphProgram>(program);
        return std::make_unique<InnerProgram>(program_);
    }
    void give_back(std::unique_ptr<SubgraphProgram> program) const override {
        for (auto& spare : spares_) {
            SubgraphProgram* empty = nullptr;
            if (!spare.compare_exchange_strong(empty, program.get(), std::memory_order_release)) continue;
            program.release();
            return;
        }
    }

private:
    std::shared_ptr<const CompiledProgram> program_;
    mutable std::array<std::atomic<SubgraphProgram*>, 8> spares_{};
};

CompileOptions options_of(const PrepareContext& context) {
    CompileOptions options{.device = context.problem.device};
    if (context.select) options.select = *context.select;
    options.select.forced.clear();
    options.select.lookups = nullptr;
    options.threads = context.problem.threads;
    options.precision = context.problem.precision;
    options.var_sanity_check_first_run = false;
    options.log_level = 0;
    return options;
}

}  // namespace

std::unique_ptr<SubgraphPrograms> compile_subgraph(const Subgraph& subgraph,
                                                   std::span<const TensorSpec> inputs,
                                                   const PrepareContext& context) {
    auto& graph = dynamic_cast<const InnerGraph&>(subgraph).graph();
    Graph inferred = infer_shapes(graph, TensorSpecs(inputs.begin(), inputs.end()));
    auto program =
        std::dynamic_pointer_cast<const CompiledProgram>(Program::compile(inferred, options_of(context)));
    return std::make_unique<InnerPrograms>(std::move(program));
}

}  // namespace mge
