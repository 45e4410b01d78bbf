// SPDX-License-Identifier: Apache-2.0
// The ways in which a context runs: plainly, asynchronously, observed, and on other threads.
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "libmge/base/files/file.h"
#include "libmge/base/rethrow.h"
#include "libmge/compile/run/compiled_context.h"
#include "libmge/compile/run/first_run_check.h"
#include "libmge/device/queue.h"

namespace mge {

void CompiledContext::run() {
    HeldTurn turn(turn_);
    origins_->errors().rethrow();
    if (!is_dispatched()) return run_in_turn();
    HeldArenas arenas(arenas_);
    if (late_.copies) begin_copies();
    turn.hand_over([&] { arenas.hand_over([this] { dispatch_->start(); }); });
}

void CompiledContext::start() {
    if (is_dispatched()) return run();
    HeldTurn turn(turn_);
    origins_->errors().rethrow();
    turn.hand_over([this] { worker_.start(); });
}

void CompiledContext::run_for_start() {
    turn_.adopt();
    try {
        run_in_turn();
    } catch (...) {
        keep(std::current_exception());
    }
    turn_.give_back();
}

void CompiledContext::finish_dispatch(std::exception_ptr failure) {
    if (!failure) try {
            if (late_.copies) end_copies();
            if (cut_files()) parts_.require_whole_constants();
        } catch (...) {
            failure = std::current_exception();
        }
    if (late_.copies && failure) late_.copies->give_up();
    if (failure) keep(std::move(failure));
    arenas_.leave();
    turn_.give_back();
}

void CompiledContext::record_async_error(std::exception_ptr error) {
    if (!error)
        throw_value_error("record_async_error",
                          "the error is a null pointer; give the exception that was thrown");
    try {
        std::rethrow_exception(std::move(error));
    } catch (...) {
        try {
            rethrow_in(text("graph ", program_->id()));
        } catch (...) {
            keep(std::current_exception());
        }
    }
}

void CompiledContext::wait() {
    wait_until_enqueued();
    if (parts_.options.comp_seq_sync_device)
        for (Queue* queue : queues_) queue->wait();
    origins_->errors().rethrow();
}

void CompiledContext::wait_until_enqueued() {
    turn_.wait();
    origins_->errors().rethrow();
}

void CompiledContext::run_in_turn() {
    {
        HeldArenas arenas(arenas_);
        (this->*mode_)();
    }
    if (cut_files()) [[unlikely]]
        parts_.require_whole_constants();
}

bool CompiledContext::has_memory() const {
    return !parts_.options.force_output_use_user_specified_memory || ports_.are_outputs_bound();
}

void CompiledContext::choose_mode() {
    auto& options = parts_.options;
    bool is_changed = options.force_dynamic_alloc || options.force_output_dynamic_alloc ||
                      (options.var_sanity_check_first_run && !around_.was_checked);
    bool is_looked_at = !around_.observers.is_empty() || around_.check || !around_.callbacks.is_empty();
    mode_ = around_.skips_next           ? &CompiledContext::skip_run
            : !has_memory()              ? &CompiledContext::refuse_run
            : is_changed || is_looked_at ? &CompiledContext::run_observed
            : late_.is_late              ? &CompiledContext::run_late
                                         : &CompiledContext::run_plainly;
}

// True if the context's threads enqueue the steps, because no observer is attached.
bool CompiledContext::is_dispatched() const {
    return dispatch_ && (mode_ == &CompiledContext::run_plainly || mode_ == &CompiledContext::run_late);
}

void CompiledContext::run_plainly() {
    const Instruction* instruction = code_.instructions.data();
    const Instruction* end = instruction + code_.instructions.size();
    try {
        for (; instruction != end; ++instruction)
            instruction->run(*instruction->prepared, instruction->launch);
    } catch (...) {
        rethrow_in(step_text(*program_, size_t(instruction - code_.instructions.data()), place_));
    }
}

void CompiledContext::run_late() {
    if (late_.recorded && !place_ && late_.recorded->replay(ports_.addresses(), arenas_.generation())) return;
    run_by_steps();
    record_for_later();
}

void CompiledContext::skip_run() { skip_next_run(false); }

void CompiledContext::refuse_run() {
    throw_user("context",
               "an output has no memory: with force_output_use_user_specified_memory bind_output() has to "
               "give it for each of them");
}

void CompiledContext::run_by_steps() {
    auto enqueue_all = [&] {
        for (size_t i = 0; i < code_.instructions.size(); ++i) enqueue(i);
    };
    if (!late_.copies) return enqueue_all();
    begin_copies();
    try {
        enqueue_all();
        end_copies();
    } catch (...) {
        late_.copies->give_up();
        throw;
    }
}

// Runs may overlap only if the context does not share its memory.
void CompiledContext::begin_copies() {
    uint64_t arenas = arenas_.generation();
    bool is_same = std::exchange(late_.copied_arenas, arenas) == arenas;
    late_.copies->begin(is_same && arenas_.are_alone() && !place_);
}

void CompiledContext::end_copies() {
    late_.copies->enqueue_last([this](size_t step) { enqueue(step); });
    late_.copies->end([this](size_t step, const std::function<void()>& wait) {
        try {
            wait();
        } catch (...) {
            rethrow_in(step_text(*program_, step, place_));
        }
    });
}

// Call after a run step by step that the next run may replay as a recording.
void CompiledContext::record_for_later() {
    if (!late_.recorded || place_ || mode_ != &CompiledContext::run_late) return;
    auto& inputs = ports_.inputs;
    late_.recorded->note_run(
        ports_.addresses(), arenas_.generation(),
        {[this] {
             for (auto& each : code_.instructions) each.run(*each.prepared, each.launch);
         },
         [&](size_t i, void* at) {
             (i < inputs.size() ? inputs[i] : ports_.outputs[i - inputs.size()]).point(at);
         }});
    if (late_.recorded->is_over()) late_.recorded.reset();
}

// Adds the step's name to asynchronous errors.
void CompiledContext::enqueue(size_t step) {
    try {
        std::optional<WorkOriginScope> scope;
        if (late_.is_late) scope.emplace(origins_->of_step(step, place_));
        auto& instruction = code_.instructions[step];
        auto run = [&] { instruction.run(*instruction.prepared, instruction.launch); };
        if (late_.copies && late_.copies->is_running())
            late_.copies->step(step, parts_.steps[step].place, instruction.launch, run);
        else
            run();
    } catch (...) {
        rethrow_in(step_text(*program_, step, place_));
    }
}

void CompiledContext::fake_next_exec() {
    require_fake_runs(parts_.options);
    skip_next_run(true);
}

void CompiledContext::skip_next_run(bool skips) {
    around_.skips_next = skips;
    choose_mode();
}

void CompiledContext::run_observed() {
    auto& options = parts_.options;
    if (late_.copies) late_.copies->interrupt();
    if (options.force_output_dynamic_alloc) renew_outputs();
    if (options.force_dynamic_alloc) forget_blocks();
    std::optional<FirstRunCheck> first;
    around_.active.clear();
    if (options.var_sanity_check_first_run && !std::exchange(around_.was_checked, true)) {
        choose_mode();
        if (parts_.first_use->take_check()) around_.active.add(first.emplace(*program_, options.threads));
    }
    if (around_.check) around_.active.add(*around_.check);
    for (auto* observer : around_.observers.all()) around_.active.add(*observer);
    StepObserver* observer = run_.observer = around_.active.as_one();
    try {
        observe_steps();
        run_.observer = nullptr;
    } catch (...) {
        run_.observer = nullptr;
        if (observer) observer->after_failure(std::current_exception(), *this);
        throw;
    }
    record_for_later();
}

void CompiledContext::observe_steps() {
    StepObserver* observer = run_.observer;
    if (observer) {
        observer->before_run(*this);
        report_arenas();
    }
    call_back(0);
    for (size_t i = 0; i < code_.instructions.size(); ++i) {
        run_.step = i;
        if (!lifetimes_.empty()) take_blocks(i);
        if (observer) observer->before_step(i, *this);
        enqueue(i);
        if (observer) observer->after_step(i, *this);
        call_back(i + 1);
        if (!lifetimes_.empty()) give_blocks(i);
    }
    if (observer) observer->after_run(*this);
}

void CompiledContext::report_arenas() {
    if (std::exchange(around_.arenas, arenas_.generation()) == arenas_.generation()) return;
    for (size_t i = 0; i < parts_.places.size(); ++i)
        if (!arenas_.is_lent(i)) run_.observer->allocated({parts_.places[i], arenas_.bytes(i), true}, *this);
}

// Calls the callbacks of outputs that are ready after `steps` steps.
void CompiledContext::call_back(size_t steps) {
    if (around_.callbacks.is_empty()) return;
    for (size_t i : around_.callbacks.ready(steps))
        around_.callbacks.call(i, tensor_at(parts_.graph.outputs()[i]));
}

void CompiledContext::on_output(size_t i, std::function<void(const Tensor&)> callback) {
    size_t count = parts_.graph.outputs().size();
    if (i >= count) throw_no_port("output", i, count);
    turn_.wait();
    around_.callbacks.set(*program_, i, std::move(callback));
    choose_mode();
}

void CompiledContext::observe(StepObserver* observer) {
    turn_.wait();
    around_.observers.clear();
    if (observer) around_.observers.add(*observer);
    choose_mode();
}

void CompiledContext::attach(StepObserver& observer) {
    turn_.wait();
    around_.observers.add(observer);
    choose_mode();
}

void CompiledContext::detach(StepObserver& observer) {
    turn_.wait();
    around_.observers.remove(observer);
    choose_mode();
}

std::vector<double> CompiledContext::time_steps() {
    using Clock = std::chrono::steady_clock;
    HeldTurn turn(turn_);
    HeldArenas arenas(arenas_);
    if (!has_memory()) refuse_run();
    if (late_.copies) late_.copies->interrupt();
    if (parts_.options.force_output_dynamic_alloc) renew_outputs();
    std::vector<double> times;
    times.reserve(code_.instructions.size());
    if (!lifetimes_.empty()) forget_blocks();
    for (size_t i = 0; i < code_.instructions.size(); ++i) {
        Queue& queue = *queues_[parts_.steps[i].place];
        auto start = Clock::now();
        auto begin = queue.record_time();
        if (!lifetimes_.empty()) take_blocks(i);
        enqueue(i);
        if (!lifetimes_.empty()) give_blocks(i);
        auto end = begin ? queue.record_time() : nullptr;
        queue.wait();
        times.push_back(end ? end->milliseconds_since(*begin)
                            : std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
    return times;
}

}  // namespace mge
