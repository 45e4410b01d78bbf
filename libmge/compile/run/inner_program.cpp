// SPDX-License-Identifier: Apache-2.0
// A nested graph as a program. Its inputs and outputs use the operator's memory, step by step, and its values
// the operator's workspace; after the first run nothing is allocated. It has memory of its own at other
// places. Values of run-time shapes come from the allocator of the enclosing context.

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <utility>

#include "libmge/base/rethrow.h"
#include "libmge/compile/run/compiled_context.h"
#include "libmge/compile/surrounding.h"
#include "libmge/device/device.h"
#include "libmge/graph/inner_graph.h"

namespace mge {
namespace {

// Notifies the observer of the step that runs the graph, which selects an observer for each run.
class InsideObserver final : public StepObserver {
public:
    explicit InsideObserver(const InnerPlace& place) : place_(place) {}
    void begin(const ProgramRun& run) { run_ = &run; }

    void before_run(Context& inner) override {
        inner_observer_ =
            run_->observer->inside({*run_->context, run_->step, place_.graph, place_.iteration}, inner);
        if (inner_observer_) inner_observer_->before_run(inner);
    }
    void after_run(Context& inner) override {
        if (inner_observer_) inner_observer_->after_run(inner);
    }
    void after_failure(const std::exception_ptr& error, Context& inner) override {
        if (inner_observer_) inner_observer_->after_failure(error, inner);
    }
    void before_step(size_t step, Context& inner) override {
        if (inner_observer_) inner_observer_->before_step(step, inner);
    }
    void after_step(size_t step, Context& inner) override {
        if (inner_observer_) inner_observer_->after_step(step, inner);
    }
    void allocated(const Allocation& allocation, Context& inner) override {
        if (inner_observer_) inner_observer_->allocated(allocation, inner);
    }
    StepObserver* inside(const InnerRun& run, Context& inner) override {
        return inner_observer_ ? inner_observer_->inside(run, inner) : nullptr;
    }

private:
    const InnerPlace& place_;
    const ProgramRun* run_ = nullptr;
    StepObserver* inner_observer_ = nullptr;
};

// The arena that the operator provides on its own device.
struct Arena {
    size_t place = 0, bytes = 0;

    explicit Arena(const Program& program) {
        size_t found = index_of(program.parts().options.device, program.places());
        if (found == program.places().size()) return;
        place = found;
        bytes = align_up(program.parts().placement.arena_bytes[place]);
    }
    BorrowedArena in(void* workspace) const { return {place, bytes ? workspace : nullptr}; }
};

class InnerProgram final : public SubgraphProgram {
public:
    InnerProgram(const std::shared_ptr<const Program>& program, const SubgraphUse& use, BorrowedArena arena)
        : context_(program, nullptr, {.inputs = false, .outputs = false, .is_waited_for = false}, arena),
          arena_(arena.data),
          is_repeated_(use.is_repeated),
          place_{use.parameter, -1},
          queue_(queue_of(program->parts().options.device)),
          inputs_(program->inputs().size()),
          ports_(program->outputs().size(), no_port),
          outputs_(program->parts().placement.outputs.size()),
          specs_(specs_of(program->outputs())) {
        std::vector<bool> is_taken(outputs_.size());
        for (size_t i = 0; i < ports_.size(); ++i) {
            Location location = program->parts().placement.locate(program->graph().outputs()[i]);
            if (location.kind != Location::Kind::output || is_taken[location.at]) continue;
            ports_[i] = location.at;
            is_taken[location.at] = true;
        }
        context_.set_inner_place(&place_);
    }

    // Binds the program to one call of the operator, whose step may be observed.
    void begin(const ProgramRun* run, BorrowedArena arena) {
        if (arena.data != arena_) context_.lend(arena_ = arena.data);
        context_.allocate_with(run ? run->arenas : nullptr);
        if (is_repeated_) place_.iteration = 0;
        if (!run || !run->observer) return;
        observer_.begin(*run);
        context_.observe(&observer_);
        is_observed_ = true;
    }
    void end() {
        if (std::exchange(is_observed_, false)) context_.observe(nullptr);
    }

