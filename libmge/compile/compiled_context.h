// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a Context is inside: for the files of this folder only.

#include <exception>
#include <memory>
#include <vector>

#include "libmge/compile/arenas.h"
#include "libmge/compile/copies_beside.h"
#include "libmge/compile/dispatch.h"
#include "libmge/compile/dynamic_step.h"
#include "libmge/compile/observer_list.h"
#include "libmge/compile/program_parts.h"
#include "libmge/compile/program_run.h"
#include "libmge/compile/recorded_run.h"
#include "libmge/compile/replacement_check.h"
#include "libmge/compile/run_turn.h"
#include "libmge/compile/step_origins.h"
#include "libmge/compile/worker.h"

namespace mge {

// One instruction: everything a kernel needs, addresses included.
struct Instruction {
    void (*run)(const Prepared&, const Launch&);
    const Prepared* prepared;
    Launch launch;
};

// UserError: there is no input, or output, of that number.
[[noreturn]] void throw_no_port(std::string_view kind, size_t i, size_t count);

// What a context has memory of its own for; the rest has to be bound before each run.
struct OwnPorts {
    bool inputs = true, outputs = true;
    // Somebody waits for the context, who is told what went wrong, and gets outputs when they are there.
    bool is_waited_for = true;
};

class CompiledContext final : public Context {
public:
    CompiledContext(std::shared_ptr<const Program> program, std::shared_ptr<ContextMemory> memory,
                    OwnPorts own = {}, LentArena lent = {});

    const Program& program() const override { return *program_; }
    void* input(size_t i) override;
    void bind_input(size_t i, const void* data) override;
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
    // What the next runs allocate comes from where these arenas have it from; null: their own.
    void allocate_with(const Arenas* arenas) { arenas_.allocate_with(arenas); }
    // The memory that the program's output memory `i` is in the next runs.
    void point_output(size_t i, void* data) { point(outputs_.at(i), data); }
    void skip_next_run(bool skips);  // whatever the options say
    // The run itself, for whoever has the turn or is alone with the context.
    void run_in_turn();
    void run_here();
    // Until the queues have been asked for the whole run.
    void wait_until_asked();
    // Gives the outputs new memory, which belongs to whoever takes them: for results that outlive the next
    // run. `given` (by output memory, null for none; empty: none at all) is the memory that they have
    // instead.
    void renew_outputs(std::span<const StorageRef> given = {});
    // The output memory belongs to who has taken the outputs, and to nobody else.
    void hand_over(size_t output_memory) { forget(outputs_.at(output_memory)); }

private:
    // An address of an instruction: so many bytes behind the beginning of the memory that it follows.
    struct Follower {
        void** slot;
        size_t offset;
        void point(void* memory) const { *slot = memory ? static_cast<char*>(memory) + offset : nullptr; }
    };
    // One piece of memory that stands outside the arena, and who follows it.
    struct Port {
        StorageRef storage;  // null while bound to foreign memory
        size_t offset = 0, place = 0;
        void* data = nullptr;
        std::vector<Follower> followers;
    };
    void allocate_ports(OwnPorts own);
    StorageRef port_memory(size_t place, size_t bytes) const;
    Port& own_output(size_t i);
    bool are_outputs_bound() const;
    void require_outputs() const;
    void take(Port& port, size_t bytes);
    void take(Port& port, StorageRef storage);
    void make_instructions();
    void note_block_lives();
    void take_blocks(size_t step);
    void give_blocks(size_t step);
    static void forget(Port& port);
    StorageRef allocate_dynamic(size_t place, size_t bytes);
    bool move_together(size_t place, size_t needed);
    Tensor make_dynamic(const TensorSpec& spec, DeviceId device);
    void forget_blocks();
    void run_for_start();
    void make_recordable();
    void run_late();
    void run_by_steps();
    void begin_copies();
    void end_copies();
    const RecordedRun::Addresses& port_addresses();
    void record_for_later();
    void run_specially();
    void run_observed(StepObserver* observer);
    void call_back(const std::vector<size_t>& outputs);
    void tell_arenas();
    void ask(size_t step);
    void finish_dispatch(std::exception_ptr failure);
    void keep(std::exception_ptr failure);
    void update_special();
    void follow(const Location& location, void** follower);
    void point(Port& port, void* data);
    Tensor tensor_at(ValueId id);

    std::shared_ptr<const Program> program_;
    const ProgramParts& parts_;
    Arenas arenas_;
    std::vector<StorageRef> memory_;  // by place: inputs, then outputs; null where the context has none
    std::vector<Queue*> queues_;      // by place
    std::vector<Port> inputs_, outputs_;
    // Without a plan: memory that comes and goes, and by step what comes before and goes after it.
    std::vector<Port> blocks_;
    struct BlockLives {
        std::vector<size_t> blocks, outputs, ended_blocks;
    };
    std::vector<BlockLives> lives_;
    std::vector<void*> addresses_;  // of all instructions, one behind the other
    std::vector<Instruction> instructions_;
    Tensors dynamic_values_;  // by value id
    std::vector<std::unique_ptr<DynamicStep>> dynamic_steps_;
    const Prepared nothing_;
    ObserverList observers_;
    // Those of the run at hand, the checks of the program itself around them; null: nobody.
    ObserverList telling_;
    ProgramRun run_{&arenas_, this};
    const ProgramRun* inner_run_ = nullptr;                      // that, where steps hold graphs
    uint64_t told_arenas_ = 0;                                   // their generation
    std::vector<std::function<void(const Tensor&)>> callbacks_;  // by output; empty: there are none
    std::vector<std::vector<size_t>> ready_outputs_;             // by step + 1, that have a callback
    const InnerPlace* place_ = nullptr;
    std::unique_ptr<CheckedRun> check_;  // observes every run as well
    // Runs differ from the plain loop: an observer, a run to skip, no plan, outputs to renew, a first run.
    bool is_special_ = false;
    bool skips_next_ = false, was_checked_ = false;

    std::unique_ptr<RecordedRun> recorded_;  // null where runs are asked for step by step
    RecordedRun::Addresses port_addresses_;  // of inputs and outputs, as they were last asked for
    std::unique_ptr<CopiesBeside> copies_;   // null where there are none
    uint64_t copied_arenas_ = 0;             // their generation in the last run with copies
    bool is_late_ = false;                   // queues do the work after they were asked for it
    OwnPorts own_;
    bool output_waits_ = false;  // whoever asks for an output gets it when it is there
    std::shared_ptr<StepOrigins> origins_;
    RunTurn turn_;
    // Last: their threads end before what they work on.
    Worker worker_{[this] { run_for_start(); }};
    std::unique_ptr<Dispatch> dispatch_;  // null when the caller asks for everything
};

}  // namespace mge
