// SPDX-License-Identifier: Apache-2.0
// How a context runs: the plain loop, runs that are looked at, and other threads.
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "libmge/base/file.h"
#include "libmge/base/rethrow.h"
#include "libmge/compile/compiled_context.h"
#include "libmge/compile/first_run_check.h"
#include "libmge/device/queue.h"

namespace mge {

void CompiledContext::run() {
    HeldTurn turn(turn_);
    origins_->errors().tell();
    if (!dispatch_ || is_special_) return run_in_turn();
    HeldArenas arenas(arenas_);
    if (copies_) begin_copies();
    turn.hand_over([this] { dispatch_->start(); });
    arenas.hand_over();
}

void CompiledContext::start() {
    if (dispatch_ && !is_special_) return run();
    HeldTurn turn(turn_);
    origins_->errors().tell();
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
            if (copies_) end_copies();
            if (cut_files()) parts_.require_whole_constants();
        } catch (...) {
            failure = std::current_exception();
        }
    if (copies_ && failure) copies_->give_up();
    if (failure) keep(std::move(failure));
    arenas_.leave();
    turn_.give_back();
}

void CompiledContext::keep(std::exception_ptr failure) { origins_->errors().keep(std::move(failure)); }

void CompiledContext::record_async_error(std::exception_ptr error) {
    if (!error)
        throw_user("record_async_error", "the error is a null pointer; give the exception that was thrown",
                   ErrorClass::value);
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
    wait_until_asked();
    if (parts_.options.comp_seq_sync_device)
        for (Queue* queue : queues_) queue->wait();
    origins_->errors().tell();
}

void CompiledContext::wait_until_asked() {
    turn_.wait();
    origins_->errors().tell();
}

void CompiledContext::run_in_turn() {
    run_here();
    if (cut_files()) [[unlikely]]
        parts_.require_whole_constants();
}

void CompiledContext::run_here() {
    HeldArenas arenas(arenas_);
    std::optional<ProgramRunScope> scope;
    if (inner_run_) scope.emplace(inner_run_);
    if (is_special_) [[unlikely]]
        return run_specially();
    if (is_late_) [[unlikely]]
        return run_late();
    const Instruction* instruction = instructions_.data();
    const Instruction* end = instruction + instructions_.size();
    try {
        for (; instruction != end; ++instruction)
            instruction->run(*instruction->prepared, instruction->launch);
    } catch (...) {
        rethrow_in(step_text(*program_, size_t(instruction - instructions_.data()), place_));
    }
}

void CompiledContext::run_late() {
    if (recorded_ && !place_ && recorded_->replay(port_addresses(), arenas_.generation())) return;
    run_by_steps();
    record_for_later();
}

void CompiledContext::run_by_steps() {
    if (!copies_) {
        for (size_t i = 0; i < instructions_.size(); ++i) ask(i);
        return;
    }
    begin_copies();
    try {
        for (size_t i = 0; i < instructions_.size(); ++i) ask(i);
        end_copies();
    } catch (...) {
        copies_->give_up();
        throw;
    }
}

// What a context does alone, run after run in the same memory, may overlap.
void CompiledContext::begin_copies() {
    uint64_t arenas = arenas_.generation();
    bool is_same = std::exchange(copied_arenas_, arenas) == arenas;
    copies_->begin(is_same && arenas_.are_alone() && !place_);
}

void CompiledContext::end_copies() {
    copies_->ask_last([this](size_t step) { ask(step); });
    copies_->end([this](size_t step, const std::function<void()>& wait) {
        try {
            wait();
        } catch (...) {
            rethrow_in(step_text(*program_, step, place_));
        }
    });
}

const RecordedRun::Addresses& CompiledContext::port_addresses() {
    port_addresses_.clear();
    for (auto* ports : {&inputs_, &outputs_})
        for (auto& port : *ports) port_addresses_.push_back(port.data);
    return port_addresses_;
}

// Behind a run that went step by step.
void CompiledContext::record_for_later() {
    if (!recorded_ || place_ || is_special_) return;
    recorded_->note_run(port_addresses(), arenas_.generation(),
                        {[this] {
                             for (auto& each : instructions_) each.run(*each.prepared, each.launch);
                         },
                         [this](size_t i, void* at) {
                             point(i < inputs_.size() ? inputs_[i] : outputs_[i - inputs_.size()], at);
                         }});
    if (recorded_->is_over()) recorded_.reset();
}