    void run(std::span<const void* const> inputs, std::span<void* const> outputs) override {
        for (size_t i = 0; i < inputs.size(); ++i)
            if (inputs[i] != inputs_[i]) context_.bind_input(i, inputs_[i] = inputs[i]);
        for (size_t i = 0; i < outputs.size(); ++i)
            if (size_t port = ports_[i]; port != no_port && outputs[i] != outputs_[port])
                context_.point_output(port, outputs_[port] = outputs[i]);
        try {
            context_.run_in_turn();
        } catch (...) {
            rethrow_in(place_.text());
        }
        for (size_t i = 0; i < outputs.size(); ++i)
            if (ports_[i] == no_port && outputs[i]) copy_output(i, outputs[i]);
        place_.iteration += is_repeated_;
    }

    const TensorSpecs& outputs() const override { return specs_; }
    Tensor output(size_t i) override { return context_.output(i); }
    Queue& queue() override { return queue_; }

private:
    static constexpr size_t no_port = SIZE_MAX;

    // Copies a result that is an input, a constant or a duplicate.
    void copy_output(size_t i, void* to) {
        Tensor result = context_.output(i);
        queue_.copy(to, result.address(), result.spec().bytes());
    }

    CompiledContext context_;
    void* arena_;  // as lent
    bool is_repeated_, is_observed_ = false;
    InnerPlace place_;
    InsideObserver observer_{place_};
    Queue& queue_;
    std::vector<const void*> inputs_;  // as bound
    std::vector<size_t> ports_;        // by output: the port whose memory is bound; no_port: copied
    std::vector<void*> outputs_;       // by port
    TensorSpecs specs_;                // specs of the outputs
};

class InnerPrograms final : public SubgraphPrograms {
public:
    InnerPrograms(std::shared_ptr<const Program> program, const SubgraphUse& use)
        : program_(std::move(program)), use_(use), arena_(*program_) {}
    ~InnerPrograms() override {
        for (auto& spare : spares_) std::unique_ptr<SubgraphProgram>{spare.load()};
    }

    size_t workspace() const override { return arena_.bytes; }
    std::unique_ptr<SubgraphProgram> borrow(const Launch& launch, void* workspace) const override {
        auto program = take(workspace);
        program->begin(launch.run, arena_.in(workspace));
        return program;
    }
    void give_back(std::unique_ptr<SubgraphProgram> program) const override {
        static_cast<InnerProgram&>(*program).end();
        for (auto& spare : spares_) {
            SubgraphProgram* empty = nullptr;
            if (!spare.compare_exchange_strong(empty, program.get(), std::memory_order_release)) continue;
            program.release();
            return;
        }
    }

private:
    std::unique_ptr<InnerProgram> take(void* workspace) const {
        for (auto& spare : spares_)
            if (auto* program = spare.exchange(nullptr, std::memory_order_acquire))
                return std::unique_ptr<InnerProgram>(static_cast<InnerProgram*>(program));
        return std::make_unique<InnerProgram>(program_, use_, arena_.in(workspace));
    }

    std::shared_ptr<const Program> program_;
    SubgraphUse use_;
    Arena arena_;
    mutable std::array<std::atomic<SubgraphProgram*>, 8> spares_{};
};

// `around` is the program that holds the graph, or nullptr.
CompileOptions options_of(const PrepareContext& context, const SurroundingProgram* around) {
    CompileOptions options{.device = context.problem.device};
    if (context.select) options.select = *context.select;
    options.select.forced.clear();
    options.select.lookups = nullptr;
    options.select.around = around;
    options.threads = context.problem.threads;
    options.precision = context.problem.precision;
    options.var_sanity_check_first_run = false;  // the enclosing program's check covers it
    options.log_level = around ? around->options->log_level : 0;
    options.no_force_inplace = around && around->options->no_force_inplace;
    options.keeps_weights = around && around->options->keeps_weights;
    return options;
}

}  // namespace

std::unique_ptr<SubgraphPrograms> compile_subgraph(const Subgraph& subgraph, const SubgraphUse& use,
                                                   Specs inputs, const PrepareContext& context) {
    auto& graph = dynamic_cast<const InnerGraph&>(subgraph).graph();
    auto* around = context.select ? context.select->around : nullptr;
    std::optional<SurroundingProgram> of_graph;
    if (around) of_graph = *around;
    if (around && use.is_repeated) of_graph->bytes = 0;  // nothing else runs between its runs
    auto program = Program::compile(graph, TensorSpecs(inputs.begin(), inputs.end()),
                                    options_of(context, of_graph ? &*of_graph : nullptr));
    if (around && around->inside) around->inside->push_back(program);
    return std::make_unique<InnerPrograms>(std::move(program), use);
}

}  // namespace mge
