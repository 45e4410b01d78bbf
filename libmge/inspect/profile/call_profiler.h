// SPDX-License-Identifier: Apache-2.0
#pragma once
// Records the programs that one call of a function runs one after the other:
//
//     auto profiler = std::make_shared<CallProfiler>();
//     trace.begin(arguments, profiler);
//     …
//     trace.end(outputs);
//     write_megengine_profile(stream, profiler->profile());

#include <memory>
#include <vector>

#include "libmge/inspect/profile/profiler.h"

namespace mge {

// For one thread at a time. It keeps the programs alive.
class MGE_API CallProfiler final : public StepObserver {
public:
    CallProfiler() = default;
    CallProfiler(const CallProfiler&) = delete;
    CallProfiler& operator=(const CallProfiler&) = delete;

    void before_run(Context& context) override;
    void after_run(Context& context) override;
    void after_failure(const std::exception_ptr& error, Context& context) override;
    void before_step(size_t step, Context& context) override { running().before_step(step, context); }
    void after_step(size_t step, Context& context) override { running().after_step(step, context); }
    StepObserver* inside(const InnerRun& run, Context& inner) override {
        return running().inside(run, inner);
    }

    // No program ran to its end.
    bool is_empty() const { return runs_.empty(); }
    // Everything as one network and one run: the steps of all programs in sequence, each with its own values.
    // Steps end when their work is done on their device; kernels have start times apart from dispatch, by the
    // clocks of asynchronous devices. The time between two programs is host time before the next step.
    Profile profile() const;

private:
    struct Run {
        std::shared_ptr<const Program> program;
        std::unique_ptr<Profiler> profiler;
    };
    Profiler& running() { return *runs_.back().profiler; }

    std::vector<Run> runs_;
    bool is_running_ = false;  // the last of them
};

}  // namespace mge
