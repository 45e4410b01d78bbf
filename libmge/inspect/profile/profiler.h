// SPDX-License-Identifier: Apache-2.0
#pragma once
// Records when the steps of a context's runs begin and end:
//
//     Profiler profiler(*program);
//     context->observe(&profiler);
//     …runs…
//     context->observe(nullptr);
//     write_profile("resnet.json", make_profile(*program, "resnet.mge", {&profiler}));
//
// A run allocates nothing and searches nothing: one clock reading per step into touched memory. Steps of
// inner graphs are summed up over all runs.
//
// On an asynchronous device its own clock provides the time of the work (step_clock.h), and the host's clock
// that of the request.

#include <chrono>

#include "libmge/compile/program.h"
#include "libmge/device/queue.h"
#include "libmge/inspect/profile/profile.h"

namespace mge {

struct ProfilerOptions {
    // Also record the start of each kernel: a second reading per step, which separates the kernel from the
    // time between kernels.
    bool dispatch = false;
    // The host waits for steps on asynchronous devices without a clock. Otherwise these end at their launch.
    bool waits = false;
    // The latest runs are kept, as many as fit into so many bytes, and at least one.
    size_t memory = size_t(16) << 20;
    // The number of warm-up runs, in which inner graphs are not recorded.
    int64_t warm_up_runs = 0;
};

class LateRuns;

class MGE_API Profiler final : public StepObserver {
public:
    explicit Profiler(const Program& program, const ProfilerOptions& options = {});
    ~Profiler() override;

    void before_step(size_t step, Context&) override {
        if (step == 0) begin_run();
        if (late_) begin_late(step);
        if (step != 0 && dispatch_) *next_++ = now();
    }
    void after_step(size_t step, Context&) override {
        if (!queues_.empty() && queues_[step]) queues_[step]->wait();
        *next_++ = now();
        if (late_) end_late(step);
    }
    StepObserver* inside(const InnerRun& run, Context& inner) override;

    int64_t runs_total() const { return runs_; }
    // Some steps are timed by the clocks of their devices.
    bool is_late() const { return late_ != nullptr; }
    // Steps of inner graphs, in the order in which they first ran.
    std::vector<ProfileInnerStep> inner_steps() const;
    // The complete ones among the latest runs, oldest first; times are relative to `origin`. Waits for their
    // work in flight.
    std::vector<ProfileRun> runs(int64_t origin) const;
    // Nanoseconds on the steady clock at the start of the oldest kept run; nullopt without runs.
    std::optional<int64_t> first_start() const;

private:
    // Sums up the runs of one inner program at one place.
    class Inner;
    struct InnerTimes;

    static int64_t now() {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(
                   std::chrono::steady_clock::now().time_since_epoch())
            .count();
    }
    void begin_run();
    void begin_late(size_t step);
    void end_late(size_t step);
    void add_late(ProfileRun& run, const int64_t* place) const;
    // Positions in buffer_ of the kept complete runs, oldest first.
    std::vector<const int64_t*> kept() const;

    size_t steps_;
    std::vector<Queue*> queues_;  // by step, the queues that it waits for, or null
    bool dispatch_;
    std::unique_ptr<LateRuns> late_;  // null if the host's clock provides all times
    size_t host_size_, run_size_;     // entries per run: of the host's clock, and in all
    size_t capacity_;                 // runs
    // For each run its start, then per step the start (with dispatch_) and end; with late_, followed by those
    // of the devices.
    std::vector<int64_t> buffer_;
    int64_t* next_ = nullptr;
    int64_t runs_ = 0, warm_up_runs_;
    std::unique_ptr<InnerTimes> inner_;
};

// The recordings of the profilers of one program's contexts, with the program's own data. Each profiler is a
// thread of the profile.
MGE_API Profile make_profile(const Program& program, const std::string& model,
                             std::span<const Profiler* const> profilers);

}  // namespace mge
