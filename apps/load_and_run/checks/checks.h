// SPDX-License-Identifier: Apache-2.0
#pragma once
// All checks of one call of the tool, at the points where they act.

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/tool.h"
#include "apps/load_and_run/checks/comparison.h"
#include "apps/load_and_run/checks/memory_files.h"
#include "apps/load_and_run/checks/options.h"
#include "apps/load_and_run/checks/plan.h"
#include "apps/load_and_run/checks/reproducer.h"
#include "libmge/inspect/guards.h"
#include "libmge/inspect/io_dump/io_dump_run.h"
#include "libmge/inspect/reproducible.h"

namespace mge::load_and_run {

class Checks {
public:
    // `threads`: requested number; 0: not set. The model runs at `place`. `is_reported`: there is a report
    // for figures of memory.
    Checks(const CheckOptions& options, int threads, DeviceId place, bool is_reported);
    ~Checks();

    // Called around the compilation for these inputs. Before it, a replayed plan sets the options. After it,
    // before memory for running is allocated, the program is checked against plan, cache and memory limit.
    void before_compile(const Graph& graph, const TensorSpecs& inputs, CompileOptions& options);
    void compiled(const Graph& graph, const TensorSpecs& inputs, const CompileOptions& options,
                  const Program& program);

    // From now on the context's runs are checked, and dumped if requested. `is_first`: the context of the
    // first test, whose values are dumped.
    void watch(const std::shared_ptr<const Program>& program, Context& context, bool is_first);
    // After its first run: that one was dumped.
    void end_dumps(Context& context);
    void watch_on(Context& context);
    // The observer of every run that watch_on() attaches; null without one.
    StepObserver* lasting_observer() { return lasting_.is_empty() ? nullptr : &lasting_; }
    // Position of a run that ended with an error, as a prefix of the message; empty if unknown.
    std::string place() const;

    // After all runs: repetition in fresh contexts, comparison, files.
    void finish(const Subject& subject, const std::shared_ptr<const Program>& program, Context& context,
                const cli::Invocation& invocation);
    // Instead of running the model: --first-diff.
    void walk(const Subject& subject);

    void print() const;
    void add_to(cli::Json& result) const;
    // The first failure in one line; empty when all is well.
    const std::string& failure() const { return failure_; }

    MemoryFigures memory;

private:
    class NpzDump;
    class LastStep;
    void open_dumps(const std::shared_ptr<const Program>& program);
    void note_failure(std::string message);
    template <class Observer, class... Args>
    void add_guard(Args&&... args);

    const CheckOptions& options_;
    int threads_;
    DeviceId place_;
    std::string failure_;
    std::optional<PlanReader> replayed_;
    PlanWriter saved_;

    // Observers of the current context.
    ObserverList observers_, lasting_;  // `lasting_`: without the dumps of the first run
    std::vector<std::unique_ptr<StepObserver>> guards_;
    std::vector<std::unique_ptr<IoDumpSink>> sinks_;
    std::vector<std::unique_ptr<IoDumpRun>> dumps_;
    std::unique_ptr<std::ofstream> text_file_;
    LastStep* last_step_ = nullptr;
    OutputDump* output_dump_ = nullptr;
    NpzDump* npz_ = nullptr;
    size_t dumped_runs_ = 0;

    std::optional<ComparedRun> compared_;
    std::optional<WalkedDifference> walked_;
    std::optional<Reproducer> reproducer_;
    std::optional<Reproducibility> reproducibility_;
};

}  // namespace mge::load_and_run
