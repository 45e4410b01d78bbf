// SPDX-License-Identifier: Apache-2.0
// How a context runs: the plain loop, runs that are looked at, and other threads.
#include <chrono>
#include <optional>
#include <utility>

#include "libmge/base/rethrow.h"
#include "libmge/compile/both_observers.h"
#include "libmge/compile/compiled_context.h"
#include "libmge/compile/first_run_check.h"
#include "libmge/device/queue.h"

namespace mge {

void CompiledContext::run() {
    HeldTurn turn(turn_);
    origins_->errors().tell();
    if (!dispatch_ || is_special_) return run_in_turn();
    HeldArenas arenas(arenas_);
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
    if (failure) keep(std::move(failure));
    arenas_.leave();
    turn_.give_back();
}

void CompiledContext::keep(std::exception_ptr failure) { origins_->errors().keep(std::move(failure)); }

void CompiledContext::record_async_error(std::exception_ptr error) {
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
    if (program_->options().comp_seq_sync_device)
        for (Queue* queue : queues_) queue->wait();
    origins_->errors().tell();
}

void CompiledContext::wait_until_asked() {
    turn_.wait();
    origins_->errors().tell();
}

void CompiledContext::run_in_turn() {
    HeldArenas arenas(arenas_);
    if (is_special_) [[unlikely]]
        return run_specially();
    if (is_late_) [[unlikely]] {
        for (size_t i = 0; i < instructions_.size(); ++i) ask(i);
        return;
    }
    const Instruction* instruction = instructions_.data();
    const Instruction* end = instruction + instructions_.size();
    try {
        for (; instruction != end; ++instruction)
            instruction->run(*instruction->prepared, instruction->launch);
    } catch (...) {
        rethrow_in(step_text(*program_, size_t(instruction - instructions_.data())));
    }
}

// What fails later names its step, too.
void CompiledContext::ask(size_t step) {
    try {
        std::optional<WorkOriginScope> scope;
        if (is_late_) scope.emplace(origins_->of_step(step));
        instructions_[step].run(*instructions_[step].prepared, instructions_[step].launch);
    } catch (...) {
        rethrow_in(step_text(*program_, step));
    }
}

void CompiledContext::fake_next_exec() {
    require_fake_runs(program_->options());
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
    auto& options = program_->options();
    if (options.force_output_use_user_specified_memory) require_outputs();
    if (options.force_output_dynamic_alloc) renew_outputs();
    if (options.force_dynamic_alloc) forget_blocks();
    StepObserver* observer = observer_;
    std::optional<FirstRunCheck> check;
    std::optional<BothObservers> with_replacements, with_first_run;
    if (check_) observer = &with_replacements.emplace(*check_, observer);
    if (options.var_sanity_check_first_run && !was_checked_) {
        was_checked_ = true;
        update_special();
        if (program_->is_first_run()) {
            check.emplace(*program_);
            observer = &with_first_run.emplace(*check, observer);
        }
    }
    if (check_) check_->begin(*this);
    for (size_t i = 0; i < instructions_.size(); ++i) {
        if (!lives_.empty()) take_blocks(i);
        if (observer) observer->before_step(i, *this);
        ask(i);
        if (observer) observer->after_step(i, *this);
        if (!lives_.empty()) give_blocks(i);
    }
    if (check_) check_->finish(*this);
}

void CompiledContext::update_special() {
    auto& options = program_->options();
    is_special_ = skips_next_ || observer_ || check_ || options.force_dynamic_alloc ||
                  options.force_output_dynamic_alloc ||
                  (options.force_output_use_user_specified_memory && !are_outputs_bound()) ||
                  (options.var_sanity_check_first_run && !was_checked_);
}

void CompiledContext::observe(StepObserver* observer) {
    turn_.wait();
    observer_ = observer;
    update_special();
}

// What an earlier run left behind: outputs, and after an error all that was alive.
void CompiledContext::forget_blocks() {
    for (auto* ports : {&blocks_, &outputs_})
        for (auto& port : *ports) forget(port);
}

std::vector<double> CompiledContext::time_steps() {
    using Clock = std::chrono::steady_clock;
    HeldTurn turn(turn_);
    HeldArenas arenas(arenas_);
    std::vector<double> times;
    times.reserve(instructions_.size());
    if (!lives_.empty()) forget_blocks();
    for (size_t i = 0; i < instructions_.size(); ++i) {
        auto start = Clock::now();
        if (!lives_.empty()) take_blocks(i);
        ask(i);
        if (!lives_.empty()) give_blocks(i);
        queues_[program_->compiled_steps()[i].place]->wait();
        times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
    return times;
}

}  // namespace mge
