// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
#include <utility>

#include "libmge/base/threads/per_process.h"
#include "libmge/compile/compilation.h"
#include "libmge/compile/known_algorithms.h"
#include "libmge/compile/memory/remember_constants.h"
#include "libmge/compile/memory/upload.h"
#include "libmge/compile/open_programs.h"
#include "libmge/compile/program.h"
#include "libmge/compile/run/compiled_context.h"
#include "libmge/device/device.h"
#include "libmge/graph/dimension_sizes.h"
#include "libmge/graph/place.h"

namespace mge {

// Outside of the unnamed namespace, because Executable has members of these types.
struct KeptProgram {
    TensorSpecs inputs;
    std::vector<DeviceId> places;  // the inputs' devices
    std::shared_ptr<const Program> program;
    std::unique_ptr<CompiledContext> context;
    std::shared_ptr<const OpenGraph> open{};  // null: the program is for these shapes alone

    bool is_for(const TensorSpecs& specs, std::span<const DeviceId> devices) const {
        return std::ranges::equal(places, devices) && (open ? open->accepts(specs) : inputs == specs);
    }
};

struct KeptPrograms {
    std::mutex mutex;
    std::list<std::shared_ptr<KeptProgram>> list;  // most recently used first
    std::mutex running;                            // one run at a time: the contexts share memory
    OpenPrograms open;
    std::shared_ptr<ContextMemory> memory;
};

namespace {

constexpr size_t kept_programs = 16;

// A child of fork() keeps the programs but not the contexts, in which a thread of the parent may be.
std::unique_ptr<KeptPrograms> make_entries(KeptPrograms* of_parent) {
    auto entries = std::make_unique<KeptPrograms>();
    entries->memory = std::make_shared<ContextMemory>();
    std::unique_lock<std::mutex> lock;
    if (of_parent) lock = std::unique_lock(of_parent->mutex, std::try_to_lock);
    if (!lock.owns_lock()) return entries;
    for (auto& entry : of_parent->list) {
        entries->list.push_back(std::make_shared<KeptProgram>());
        entries->list.back()->inputs = entry->inputs;
        entries->list.back()->places = entry->places;
        entries->list.back()->program = entry->program;
        entries->list.back()->open = entry->open;
    }
    return entries;
}

// The output of a run that computes nothing: fresh memory.
Tensor output_of_fake_run(const TensorSpec& spec, DeviceId device) {
    if (!spec.shape.is_known()) return {};
    Tensor result = empty_tensor(spec, device);
    queue_of(device).fill(result.address(), 0, spec.bytes());
    return result;
}

// Returns, by output memory, the memory of an input that is donated to it; empty if there is none.
std::vector<StorageRef> donated_memory(const Program& program, std::span<const Tensor> inputs,
                                       const std::vector<bool>& is_donated) {
    std::vector<StorageRef> given;
    for (auto [output, input] : program.parts().placement.taken_inputs) {
        if (is_donated.empty() || !is_donated[input]) continue;
        given.resize(program.parts().placement.outputs.size());
        given[output] = inputs[input].impl()->storage;
    }
    return given;
}

// Attaches an observer to a context for the life of the scope; nullptr does nothing.
class ObserverScope {
public:
    ObserverScope(Context& context, StepObserver* observer) : context_(context), observer_(observer) {
        if (observer_) context_.attach(*observer_);
    }
    ~ObserverScope() {
        if (observer_) context_.detach(*observer_);
    }
    ObserverScope(const ObserverScope&) = delete;
    ObserverScope& operator=(const ObserverScope&) = delete;

private:
    Context& context_;
    StepObserver* observer_;
};

}  // namespace

struct Executable::State {
    Graph graph;
    CompileOptions options;
    std::shared_ptr<const ConstantPrints> prints;
    PerProcess<KeptPrograms> of_process{make_entries};
    std::shared_ptr<const Program> first;  // only with no_profiling_on_shape_change
    bool is_compiled = false;
    std::atomic<bool> skips_next{false};

    void require_own_shapes(const TensorSpecs& inputs) const {
        for (size_t i = 0; i < inputs.size(); ++i) {
            auto& own = graph.value(graph.inputs().at(i));
            if (!(own.spec == inputs[i]))
                throw_value_error(named(options, "const_shape"), "input '", own.name, "' is ", own.spec,
                                  ", a constant, and was given as ", inputs[i]);
        }
    }

    // The first inputs fix the shapes. The same shapes on other devices are another recording.
    void require_recorded_shapes(const TensorSpecs& recorded, const TensorSpecs& inputs) const {
        for (size_t i = 0; i < inputs.size(); ++i)
            if (!(recorded[i] == inputs[i]))
                throw_value_error(named(options, "comp_node_seq_record_level"),
                                  "2 has fixed the shapes: input '", graph.value(graph.inputs().at(i)).name,
                                  "' was ", recorded[i], " when it was recorded, and was given as ",
                                  inputs[i]);
    }

    // The checks of a first run would read all weights again for each new shape.
    CompileOptions options_of_next() const {
        CompileOptions next = options;
        next.var_sanity_check_first_run &= !is_compiled;
        return next;
    }

    std::shared_ptr<const Program> compile(const TensorSpecs& inputs, std::span<const DeviceId> places) {
        Graph placed = place_inputs(infer_with_names(graph, inputs), places);
        auto next = options_of_next();
        if (!options.no_profiling_on_shape_change) return compile_inferred(std::move(placed), next);
        if (first) return compile_inferred(std::move(placed), with_known_algorithms(next, *first));
        return first = compile_inferred(std::move(placed), next);
    }

