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
// Nothing is allocated and nothing looked up during a run: one reading of the clock per step into memory that
// was touched before. Steps of graphs inside of steps are summed up over all runs.
//
// Where a device does its work later than it is asked for, its own clock tells when (step_clock.h), and that
// of the host when it was asked.

#include <chrono>

#include "libmge/compile/program.h"
#include "libmge/device/queue.h"
#include "libmge/inspect/profile/profile.h"

namespace mge {

struct ProfilerOptions {
    // Also when each kernel begins: a second reading per step, which parts the kernel from what happens
    // between kernels.
    bool dispatch = false;
    // The host waits for steps on devices that work late and have no clock. Without this these end as soon as
    // they were asked for.
    bool waits = false;
    // The latest runs are kept, no more than fit into so many bytes, and at least one.
    size_t memory = size_t(16) << 20;
    // So many runs come first of which graphs inside of operators tell nothing.
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
    // Of graphs inside of steps, in the order in which they first ran.
    std::vector<ProfileInnerStep> inner_steps() const;
    // The complete ones among the latest runs, oldest first; times count from `origin`. Waits for what of
    // their work is under way.
    std::vector<ProfileRun> runs(int64_t origin) const;
    // Nanoseconds on the steady clock when the oldest kept run began; none without runs.
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
    // Places in buffer_ of the kept runs that have all their steps, oldest first.
    std::vector<const int64_t*> kept() const;

    size_t steps_;
    std::vector<Queue*> queues_;  // by step, those that it waits for, or none
    bool dispatch_;
    std::unique_ptr<LateRuns> late_;  // null where the host's clock tells all
    size_t host_size_, run_size_;     // entries per run: of the host's clock, and in all
    size_t capacity_;                 // runs
    // Of each run its start, then per step begin (with dispatch_) and end; with late_ those of the devices
    // behind them.
    std::vector<int64_t> buffer_;
    int64_t* next_ = nullptr;
    int64_t runs_ = 0, warm_up_runs_;
    std::unique_ptr<InnerTimes> inner_;
};

// What the profilers of contexts of one program recorded, with everything that the program says of itself.
// Each profiler is a thread of the profile.
MGE_API Profile make_profile(const Program& program, const std::string& model,
                             std::span<const Profiler* const> profilers);

}  // namespace mge
