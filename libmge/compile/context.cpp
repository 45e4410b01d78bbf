// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "libmge/base/number_text.h"
#include "libmge/base/rethrow.h"
#include "libmge/compile/bound_context.h"
#include "libmge/compile/compaction.h"
#include "libmge/compile/compiled_context.h"
#include "libmge/compile/plain.h"
#include "libmge/compile/plan_memory.h"
#include "libmge/device/copying.h"
#include "libmge/device/device.h"

namespace mge {
namespace {

const void* address_in(const void* memory, const Location& location) {
    return static_cast<const char*>(memory) + location.offset;
}

void do_nothing(const Prepared&, const Launch&) {}

// By step: the dynamic values that are read there for the last time, or made there and never read.
std::vector<std::vector<ValueId>> released_values(const Program& program) {
    auto& steps = program.parts().steps;
    std::map<ValueId, size_t> last;
    for (size_t i = 0; i < steps.size(); ++i) {
        if (!steps[i].is_dynamic) continue;
        for (auto* locations : {&steps[i].inputs, &steps[i].outputs})
            for (auto& location : *locations)
                if (location.kind == Location::Kind::dynamic) last[ValueId(location.at)] = i;
    }
    // Those that only a callback reads stay with it when no step reads them.
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

void throw_no_port(std::string_view kind, size_t i, size_t count) {
    throw_user("context", text("there is no ", kind, ' ', i, "; the program has ", count), ErrorClass::index);
}

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

void Context::fill_inputs(std::span<const Tensor> inputs) {
    auto& ports = program().inputs();
    for (size_t i = 0; i < inputs.size(); ++i)
        copy_between(ports.at(i).device, input(i), inputs[i].device(), inputs[i].address(),
                     inputs[i].spec().bytes());
}

CompiledContext::CompiledContext(std::shared_ptr<const Program> program,
                                 std::shared_ptr<ContextMemory> memory, OwnPorts own, LentArena lent)
    : program_(std::move(program)),
      parts_(program_->parts()),
      arenas_(*program_, std::move(memory), lent),
      dynamic_values_(program_->graph().values().size()) {
    auto& options = parts_.options;
    // What is made anew in each run, or given by others, has no place of its own.
    bool are_given = options.force_dynamic_alloc || options.force_output_dynamic_alloc ||
                     options.force_output_use_user_specified_memory;
    allocate_ports({own.inputs, own.outputs && !are_given});
    make_instructions();
    if (options.force_dynamic_alloc) note_block_lives();
    skips_next_ = options.fake_next_exec;
    if (parts_.holds_graphs()) inner_run_ = &run_;
    if (parts_.check) check_ = std::make_unique<CheckedRun>(*program_, *parts_.check);
    is_late_ = !are_on_host(program_->places());
    if (!parts_.asking.copies.steps.empty())
        copies_ = std::make_unique<CopiesBeside>(parts_.asking.copies, program_->places());
    origins_ = std::make_shared<StepOrigins>(program_, own.is_waited_for);
    if (!parts_.asking.threads.empty())
        dispatch_ = std::make_unique<Dispatch>(
            parts_.asking.threads,
            Dispatch::Work{[this](size_t step) { ask(step); },
                           [this](std::exception_ptr failure) { finish_dispatch(std::move(failure)); }});
    output_waits_ = own.is_waited_for && (is_late_ || dispatch_);
    bool is_recorded = options.comp_node_seq_record_level || options.seq_opt.enable_run_recording;
    bool may_stay = lives_.empty() && dynamic_steps_.empty() && !copies_;
    if (is_recorded && may_stay && is_late_ && queues_.size() == 1) make_recordable();
    update_special();
}

void CompiledContext::make_recordable() {
    auto* recorder = dynamic_cast<RecordingQueue*>(queues_[0]);
    if (!recorder) return;
    std::vector<RecordedRun::Port> ports;
    auto add = [&](bool are_outputs) {
        auto& memory = are_outputs ? parts_.placement.outputs : parts_.placement.inputs;
        for (size_t i = 0; i < memory.size(); ++i) {
            Port& port = (are_outputs ? outputs_ : inputs_)[i];
            ports.push_back({port.storage ? port.data : nullptr, memory[i].bytes, are_outputs});
        }
    };
    add(false);
    add(true);
    recorded_ = std::make_unique<RecordedRun>(*queues_[0], *recorder, std::move(ports),
                                              text("graph ", program_->id(), ", as it was recorded"));
}

void CompiledContext::allocate_ports(OwnPorts own) {
    own_ = own;
    std::vector<std::optional<size_t>> bytes(program_->places().size());
    auto add_ports = [&](std::vector<Port>& ports, const std::vector<MemoryLayout::PortMemory>& wanted,
                         bool are_own) {
        for (auto [size, place] : wanted) {
            size_t offset = are_own ? bytes[place].value_or(0) : 0;
            ports.push_back({{}, offset, place, nullptr, {}});
            if (are_own) bytes[place] = offset + align_up(size);
        }
    };
    add_ports(inputs_, parts_.placement.inputs, own.inputs);
    add_ports(outputs_, parts_.placement.outputs, own.outputs);
    for (size_t i = 0; i < bytes.size(); ++i) {
        queues_.push_back(&queue_of(program_->places()[i]));
        memory_.emplace_back();
        if (!bytes[i]) continue;
        memory_[i] = port_memory(i, *bytes[i]);
        // Touching every page now spares the runs their page faults.
        queues_[i]->fill(memory_[i]->data, 0, *bytes[i]);
    }
    auto fill_ports = [&](std::vector<Port>& ports) {
        for (auto& port : ports) {
            port.storage = memory_[port.place];
            port.data = static_cast<char*>(port.storage->data) + port.offset;
        }
    };
    if (own.inputs) fill_ports(inputs_);
    if (own.outputs) fill_ports(outputs_);
    for (auto& block : parts_.placement.blocks) blocks_.push_back({{}, 0, block.place, nullptr, {}});
}

// What a device copies from and to while it computes has to be locked for it.
StorageRef CompiledContext::port_memory(size_t place, size_t bytes) const {
    auto& copies = parts_.asking.copies.copies;
    auto& places = program_->places();
    bool is_copied = places[place].is_host() && own_.is_waited_for && !copies.empty();
    return allocate_beside(places[place], is_copied ? places[copies[0].place] : places[place], bytes);
}

void CompiledContext::follow(const Location& location, void** follower) {
    *follower = nullptr;
    auto follow_port = [&](Port& port) {
        port.followers.push_back({follower, location.offset});
        port.followers.back().point(port.data);
    };
    switch (location.kind) {
        case Location::Kind::arena:
            return arenas_.follow(follower, location.place, location.at + location.offset);
        case Location::Kind::block:
            return follow_port(blocks_[location.at]);
        case Location::Kind::input:
            return follow_port(inputs_[location.at]);
        case Location::Kind::output:
            return follow_port(outputs_[location.at]);
        case Location::Kind::constant:
            Follower{follower, location.offset}.point(const_cast<void*>(location.constant));
            return;
        case Location::Kind::absent:
        case Location::Kind::dynamic:
            return;
    }
}

void CompiledContext::make_instructions() {
    auto& steps = parts_.steps;
    size_t count = 0;
    for (auto& step : steps) count += step.inputs.size() + step.outputs.size();
    addresses_.resize(count);
    auto released = released_values(*program_);
    auto& options = parts_.options;
    instructions_.reserve(steps.size());  // workspaces without a plan are followed
    void** next = addresses_.data();
    for (auto& step : steps) {
        if (step.is_dynamic) {
            bool may_view = !step.inputs.empty() && step.inputs[0].kind == Location::Kind::dynamic;
            dynamic_steps_.push_back(std::make_unique<DynamicStep>(
                program_->graph(), program_->graph().node(step.node), options, may_view,
                [this](ValueId id) { return tensor_at(id); },
                [this](ValueId id, Tensor value) { dynamic_values_[size_t(id)] = std::move(value); },
                [this](const TensorSpec& spec, DeviceId device) { return make_dynamic(spec, device); }));
            dynamic_steps_.back()->release_after(released[instructions_.size()]);
            Launch launch;
            launch.allocator = dynamic_steps_.back().get();
            instructions_.push_back({DynamicStep::run_instruction, &nothing_, launch});
            continue;
        }
        void** inputs = next;
        for (auto& location : step.inputs) follow(location, next++);
        void** outputs = next;
        for (auto& location : step.outputs) follow(location, next++);
        instructions_.push_back({step.is_idle ? do_nothing : step.choice.algorithm->run,
                                 &step.choice.prepared,
                                 Launch{{inputs, step.inputs.size()},
                                        {outputs, step.outputs.size()},
                                        nullptr,
                                        options.threads,
                                        nullptr,
                                        queues_[step.place]}});
        follow(step.workspace, &instructions_.back().launch.workspace);
    }
}

void CompiledContext::note_block_lives() {
    lives_.resize(instructions_.size());
    auto& blocks = parts_.placement.blocks;
    for (size_t i = 0; i < blocks.size(); ++i) {
        lives_.at(size_t(blocks[i].first)).blocks.push_back(i);
        lives_.at(size_t(blocks[i].last)).ended_blocks.push_back(i);
    }
    if (parts_.options.force_output_use_user_specified_memory) return;  // they have theirs
    for (size_t i = 0; i < outputs_.size(); ++i)
        lives_.at(size_t(parts_.placement.output_steps[i])).outputs.push_back(i);
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

// False when there is nothing to move.
bool CompiledContext::move_together(size_t place, size_t needed) {
    Compaction compaction(arenas_, place);
    DeviceId device = program_->places()[place];
    for (auto& value : dynamic_values_)
        if (value && value.device() == device) compaction.add(value);
    for (auto& block : blocks_)
        if (block.place == place && block.storage)
            compaction.add(block.storage, [this, &block](StorageRef storage) {
                block.storage = std::move(storage);
                point(block, block.storage ? block.storage->data : nullptr);
            });
    return compaction.run(needed);
}

void CompiledContext::take(Port& port, size_t bytes) { take(port, allocate_dynamic(port.place, bytes)); }

void CompiledContext::take(Port& port, StorageRef storage) {
    port.storage = std::move(storage);
    port.offset = 0;
    point(port, port.storage->data);
}

Tensor CompiledContext::make_dynamic(const TensorSpec& spec, DeviceId device) {
    size_t place = index_of(device, program_->places());
    MGE_CHECK(place < program_->places().size(), "a value at a place of no step");
    return Tensor(spec, allocate_dynamic(place, spec.bytes()), 0, device);
}

void CompiledContext::take_blocks(size_t step) {
    try {
        for (size_t i : lives_[step].blocks) take(blocks_[i], parts_.placement.blocks[i].bytes);
        for (size_t i : lives_[step].outputs) take(outputs_[i], parts_.placement.outputs[i].bytes);
    } catch (...) {
        rethrow_in(step_text(*program_, step, place_));
    }
}

void CompiledContext::forget(Port& port) {
    port.storage = {};
    port.data = nullptr;
}

void CompiledContext::give_blocks(size_t step) {
    for (size_t i : lives_[step].ended_blocks) forget(blocks_[i]);
}

void* CompiledContext::input(size_t i) {
    if (i >= inputs_.size()) throw_no_port("input", i, inputs_.size());
    if (!own_.inputs) return inputs_[i].data;
    return static_cast<char*>(memory_[inputs_[i].place]->data) + inputs_[i].offset;
}

void CompiledContext::point(Port& port, void* data) {
    port.data = data;
    for (auto& follower : port.followers) follower.point(data);
}

void CompiledContext::bind_input(size_t i, const void* data) {
    void* own = input(i);
    inputs_[i].storage = data ? StorageRef{} : memory_[inputs_[i].place];
    point(inputs_[i], data ? const_cast<void*>(data) : own);
}

// The memory of an output that is nobody else's.
CompiledContext::Port& CompiledContext::own_output(size_t i) {
    auto& ids = program_->graph().outputs();
    if (i >= ids.size()) throw_no_port("output", i, ids.size());
    Location location = parts_.placement.locate(ids[i]);
    auto lies_there = [&](ValueId id) {
        Location other = parts_.placement.locate(id);
        return other.kind == location.kind && other.at == location.at;
    };
    if (location.kind != Location::Kind::output || std::ranges::count_if(ids, lies_there) != 1)
        throw_user("context",
                   text("output ", i, " has no memory of its own that could be given; compile with ",
                        "force_output_use_user_specified_memory"));
    return outputs_[location.at];
}

void CompiledContext::bind_output(size_t i, void* data, size_t bytes) {
    Port& port = own_output(i);
    size_t needed = program_->outputs()[i].spec.bytes();
    if (data && bytes < needed)
        throw_user("context",
                   text("output ", i, " has ", counted(needed, "byte"), ", the memory given for it ", bytes));
    port.storage = data || !own_.outputs ? StorageRef{} : memory_[port.place];
    bool is_own = port.storage.get() != nullptr;
    point(port, is_own ? static_cast<char*>(port.storage->data) + port.offset : data);
    update_special();
}

bool CompiledContext::are_outputs_bound() const {
    return std::ranges::all_of(outputs_, [](auto& port) { return port.data != nullptr; });
}

void CompiledContext::require_outputs() const {
    if (!are_outputs_bound())
        throw_user(
            "context",
            "an output has no memory: with force_output_use_user_specified_memory bind_output() has to "
            "give it for each of them");
}

void CompiledContext::renew_outputs(std::span<const StorageRef> given) {
    if (parts_.options.force_dynamic_alloc) return;  // each at its step
    for (size_t i = 0; i < outputs_.size(); ++i) {
        auto& port = outputs_[i];
        if (i < given.size() && given[i]) {
            take(port, given[i]);
            continue;
        }
        // Nobody has kept what it held.
        bool is_free =
            port.storage && port.storage.get() != memory_[port.place].get() && port.storage->users == 1;
        if (!is_free) take(port, parts_.placement.outputs[i].bytes);
    }
}

Tensor CompiledContext::tensor_at(ValueId id) {
    auto& value = program_->graph().value(id);
    Location location = parts_.placement.locate(id);
    auto in_port = [&](Port& port) {
        if (!port.data) return Tensor();  // not yet, or no more
        if (port.storage)
            return Tensor(value.spec, port.storage, port.offset + location.offset, value.device);
        return Tensor(value.spec,
                      borrow_storage(address_in(port.data, location), value.spec.bytes(), nullptr), 0,
                      value.device);
    };
    switch (location.kind) {
        case Location::Kind::arena:
            return arenas_.at(location.place, location.at + location.offset, value.spec, value.device);
        case Location::Kind::block:
            return in_port(blocks_[location.at]);
        case Location::Kind::input:
            return in_port(inputs_[location.at]);
        case Location::Kind::output:
            return in_port(outputs_[location.at]);
        case Location::Kind::constant:
            if (!location.constant && value.spec.bytes()) return {};
            // The spec of the value: a view of a constant has another shape.
            return Tensor(
                value.spec,
                borrow_storage(address_in(location.constant, location), value.spec.bytes(), program_), 0,
                value.device);
        case Location::Kind::absent:
        case Location::Kind::dynamic:
            break;
    }
    return dynamic_values_[size_t(id)];
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
    if (output_waits_) wait();
    return tensor_at(ids[i]);
}

Tensor CompiledContext::copy_output(size_t i) {
    Tensor now = output(i);
    return now ? copy_plain(now) : now;
}

}  // namespace mge