    // A program for all sizes of the axes in which a kept one differs, null if there is none.
    std::shared_ptr<KeptProgram> open_program(KeptPrograms& kept, const TensorSpecs& inputs,
                                              std::span<const DeviceId> places) const {
        std::vector<const TensorSpecs*> earlier;
        for (auto& entry : kept.list)
            if (!entry->open && std::ranges::equal(entry->places, places)) earlier.push_back(&entry->inputs);
        auto found = kept.open.compile(graph, earlier, inputs, places, options_of_next());
        if (!found) return nullptr;
        auto entry = std::make_shared<KeptProgram>();
        entry->program = std::move(found->program);
        entry->open = std::move(found->open);
        return entry;
    }

    std::vector<DeviceId> own_places() const {
        std::vector<DeviceId> places;
        for (ValueId id : graph.inputs()) places.push_back(graph.value(id).device);
        return places;
    }

    // With `may_be_open` the program may be one for further sizes, too.
    std::shared_ptr<KeptProgram> find(const TensorSpecs& inputs, std::span<const DeviceId> places,
                                      bool may_be_open) {
        auto& of_this = of_process.get();
        auto& entries = of_this.list;
        std::lock_guard lock(of_this.mutex);
        for (auto it = entries.begin(); it != entries.end(); ++it)
            if ((may_be_open || !(*it)->open) && (*it)->is_for(inputs, places)) {
                entries.splice(entries.begin(), entries, it);
                return entries.front();
            }
        if (options.const_shape) require_own_shapes(inputs);
        if (options.comp_node_seq_record_level == 2 && !entries.empty())
            require_recorded_shapes(entries.back()->inputs, inputs);
        auto entry = may_be_open ? open_program(of_this, inputs, places) : nullptr;
        if (!entry) {
            entry = std::make_shared<KeptProgram>();
            entry->program = compile(inputs, places);
        }
        is_compiled = true;
        entry->inputs = inputs;
        entry->places.assign(places.begin(), places.end());
        entries.push_front(entry);
        if (entries.size() > kept_programs) entries.pop_back();
        return entry;
    }
};

Executable::Executable(Graph graph, CompileOptions options, std::shared_ptr<ContextMemory> memory)
    : state_(std::make_unique<State>()) {
    if (options.force_output_use_user_specified_memory)
        throw_user(named(options, "force_output_use_user_specified_memory"),
                   "an Executable allocates the memory of its outputs; bind them to a Context");
    if (memory) state_->of_process.get().memory = std::move(memory);
    state_->graph = place(std::move(graph), options.device);
    state_->prints = remember_constants(state_->graph);
    state_->options = std::move(options);
    state_->skips_next = state_->options.fake_next_exec;
    if (!state_->options.uploads) state_->options.uploads = std::make_shared<ConstantUploads>();
}
Executable::~Executable() = default;

std::shared_ptr<ContextMemory> Executable::memory() const { return state_->of_process.get().memory; }

const Graph& Executable::graph() const { return state_->graph; }

std::shared_ptr<const Program> Executable::program_for(const TensorSpecs& inputs) {
    return state_->find(inputs, state_->own_places(), false)->program;
}

void Executable::fake_next_exec() {
    require_fake_runs(state_->options);
    state_->skips_next = true;
}

Tensors Executable::run(std::span<const Tensor> inputs, StepObserver* observer,
                        const std::vector<bool>& is_donated) {
    TensorSpecs specs;
    std::vector<DeviceId> places;
    for (auto& input : inputs) {
        if (!input) throw_type_error("graph", "input ", specs.size(), " is missing");
        specs.push_back(input.spec());
        places.push_back(input.device());
    }
    auto entry = state_->find(specs, places, true);
    auto& shared = state_->of_process.get();
    std::lock_guard lock(shared.running);
    bool is_first = !entry->context;
    if (is_first) {
        entry->context = std::make_unique<CompiledContext>(
            entry->program, shared.memory,
            OwnPorts{.inputs = false, .outputs = false, .is_waited_for = false});
        entry->context->skip_next_run(false);  // one run over all contexts is skipped, not one of each
    }
    auto& context = *entry->context;
    bool is_fake = state_->skips_next.exchange(false, std::memory_order_relaxed);
    for (size_t i = 0; i < inputs.size(); ++i) context.bind_input(i, inputs[i]);
    std::vector<StorageRef> given;
    // The first run is checked (var_sanity_check_first_run), which treats changed inputs as faults.
    if (!is_first && !is_fake) given = donated_memory(*entry->program, inputs, is_donated);
    context.renew_outputs(given);
    if (!is_fake) {
        ObserverScope scope(context, observer);
        context.run();
        context.wait_until_enqueued();
    }
    Tensors outputs;
    for (size_t i = 0; i < entry->program->outputs().size(); ++i) {
        auto& graph = entry->program->graph();
        Location location = entry->program->parts().placement.locate(graph.outputs()[i]);
        // An input that is returned shares the caller's memory, so return the caller's tensor.
        auto& spec = graph.value(graph.outputs()[i]).spec;
        if (location.kind == Location::Kind::input)
            outputs.push_back(inputs[location.at].with_shape(spec.shape));
        else
            outputs.push_back(is_fake ? output_of_fake_run(spec, graph.value(graph.outputs()[i]).device)
                                      : context.output(i));
    }
    for (auto& taken : entry->program->parts().placement.taken_inputs) context.hand_over(taken.output);
    return outputs;
}

}  // namespace mge
