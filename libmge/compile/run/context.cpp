// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "libmge/base/rethrow.h"
#include "libmge/compile/memory/compaction.h"
#include "libmge/compile/plain.h"
#include "libmge/compile/run/bound_context.h"
#include "libmge/compile/run/compiled_context.h"
#include "libmge/device/copying.h"
#include "libmge/device/device.h"

namespace mge {
namespace {

void do_nothing(const Prepared&, const Launch&) {}

std::vector<Queue*> queues_of(std::span<const DeviceId> places) {
    std::vector<Queue*> queues;
    for (DeviceId place : places) queues.push_back(&queue_of(place));
    return queues;
}

// True if outputs are allocated in each run, or bound by the caller: the context has no memory for them.
bool gives_outputs_memory(const CompileOptions& o) {
    return o.force_dynamic_alloc || o.force_output_dynamic_alloc || o.force_output_use_user_specified_memory;
}

// Returns, by step, the dynamic values to free: last read there, or made there and never read.
std::vector<std::vector<ValueId>> released_values(const Program& program) {
    auto& steps = program.parts().steps;
    std::map<ValueId, size_t> last;
    for (size_t i = 0; i < steps.size(); ++i) {
        if (!steps[i].is_dynamic) continue;
        for (auto* locations : {&steps[i].inputs, &steps[i].outputs})
            for (auto& location : *locations)
                if (location.kind == Location::Kind::dynamic) last[ValueId(location.at)] = i;
    }
    // Values that only a callback reads are freed after its step.
    auto& outputs = program.graph().outputs();
    auto ready = ready_steps(program);
    for (size_t i = 0; i < outputs.size(); ++i)
        if (auto it = last.find(outputs[i]); it != last.end())
            if (!program.parts().ports.is_callback_output[i] || int(it->second) == ready[size_t(outputs[i])])
                last.erase(it);
    std::vector<std::vector<ValueId>> released(steps.size());
    for (auto [id, step] : last) released[step].push_back(id);
    return released;
}

}  // namespace

std::unique_ptr<Context> Context::create(std::shared_ptr<const Program> program,
                                         std::shared_ptr<ContextMemory> memory) {
    MGE_CHECK(program);
    return std::make_unique<CompiledContext>(std::move(program), std::move(memory));
}

std::unique_ptr<Context> create_bound_context(std::shared_ptr<const Program> program,
                                              std::shared_ptr<ContextMemory> memory) {
    MGE_CHECK(program);
    return std::make_unique<CompiledContext>(std::move(program), std::move(memory),
                                             OwnPorts{.inputs = false, .outputs = false});
}

void bind_input(Context& bound_context, size_t i, const Tensor& value) {
    static_cast<CompiledContext&>(bound_context).bind_input(i, value);
}

void Context::fill_inputs(std::span<const Tensor> inputs) {
    auto& ports = program().inputs();
    for (size_t i = 0; i < inputs.size(); ++i)
        copy_between(ports.at(i).device, input(i), inputs[i].device(), inputs[i].address(),
                     inputs[i].spec().bytes());
}

CompiledContext::CompiledContext(std::shared_ptr<const Program> program,
                                 std::shared_ptr<ContextMemory> memory, OwnPorts own, BorrowedArena lent)
    : program_(std::move(program)),
      parts_(program_->parts()),
      queues_(queues_of(parts_.places)),
      arenas_(*program_, std::move(memory), lent),
      ports_(parts_, queues_, {own.inputs, own.outputs && !gives_outputs_memory(parts_.options)}) {
    make_instructions();
    if (parts_.options.force_dynamic_alloc) note_block_lifetimes();
    around_.skips_next = parts_.options.fake_next_exec;
    if (parts_.check) around_.check = std::make_unique<CheckedRun>(*program_, *parts_.check);
    origins_ = std::make_shared<StepOrigins>(program_, own.is_waited_for);
    if (!parts_.enqueue_plan.threads.empty())
        dispatch_ = std::make_unique<Dispatch>(
            parts_.enqueue_plan.threads,
            Dispatch::Work{[this](size_t step) { enqueue(step); },
                           [this](std::exception_ptr failure) { finish_dispatch(std::move(failure)); }});
    late_.is_late = !are_on_host(parts_.places);
    late_.output_waits = own.is_waited_for && (late_.is_late || dispatch_);
    if (!parts_.enqueue_plan.copies.steps.empty())
        late_.copies = std::make_unique<OverlappedCopies>(parts_.enqueue_plan.copies, parts_.places);
    make_recordable();
    choose_mode();
}

// Recordings need fixed addresses and a single queue that can record.
void CompiledContext::make_recordable() {
    auto& options = parts_.options;
    bool is_recorded = options.comp_node_seq_record_level || options.plan.records_runs;
    bool may_stay = lifetimes_.empty() && code_.dynamic_steps.empty() && !late_.copies;
    if (!is_recorded || !may_stay || !late_.is_late || queues_.size() != 1) return;
    auto* recorder = dynamic_cast<RecordingQueue*>(queues_[0]);
    if (!recorder) return;
    std::vector<RecordedRun::Port> recorded;
    auto add = [&](const std::vector<Port>& ports, const std::vector<MemoryLayout::PortMemory>& memory,
                   bool are_outputs) {
        for (size_t i = 0; i < memory.size(); ++i)
            recorded.push_back({ports[i].storage ? ports[i].data : nullptr, memory[i].bytes, are_outputs});
    };
    add(ports_.inputs, parts_.placement.inputs, false);
    add(ports_.outputs, parts_.placement.outputs, true);
    late_.recorded = std::make_unique<RecordedRun>(*queues_[0], *recorder, std::move(recorded),
                                                   text("graph ", program_->id(), ", as it was recorded"));
}

void CompiledContext::follow(const Location& location, void** follower) {
    *follower = nullptr;
    if (location.kind == Location::Kind::arena)
        return arenas_.follow(follower, location.place, location.at + location.offset);
    if (auto* port = ports_.find(location)) return port->follow(follower, location.offset);
    if (location.kind == Location::Kind::constant && location.constant)
        *follower = static_cast<char*>(const_cast<void*>(location.constant)) + location.offset;
}

void CompiledContext::make_instructions() {
    auto& steps = parts_.steps;
    size_t count = 0;
    for (auto& step : steps) count += step.inputs.size() + step.outputs.size();
    code_.addresses.resize(count);
    code_.dynamic_values.resize(parts_.graph.values().size());
    code_.instructions.reserve(steps.size());  // never reallocates: workspaces without a plan are followed
    auto released = released_values(*program_);
    void** next = code_.addresses.data();
    for (size_t i = 0; i < steps.size(); ++i) {
        auto& step = steps[i];
        if (step.is_dynamic) {
            add_dynamic(step, std::move(released[i]));
            continue;
        }
        void** inputs = next;
        for (auto& location : step.inputs) follow(location, next++);
        void** outputs = next;
        for (auto& location : step.outputs) follow(location, next++);
        Launch launch{{inputs, step.inputs.size()},
                      {outputs, step.outputs.size()},
                      nullptr,
                      parts_.options.threads,
                      nullptr,
                      queues_[step.place],
                      &run_};
        code_.instructions.push_back(
            {step.is_idle ? do_nothing : step.choice.algorithm->run, &step.choice.prepared, launch});
        follow(step.workspace, &code_.instructions.back().launch.workspace);
    }
}

void CompiledContext::add_dynamic(const CompiledStep& step, std::vector<ValueId> released) {
    auto is_dynamic = [](const Location& location) { return location.kind == Location::Kind::dynamic; };
    bool may_view =
        !step.inputs.empty() && is_dynamic(step.inputs[0]) && std::ranges::all_of(step.outputs, is_dynamic);
    auto dynamic = std::make_unique<DynamicStep>(
        parts_.graph, parts_.graph.node(step.node), parts_.options, may_view,
        [this](ValueId id) { return tensor_at(id); },
        [this](ValueId id, Tensor value) { code_.dynamic_values[size_t(id)] = std::move(value); },
        [this](ValueId id, const TensorSpec& spec, DeviceId device) {
            return make_dynamic(id, spec, device);
        });
    dynamic->release_after(std::move(released));
    Launch launch;
    launch.allocator = dynamic.get();
    launch.run = &run_;
    code_.instructions.push_back({DynamicStep::run_instruction, &code_.nothing, launch});
    code_.dynamic_steps.push_back(std::move(dynamic));
}

void CompiledContext::note_block_lifetimes() {
    lifetimes_.resize(code_.instructions.size());
    auto& blocks = parts_.placement.blocks;
    for (size_t i = 0; i < blocks.size(); ++i) {
        lifetimes_.at(size_t(blocks[i].first)).blocks.push_back(i);
        lifetimes_.at(size_t(blocks[i].last)).ended_blocks.push_back(i);
    }
    if (parts_.options.force_output_use_user_specified_memory) return;  // bound by the user
    for (size_t i = 0; i < ports_.outputs.size(); ++i)
        lifetimes_.at(size_t(parts_.placement.output_steps[i])).outputs.push_back(i);
}

StorageRef CompiledContext::allocate_dynamic(size_t place, size_t bytes) {
    if (run_.observer) [[unlikely]]
        run_.observer->allocated({program_->places()[place], bytes}, *this);
    if (!parts_.options.enable_var_mem_defragment) return arenas_.allocate_dynamic(place, bytes);
    try {
        return arenas_.allocate_dynamic(place, bytes);
    } catch (const MemoryError&) {
        if (!move_together(place, bytes)) throw;
    }
    return arenas_.allocate_dynamic(place, bytes);
}

// Returns false if there is nothing to move.
bool CompiledContext::move_together(size_t place, size_t needed) {
    Compaction compaction(arenas_, place);
    DeviceId device = program_->places()[place];
    for (auto& value : code_.dynamic_values)
        if (value && value.device() == device) compaction.add(value);
    for (auto& block : ports_.blocks)
        if (block.place == place && block.storage)
            compaction.add(block.storage, [&block](StorageRef storage) {
                block.storage = std::move(storage);
                block.point(block.storage ? block.storage->data : nullptr);
            });
    return compaction.run(needed);
}

Tensor CompiledContext::make_dynamic(ValueId id, const TensorSpec& spec, DeviceId device) {
    if (parts_.placement.locate(id).kind != Location::Kind::dynamic) {
        auto& planned = parts_.graph.value(id).spec;
        MGE_CHECK(planned == spec, "a step makes ", spec, " where ", planned, " is planned");
        return tensor_at(id);
    }
    size_t place = index_of(device, program_->places());
    MGE_CHECK(place < program_->places().size(), "a value at a place of no step");
    return Tensor(spec, allocate_dynamic(place, spec.bytes()), 0, device);
}

void CompiledContext::take_blocks(size_t step) {
    auto take = [&](Port& port, size_t bytes) { port.take(allocate_dynamic(port.place, bytes)); };
    try {
        for (size_t i : lifetimes_[step].blocks) take(ports_.blocks[i], parts_.placement.blocks[i].bytes);
        for (size_t i : lifetimes_[step].outputs) take(ports_.outputs[i], parts_.placement.outputs[i].bytes);
    } catch (...) {
        rethrow_in(step_text(*program_, step, place_));
    }
}

void CompiledContext::give_blocks(size_t step) {
    for (size_t i : lifetimes_[step].ended_blocks) ports_.blocks[i].forget();
}

// Frees the remains of an earlier run: outputs and, after an error, all values then alive.
void CompiledContext::forget_blocks() {
    for (auto& port : ports_.blocks) port.forget();
    if (parts_.options.force_output_use_user_specified_memory) return;
    for (auto& port : ports_.outputs) port.forget();
}

void CompiledContext::bind_input(size_t i, const Tensor& value) {
    ValueId id = parts_.graph.inputs().at(i);
    if (parts_.placement.locate(id).kind == Location::Kind::dynamic)
        code_.dynamic_values[size_t(id)] = value;
    else
        ports_.bind_input(i, value.address());
}

void CompiledContext::bind_output(size_t i, void* data, size_t bytes) {
    ports_.bind_output(i, data, bytes);
    choose_mode();
}

void CompiledContext::renew_outputs(std::span<const StorageRef> given) {
    if (parts_.options.force_dynamic_alloc) return;  // allocated at their steps
    for (size_t i = 0; i < ports_.outputs.size(); ++i) {
        auto& port = ports_.outputs[i];
        if (i < given.size() && given[i])
            port.take(given[i]);
        else if (!ports_.is_free(port))
            port.take(allocate_dynamic(port.place, parts_.placement.outputs[i].bytes));
    }
}

Tensor CompiledContext::tensor_at(ValueId id) {
    auto& value = parts_.graph.value(id);
    Location location = parts_.placement.locate(id);
    if (auto* port = ports_.find(location)) return port->tensor(value.spec, location.offset, value.device);
    if (location.kind == Location::Kind::arena)
        return arenas_.at(location.place, location.at + location.offset, value.spec, value.device);
    if (location.kind != Location::Kind::constant) return code_.dynamic_values[size_t(id)];
    if (!location.constant && value.spec.bytes()) return {};
    // Use the value's spec: a view of a constant has another shape.
    auto* address = static_cast<const char*>(location.constant) + location.offset;
    return Tensor(value.spec, borrow_storage(address, value.spec.bytes(), program_), 0, value.device);
}

Tensor CompiledContext::value(ValueId id) {
    auto& values = program_->values();
    if (id < 0 || size_t(id) >= values.size())
        throw_user("context", text("there is no value ", id, "; the program has ", values.size()),
                   ErrorClass::index);
    if (values[size_t(id)].place == ValueReport::Place::none) return {};
    return tensor_at(id);
}

Tensor CompiledContext::output(size_t i) {
    auto& ids = program_->graph().outputs();
    if (i >= ids.size()) throw_no_port("output", i, ids.size());
    if (parts_.ports.is_callback_output[i])
        throw_user("context",
                   text("output ", i, " is there for its callback only (callback_outputs): its memory is ",
                        "given to later steps"));
    if (late_.output_waits) wait();
    return tensor_at(ids[i]);
}

Tensor CompiledContext::copy_output(size_t i) {
    Tensor now = output(i);
    return now ? copy_plain(now) : now;
}

}  // namespace mge
