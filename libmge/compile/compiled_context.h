// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a Context is inside: for the files of this folder only.

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "libmge/compile/compiled_program.h"
#include "libmge/compile/dynamic_step.h"
#include "libmge/compile/replacement_check.h"

namespace mge {

// One instruction: everything a kernel needs, addresses included.
struct Instruction {
    void (*run)(const Prepared&, const Launch&);
    const Prepared* prepared;
    Launch launch;
};

class CompiledContext final : public Context {
public:
    // Without `own_outputs` the outputs have to be bound before each run.
    CompiledContext(std::shared_ptr<const CompiledProgram> program, bool own_outputs = true);
    ~CompiledContext() override;

    const Program& program() const override { return *program_; }
    void* input(size_t i) override;
    void bind_input(size_t i, const void* data) override;
    void run() override;
    void fake_next_exec() override;
    void start() override;
    void wait() override;
    Tensor output(size_t i) override;
    Tensor copy_output(size_t i) override;
    void observe(StepObserver* observer) override;
    Tensor value(ValueId id) override;
    std::vector<double> time_steps() override;

    // The memory that the program's output memory `i` is in the next runs.
    void point_output(size_t i, void* data) { point(outputs_.at(i), data); }
    void skip_next_run(bool skips);  // whatever the options say
    // The inputs where they lie now.
    Tensors bound_inputs();
    // Gives the outputs new memory, which belongs to whoever takes them: for results that outlive the next
    // run.
    void renew_outputs();

private:
    // One piece of memory that stands outside the arena: addresses of instructions that follow it.
    struct Port {
        StorageRef storage;  // null while bound to foreign memory
        size_t offset = 0, place = 0;
        void* data = nullptr;
        std::vector<void**> followers;
    };
    void allocate(bool own_outputs);
    void take(Port& port, size_t bytes);
    void make_instructions();
    void note_block_lives();
    void take_blocks(size_t step);
    void give_blocks(size_t step);
    static void forget(Port& port);
    void forget_blocks();
    void run_specially();
    void update_special();
    void* address(const Location& location, void** follower);
    void point(Port& port, void* data);
    void work();
    Tensor tensor_at(ValueId id);

    std::shared_ptr<const CompiledProgram> program_;
    // By place: inputs, then outputs; an arena of its own before them.
    std::vector<StorageRef> memory_, arenas_;
    std::vector<Queue*> queues_;  // by place
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
    StepObserver* observer_ = nullptr;
    std::unique_ptr<CheckedRun> check_;  // observes every run as well
    // Runs differ from the plain loop: an observer, a run to skip, no plan, outputs to renew, a first run.
    bool is_special_ = false;
    bool skips_next_ = false, was_checked_ = false;

    std::thread worker_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_started_ = false, is_closing_ = false;
    std::exception_ptr failure_;
};

}  // namespace mge
