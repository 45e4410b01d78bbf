// SPDX-License-Identifier: Apache-2.0
#pragma once
// Internals of Context, for this folder only.

#include <exception>
#include <memory>
#include <vector>

#include "libmge/compile/memory/overlapped_copies.h"
#include "libmge/compile/program_parts.h"
#include "libmge/compile/replacement_check.h"
#include "libmge/compile/run/arenas.h"
#include "libmge/compile/run/context_ports.h"
#include "libmge/compile/run/dispatch.h"
#include "libmge/compile/run/dynamic_step.h"
#include "libmge/compile/run/observer_list.h"
#include "libmge/compile/run/output_callbacks.h"
#include "libmge/compile/run/program_run.h"
#include "libmge/compile/run/recorded_run.h"
#include "libmge/compile/run/run_turn.h"
#include "libmge/compile/run/worker.h"
#include "libmge/compile/step_origins.h"

namespace mge {

// One instruction: all data that a kernel needs, including addresses.
struct Instruction {
    void (*run)(const Prepared&, const Launch&);
    const Prepared* prepared;
    Launch launch;
};

class CompiledContext final : public Context {
public:
    CompiledContext(std::shared_ptr<const Program> program, std::shared_ptr<ContextMemory> memory,
                    OwnPorts own = {}, BorrowedArena lent = {});

    const Program& program() const override { return *program_; }
    void* input(size_t i) override { return ports_.input(i); }
    void bind_input(size_t i, const void* data) override { ports_.bind_input(i, data); }
    // The same for a plain tensor, which may have any size where the program's input has none.
    void bind_input(size_t i, const Tensor& value);
    void bind_output(size_t i, void* data, size_t bytes) override;
    const std::shared_ptr<ContextMemory>& memory() const override { return arenas_.memory(); }
    void run() override;
    void fake_next_exec() override;
    void start() override;
    void wait() override;
    void record_async_error(std::exception_ptr error) override;
    Tensor output(size_t i) override;
    Tensor copy_output(size_t i) override;
    void observe(StepObserver* observer) override;
    void attach(StepObserver& observer) override;
    void detach(StepObserver& observer) override;
    void on_output(size_t i, std::function<void(const Tensor&)> callback) override;
    Tensor value(ValueId id) override;
    std::vector<double> time_steps() override;

    // Marks the context as part of an operator. `place` must outlive it.
    void set_inner_place(const InnerPlace* place) { place_ = place; }
    // Sets the memory of the lent arena for later runs.
    void lend(void* data) { arenas_.lend(data); }
    // Lets later runs allocate from the allocator of these arenas; nullptr restores the own one.
    void allocate_with(const Arenas* arenas) { arenas_.allocate_with(arenas); }
    // Sets the memory of output memory `i` for later runs.
    void point_output(size_t i, void* data) { ports_.outputs.at(i).point(data); }
    void skip_next_run(bool skips);  // regardless of the options
    // Runs without taking the turn, for callers that have it or own the context exclusively.
    void run_in_turn();
    // Waits until the whole run is enqueued.
    void wait_until_enqueued();
    // Gives the outputs new memory, owned by their consumers, so that results outlive the next run. `given`
    // replaces it by output memory; null entries, or an empty span, mean new memory.
    void renew_outputs(std::span<const StorageRef> given = {});
    // Leaves the output memory to the consumers of the outputs.
    void hand_over(size_t output_memory) { ports_.outputs.at(output_memory).forget(); }

private:
    void make_instructions();
    void add_dynamic(const CompiledStep& step, std::vector<ValueId> released);
    void follow(const Location& location, void** follower);
    void note_block_lifetimes();
    void make_recordable();
    Tensor tensor_at(ValueId id);
    StorageRef allocate_dynamic(size_t place, size_t bytes);
    bool move_together(size_t place, size_t needed);
    Tensor make_dynamic(ValueId id, const TensorSpec& spec, DeviceId device);
    void take_blocks(size_t step);
    void give_blocks(size_t step);
    void forget_blocks();
    void keep(std::exception_ptr failure) { origins_->errors().keep(std::move(failure)); }

    // How a run enqueues its steps. choose_mode() selects one when the context is made, and again when a
    // condition changes.
    using Mode = void (CompiledContext::*)();
    void choose_mode();
    void run_plainly();   // a flat loop: steps are synchronous
    void run_late();      // asynchronous queues: a recording, or step by step with overlapping copies
    void run_observed();  // step by step, with observers, checks and callbacks
    void skip_run();
    void refuse_run();  // an output has no memory
    bool is_dispatched() const;
    bool has_memory() const;  // false: an output lacks the memory that the caller has to give

    void run_for_start();
    void finish_dispatch(std::exception_ptr failure);
    void enqueue(size_t step);
    void run_by_steps();
    void begin_copies();
    void end_copies();
    void record_for_later();
    void observe_steps();
    void report_arenas();
    void call_back(size_t steps);

    std::shared_ptr<const Program> program_;
    const ProgramParts& parts_;
    std::vector<Queue*> queues_;  // by place
    Arenas arenas_;
    ContextPorts ports_;

    struct Code {
        std::vector<void*> addresses;  // all instructions' addresses, consecutively
        std::vector<Instruction> instructions;
        std::vector<std::unique_ptr<DynamicStep>> dynamic_steps;
        Tensors dynamic_values;  // by value id
        const Prepared nothing;
    } code_;

    // Without a memory plan: blocks and outputs to allocate before a step, and blocks to free after it.
    struct BlockLifetimes {
        std::vector<size_t> blocks, outputs, ended_blocks;
    };
    std::vector<BlockLifetimes> lifetimes_;  // by step; empty if there is a plan

    Mode mode_ = &CompiledContext::run_plainly;
    ProgramRun run_{&arenas_, this};  // the current run
    const InnerPlace* place_ = nullptr;

    // Actions around the steps of a run.
    struct Around {
        ObserverList observers;             // attached by the user
        std::unique_ptr<CheckedRun> check;  // null unless every run is compared
        OutputCallbacks callbacks;
        bool skips_next = false, was_checked = false;
        ObserverList active;  // in the current run: the program's checks, then the observers
        uint64_t arenas = 0;  // generation that observers were last notified of
    } around_;

    // State of asynchronous runs.
    struct Late {
        bool is_late = false;
        bool output_waits = false;                 // output() waits for the value
        std::unique_ptr<RecordedRun> recorded;     // null if runs are never recorded
        std::unique_ptr<OverlappedCopies> copies;  // null if there are no copies
        uint64_t copied_arenas = 0;                // generation in the last run with copies
    } late_;

    std::shared_ptr<StepOrigins> origins_;
    RunTurn turn_;
    // Last members: their threads end before the data that they use.
    Worker worker_{[this] { run_for_start(); }};
    std::unique_ptr<Dispatch> dispatch_;  // null if the caller enqueues everything
};

}  // namespace mge
