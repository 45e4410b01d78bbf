// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstring>
#include <map>

#include "libmge/compile/compiled_context.h"
#include "libmge/compile/plan_memory.h"
#include "libmge/device/device.h"

namespace mge {
namespace {

[[noreturn]] void throw_no_port(std::string_view kind, size_t i, size_t count) {
    throw_user("context", text("there is no ", kind, ' ', i, "; the program has ", count), ErrorClass::index);
}

// By step: the dynamic values that are read there for the last time, or made there and never read.
std::vector<std::vector<ValueId>> released_values(const CompiledProgram& program) {
    auto& steps = program.compiled_steps();
    std::map<ValueId, size_t> last;
    for (size_t i = 0; i < steps.size(); ++i) {
        if (!steps[i].is_dynamic) continue;
        for (auto* locations : {&steps[i].inputs, &steps[i].outputs})
            for (auto& location : *locations)
                if (location.kind == Location::Kind::dynamic) last[ValueId(location.at)] = i;
    }
    for (ValueId id : program.graph().outputs()) last.erase(id);
    std::vector<std::vector<ValueId>> released(steps.size());
    for (auto [id, step] : last) released[step].push_back(id);
    return released;
}

}  // namespace

std::unique_ptr<Context> Context::create(std::shared_ptr<const Program> program) {
    auto compiled = std::dynamic_pointer_cast<const CompiledProgram>(std::move(program));
    MGE_CHECK(compiled);
    return std::make_unique<CompiledContext>(std::move(compiled));
}

void Context::fill_inputs(std::span<const Tensor> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i)
        if (size_t bytes = inputs[i].spec().bytes()) std::memcpy(input(i), inputs[i].data(), bytes);
}

CompiledContext::CompiledContext(std::shared_ptr<const CompiledProgram> program, bool own_outputs)
    : program_(std::move(program)), dynamic_values_(program_->graph().values().size()) {
    allocate(own_outputs);
    make_instructions();
    skips_next_ = program_->options().fake_next_exec;
    if (program_->check()) {
        check_ = std::make_unique<CheckedRun>(*program_);
        observer_ = check_.get();
    }
}

CompiledContext::~CompiledContext() {
    if (!worker_.joinable()) return;
    {
        std::lock_guard lock(mutex_);
        is_closing_ = true;
    }
    changed_.notify_all();
    worker_.join();
}

void CompiledContext::allocate(bool own_outputs) {
    size_t bytes = align_up(program_->arena_bytes());
    auto add_ports = [&](std::vector<Port>& ports, const std::vector<size_t>& sizes) {
        for (size_t size : sizes) {
            ports.push_back({{}, bytes, nullptr, {}});
            bytes += align_up(size);
        }
    };
    add_ports(inputs_, program_->input_bytes());
    if (own_outputs)
        add_ports(outputs_, program_->output_bytes());
    else
        outputs_.resize(program_->output_bytes().size());
    memory_ = device(default_device()).allocate(bytes);
    // Touching every page now spares the runs their page faults.
    std::memset(memory_->data, 0, bytes);
    auto fill_ports = [&](std::vector<Port>& ports) {
        for (auto& port : ports) {
            port.storage = memory_;
            port.data = static_cast<char*>(memory_->data) + port.offset;
        }
    };
    fill_ports(inputs_);
    if (own_outputs) fill_ports(outputs_);
}

void* CompiledContext::address(const Location& location, void** follower) {
    switch (location.kind) {
        case Location::Kind::arena:
            return static_cast<char*>(memory_->data) + location.at;
        case Location::Kind::input:
            inputs_[location.at].followers.push_back(follower);
            return inputs_[location.at].data;
        case Location::Kind::output:
            outputs_[location.at].followers.push_back(follower);
            return outputs_[location.at].data;
        case Location::Kind::constant:
            return const_cast<void*>(location.constant);
        case Location::Kind::absent:
        case Location::Kind::dynamic:
            break;
    }
    return nullptr;
}

void CompiledContext::make_instructions() {
    auto& steps = program_->compiled_steps();
    size_t count = 0;
    for (auto& step : steps) count += step.inputs.size() + step.outputs.size();
    addresses_.resize(count);
    auto released = released_values(*program_);
    auto& options = program_->options();
    void** next = addresses_.data();
    for (auto& step : steps) {
        if (step.is_dynamic) {
            bool may_view = !step.inputs.empty() && step.inputs[0].kind == Location::Kind::dynamic;
            dynamic_steps_.push_back(std::make_unique<DynamicStep>(
                program_->graph().node(step.node), options, may_view,
                [this](ValueId id) { return tensor_at(id); },
                [this](ValueId id, Tensor value) { dynamic_values_[size_t(id)] = std::move(value); }));
            dynamic_steps_.back()->release_after(released[instructions_.size()]);
            Launch launch;
            launch.allocator = dynamic_steps_.back().get();
            instructions_.push_back({DynamicStep::run_instruction, &nothing_, launch});
            continue;
        }
        void** inputs = next;
        for (auto& location : step.inputs) *next = address(location, next), ++next;
        void** outputs = next;
        for (auto& location : step.outputs) *next = address(location, next), ++next;
        instructions_.push_back({step.choice.algorithm->run, &step.choice.prepared,
                                 Launch{{inputs, step.inputs.size()},
                                        {outputs, step.outputs.size()},
                                        address(step.workspace, nullptr),
                                        options.threads,
                                        nullptr}});
    }
}

