// SPDX-License-Identifier: Apache-2.0
#pragma once
// Records what one call of a function runs, which may be several programs, one after the other:
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

// For one thread at a time. It keeps the programs that ran.
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
    // All of it as one network and one run: the steps of the programs one behind the other, each with values
    // of its own. Steps end when their work is done, wherever that is; kernels have their begin apart from
    // dispatching, by the clocks of devices that work late. What lies between two programs is time of the
    // host, in front of the step behind it.
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