// What fails later names its step, too.
void CompiledContext::ask(size_t step) {
    try {
        std::optional<ProgramRunScope> run_scope;
        if (dispatch_ && inner_run_) run_scope.emplace(inner_run_);
        std::optional<WorkOriginScope> scope;
        if (is_late_) scope.emplace(origins_->of_step(step, place_));
        auto& instruction = instructions_[step];
        auto run = [&] { instruction.run(*instruction.prepared, instruction.launch); };
        if (copies_ && copies_->is_running())
            copies_->step(step, parts_.steps[step].place, instruction.launch, run);
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
    skips_next_ = skips;
    update_special();
}

void CompiledContext::run_specially() {
    if (skips_next_) {
        skips_next_ = false;
        update_special();
        return;
    }
    if (copies_) copies_->interrupt();
    auto& options = parts_.options;
    if (options.force_output_use_user_specified_memory) require_outputs();
    if (options.force_output_dynamic_alloc) renew_outputs();
    if (options.force_dynamic_alloc) forget_blocks();
    std::optional<FirstRunCheck> check;
    telling_.clear();
    if (options.var_sanity_check_first_run && !was_checked_) {
        was_checked_ = true;
        update_special();
        if (parts_.first_use->take_check()) telling_.add(check.emplace(*program_, options.threads));
    }
    if (check_) telling_.add(*check_);
    for (auto* observer : observers_.all()) telling_.add(*observer);
    StepObserver* observer = run_.observer = telling_.as_one();
    try {
        run_observed(observer);
        run_.observer = nullptr;
    } catch (...) {
        run_.observer = nullptr;
        if (observer) observer->after_failure(std::current_exception(), *this);
        throw;
    }
    record_for_later();
}

void CompiledContext::run_observed(StepObserver* observer) {
    if (observer) {
        observer->before_run(*this);
        tell_arenas();
    }
    if (!callbacks_.empty()) call_back(ready_outputs_[0]);
    for (size_t i = 0; i < instructions_.size(); ++i) {
        if (!lives_.empty()) take_blocks(i);
        if (observer) {
            observer->before_step(i, *this);
            run_.step = i;
        }
        ask(i);
        if (observer) observer->after_step(i, *this);
        if (!callbacks_.empty()) call_back(ready_outputs_[i + 1]);
        if (!lives_.empty()) give_blocks(i);
    }
    if (observer) observer->after_run(*this);
}

void CompiledContext::tell_arenas() {
    if (told_arenas_ == arenas_.generation()) return;
    told_arenas_ = arenas_.generation();
    for (size_t i = 0; i < program_->places().size(); ++i)
        if (!arenas_.is_lent(i))
            run_.observer->allocated({program_->places()[i], arenas_.bytes(i), true}, *this);
}

void CompiledContext::call_back(const std::vector<size_t>& outputs) {
    for (size_t i : outputs) callbacks_[i](tensor_at(program_->graph().outputs()[i]));
}

void CompiledContext::on_output(size_t i, std::function<void(const Tensor&)> callback) {
    auto& ids = program_->graph().outputs();
    if (i >= ids.size()) throw_no_port("output", i, ids.size());
    turn_.wait();
    callbacks_.resize(ids.size());
    callbacks_[i] = std::move(callback);
    ready_outputs_.assign(instructions_.size() + 1, {});
    auto ready = ready_steps(*program_);
    for (size_t k = 0; k < ids.size(); ++k)
        if (callbacks_[k]) ready_outputs_[size_t(ready[size_t(ids[k])] + 1)].push_back(k);
    if (std::ranges::none_of(callbacks_, [](auto& each) { return bool(each); })) callbacks_.clear();
    update_special();
}

void CompiledContext::update_special() {
    auto& options = parts_.options;
    is_special_ = skips_next_ || !observers_.is_empty() || check_ || !callbacks_.empty() ||
                  options.force_dynamic_alloc || options.force_output_dynamic_alloc ||
                  (options.force_output_use_user_specified_memory && !are_outputs_bound()) ||
                  (options.var_sanity_check_first_run && !was_checked_);
}

void CompiledContext::observe(StepObserver* observer) {
    turn_.wait();
    observers_.clear();
    if (observer) observers_.add(*observer);
    update_special();
}

void CompiledContext::attach(StepObserver& observer) {
    turn_.wait();
    observers_.add(observer);
    update_special();
}

void CompiledContext::detach(StepObserver& observer) {
    turn_.wait();
    observers_.remove(observer);
    update_special();
}

// What an earlier run left behind: outputs, and after an error all that was alive.
void CompiledContext::forget_blocks() {
    for (auto& port : blocks_) forget(port);
    if (parts_.options.force_output_use_user_specified_memory) return;
    for (auto& port : outputs_) forget(port);
}

std::vector<double> CompiledContext::time_steps() {
    using Clock = std::chrono::steady_clock;
    HeldTurn turn(turn_);
    HeldArenas arenas(arenas_);
    if (copies_) copies_->interrupt();
    std::vector<double> times;
    times.reserve(instructions_.size());
    if (!lives_.empty()) forget_blocks();
    for (size_t i = 0; i < instructions_.size(); ++i) {
        Queue& queue = *queues_[parts_.steps[i].place];
        auto start = Clock::now();
        auto begin = queue.record_time();
        if (!lives_.empty()) take_blocks(i);
        ask(i);
        if (!lives_.empty()) give_blocks(i);
        auto end = begin ? queue.record_time() : nullptr;
        queue.wait();
        times.push_back(end ? end->milliseconds_since(*begin)
                            : std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
    return times;
}

}  // namespace mge