void* CompiledContext::input(size_t i) {
    if (i >= inputs_.size()) throw_no_port("input", i, inputs_.size());
    return static_cast<char*>(memory_->data) + inputs_[i].offset;
}

void CompiledContext::point(Port& port, void* data) {
    port.data = data;
    for (void** follower : port.followers) *follower = data;
}

void CompiledContext::bind_input(size_t i, const void* data) {
    void* own = input(i);
    inputs_[i].storage = data ? StorageRef{} : memory_;
    point(inputs_[i], data ? const_cast<void*>(data) : own);
}

Tensors CompiledContext::bound_inputs() {
    Tensors result;
    for (size_t i = 0; i < inputs_.size(); ++i) {
        auto& spec = program_->inputs()[i].spec;
        result.emplace_back(spec, borrow_storage(inputs_[i].data, spec.bytes(), nullptr));
    }
    return result;
}

void CompiledContext::renew_outputs() {
    for (size_t i = 0; i < outputs_.size(); ++i) {
        outputs_[i].storage = device(default_device()).allocate(program_->output_bytes()[i]);
        outputs_[i].offset = 0;
        point(outputs_[i], outputs_[i].storage->data);
    }
}

void CompiledContext::run() {
    if (skips_next_) [[unlikely]] {
        skips_next_ = false;
        return;
    }
    if (observer_) return run_observed(*observer_);
    for (auto& instruction : instructions_) instruction.run(*instruction.prepared, instruction.launch);
}

void CompiledContext::observe(StepObserver* observer) {
    if (check_)
        check_->tell(observer);
    else
        observer_ = observer;
}

void CompiledContext::run_observed(StepObserver& observer) {
    if (check_) check_->begin(*this);
    for (size_t i = 0; i < instructions_.size(); ++i) {
        observer.before_step(i, *this);
        instructions_[i].run(*instructions_[i].prepared, instructions_[i].launch);
        observer.after_step(i, *this);
    }
    if (check_) check_->finish(*this);
}

void CompiledContext::start() {
    std::lock_guard lock(mutex_);
    if (is_started_)
        throw_user("context", "start() was called twice; call wait() before starting the next run");
    is_started_ = true;
    if (!worker_.joinable()) worker_ = std::thread([this] { work(); });
    changed_.notify_all();
}

void CompiledContext::wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !is_started_; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void CompiledContext::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return is_started_ || is_closing_; });
        if (!is_started_) return;
        lock.unlock();
        std::exception_ptr failure;
        try {
            run();
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        failure_ = failure;
        is_started_ = false;
        changed_.notify_all();
    }
}

Tensor CompiledContext::tensor_at(ValueId id) {
    auto& value = program_->graph().value(id);
    Location location = program_->locate(id);
    auto in_port = [&](Port& port) {
        if (port.storage) return Tensor(value.spec, port.storage, port.offset);
        return Tensor(value.spec, borrow_storage(port.data, value.spec.bytes(), nullptr));
    };
    switch (location.kind) {
        case Location::Kind::arena:
            return Tensor(value.spec, memory_, location.at);
        case Location::Kind::input:
            return in_port(inputs_[location.at]);
        case Location::Kind::output:
            return in_port(outputs_[location.at]);
        case Location::Kind::constant:
            // The spec of the value: a view of a constant has another shape.
            return Tensor(value.spec, borrow_storage(location.constant, value.spec.bytes(), program_));
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
    return tensor_at(ids[i]);
}

Tensor CompiledContext::copy_output(size_t i) {
    Tensor result = output(i);
    if (!result) return result;
    return tensor_from_host(result.spec(), result.data(), result.device());
}

std::vector<double> CompiledContext::time_steps() {
    using Clock = std::chrono::steady_clock;
    std::vector<double> times;
    times.reserve(instructions_.size());
    for (auto& instruction : instructions_) {
        auto start = Clock::now();
        instruction.run(*instruction.prepared, instruction.launch);
        times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
    return times;
}

}  // namespace mge
