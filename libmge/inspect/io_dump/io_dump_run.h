// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libmge/compile/program.h"
#include "libmge/compile/run/inside.h"
#include "libmge/inspect/io_dump/io_dump.h"

namespace mge {

// Passes every value of a run to a sink when it is available. Results come after their step. Inputs, weights,
// and views come before the first step that reads them. Outputs that are not results of a step come at the
// end. Each run is dumped anew. Values inside an operator with inner graphs come before its results, for up
// to `iterations` iterations of a loop, under paths: "scan#1/body[3]/add#2"; their numbers follow those of
// the program.
class MGE_API IoDumpRun final : public StepObserver {
public:
    static constexpr int64_t iterations = 16;

    IoDumpRun(std::shared_ptr<const Program> program, IoDumpSink& sink);
    void before_run(Context& context) override;
    void before_step(size_t step, Context& context) override;
    void after_step(size_t step, Context& context) override;
    void after_run(Context& context) override;
    StepObserver* inside(const InnerRun& run, Context& inner) override;

private:
    int count_of_numbers() const { return int(program_->steps().size() + owners_.size()); }
    DumpedName describe(ValueId id) const;
    DumpedOrigin origin(ValueId id) const;
    void write(ValueId id, Context& context, std::vector<DumpedDependency> inputs);
    void write_without_step(ValueId id, Context& context);
    DumpedDependency dependency(ValueId id, Context& context) const;

    struct Owner {
        int step = -1, slot = 0;
    };
    std::shared_ptr<const Program> program_;
    IoDumpSink& sink_;
    std::vector<std::string> labels_;
    std::vector<Owner> owners_;  // by value
    std::vector<int> ready_;     // ready_steps()
    std::vector<bool> is_written_;
    std::vector<DumpedDependency> read_;  // by the step at hand
    // Inside of a step: its path, and the number that its numbers begin with.
    std::string path_;
    int first_ = 0;
    int next_ = 0, *next_first_ = &next_;  // next number of inner values, counted by the outermost
    ObserversInside<IoDumpRun> inside_;
};

// The outputs of every run, all in one folder: file run<k>-var<id>, k counting from `first_run`.
class MGE_API OutputDump final : public StepObserver {
public:
    OutputDump(std::shared_ptr<const Program> program, std::string folder, size_t first_run = 0);
    void after_step(size_t step, Context& context) override;
    void after_run(Context& context) override;
    size_t next_run() const { return run_; }

private:
    void write(Context& context);

    std::shared_ptr<const Program> program_;
    std::unique_ptr<IoDumpSink> sink_;
    std::vector<std::string> labels_;
    size_t run_ = 0;
};

}  // namespace mge
