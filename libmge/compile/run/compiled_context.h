// SPDX-License-Identifier: Apache-2.0
#pragma once
// The inside of a Context, for the files of this folder only.

#include <exception>
#include <memory>
#include <vector>

#include "libmge/compile/memory/copies_beside.h"
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

// One instruction: everything a kernel needs, addresses included.
struct Instruction {
    void (*run)(const Prepared&, const Launch&);
    const Prepared* prepared;
    Launch launch;
};

class CompiledContext final : public Context {
public:
    CompiledContext(std::shared_ptr<const Program> program, std::shared_ptr<ContextMemory> memory,
                    OwnPorts own = {}, LentArena lent = {});

    const Program& program() const override { return *program_; }
    void* input(size_t i) override { return ports_.input(i); }
    void bind_input(size_t i, const void* data) override { ports_.bind_input(i, data); }
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

    // It runs as a part of an operator; `place` outlives it.
    void stand_inside(const InnerPlace* place) { place_ = place; }
    // Where the arena that was lent lies in the next runs.
    void lend(void* data) { arenas_.lend(data); }
    // The next runs allocate from the allocator of these arenas; null: from their own.
    void allocate_with(const Arenas* arenas) { arenas_.allocate_with(arenas); }
    // The memory that the program's output memory `i` is in the next runs.
    void point_output(size_t i, void* data) { ports_.outputs.at(i).point(data); }
    void skip_next_run(bool skips);  // whatever the options say
    // The run itself, for whoever has the turn or is alone with the context.
    void run_in_turn();
    // Until the queues have been asked for the whole run.
    void wait_until_asked();
    // Gives the outputs new memory, which belongs to whoever takes them: for results that outlive the next
    // run. `given` (by output memory, null for none; empty: none at all) is the memory that they have
    // instead.
    void renew_outputs(std::span<const StorageRef> given = {});
    // The output memory belongs to who has taken the outputs, and to nobody else.
    void hand_over(size_t output_memory) { ports_.outputs.at(output_memory).forget(); }

private:
    void make_instructions();
    void add_dynamic(const CompiledStep& step, std::vector<ValueId> released);
    void follow(const Location& location, void** follower);
    void note_block_lives();
    void make_recordable();
    Tensor tensor_at(ValueId id);
    StorageRef allocate_dynamic(size_t place, size_t bytes);
    bool move_together(size_t place, size_t needed);
    Tensor make_dynamic(const TensorSpec& spec, DeviceId device);
    void take_blocks(size_t step);
    void give_blocks(size_t step);
    void forget_blocks();
    void keep(std::exception_ptr failure) { origins_->errors().keep(std::move(failure)); }

    // How a run asks for its steps. choose_mode() takes one when the context is made, and again when what
    // the choice depends on changes.
    using Mode = void (CompiledContext::*)();
    void choose_mode();
    void run_plainly();   // a flat loop: the work is done when a step returns
    void run_late();      // queues do the work later: as a recording, or step by step with copies beside
    void run_observed();  // step by step, with what happens around steps
    void skip_run();
    void refuse_run();  // an output has no memory
    bool is_dispatched() const;

    void run_for_start();
    void finish_dispatch(std::exception_ptr failure);
    void ask(size_t step);
    void run_by_steps();
    void begin_copies();
    void end_copies();
    void record_for_later();
    void observe_steps();
    void tell_arenas();
    void call_back(size_t steps);

    std::shared_ptr<const Program> program_;
    const ProgramParts& parts_;
    std::vector<Queue*> queues_;  // by place
    Arenas arenas_;
    ContextPorts ports_;

    struct Code {
        std::vector<void*> addresses;  // of all instructions, one behind the other
        std::vector<Instruction> instructions;
        std::vector<std::unique_ptr<DynamicStep>> dynamic_steps;
        Tensors dynamic_values;  // by value id
        const Prepared nothing;
    } code_;

    // Without a plan, the memory that comes before a step and goes after it: blocks, and outputs.
    struct BlockLives {
        std::vector<size_t> blocks, outputs, ended_blocks;
    };
    std::vector<BlockLives> lives_;  // by step; empty: there is a plan

    Mode mode_ = &CompiledContext::run_plainly;
    ProgramRun run_{&arenas_, this};  // the run at hand
    const InnerPlace* place_ = nullptr;

    // Things that happen around the steps of a run.
    struct Around {
        ObserverList observers;             // attached by the user
        std::unique_ptr<CheckedRun> check;  // null unless every run is compared
        OutputCallbacks callbacks;
        bool skips_next = false, was_checked = false;
        ObserverList telling;  // in the run at hand: the checks of the program, then the observers
        uint64_t arenas = 0;   // their generation when observers last heard of them
    } around_;

    // Work that queues do after they were asked for it.
    struct Late {
        bool is_late = false;
        bool output_waits = false;              // output() waits until its value is there
        std::unique_ptr<RecordedRun> recorded;  // null where runs are asked for step by step
        std::unique_ptr<CopiesBeside> copies;   // null where there are none
        uint64_t copied_arenas = 0;             // their generation in the last run with copies
    } late_;

    std::shared_ptr<StepOrigins> origins_;
    RunTurn turn_;
    // Last: their threads end before what they work on.
    Worker worker_{[this] { run_for_start(); }};
    std::unique_ptr<Dispatch> dispatch_;  // null when the caller asks for everything
};

}  // namespace mge
