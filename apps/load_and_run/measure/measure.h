// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "apps/load_and_run/measure/clock.h"
#include "apps/load_and_run/session.h"

namespace mge::load_and_run {

// A context and how it is run.
class Runner {
public:
    Runner(Context& context, size_t outputs, const Options& options)
        : context_(context),
          on_worker_(options.device.runs_on_worker()),
          copied_(options.input.copy_to_host ? outputs : 0),
          slowdown_(options.run.planted_slowdown / 100) {}

    void run() {
        auto start = Clock::now();
        on_worker_ ? context_.start() : context_.run();
        context_.wait();
        for (size_t i = 0; i < copied_; ++i) context_.copy_output(i);
        if (slowdown_ > 0)
            spin_until(start +
                       Clock::duration(int64_t(double((Clock::now() - start).count()) * (1 + slowdown_))));
    }

private:
    static void spin_until(Clock::time_point end) {
        while (Clock::now() < end) {
        }
    }

    Context& context_;
    bool on_worker_;
    size_t copied_;
    double slowdown_;
};

struct Measured {
    std::vector<double> times;  // milliseconds per run, in the order of their ends
    std::vector<double> waits;  // with --rate: how much of each went by before it started
    double seconds = 0;         // from the first start to the last end
    double joules = 0;          // energy of all runs; 0 with a reason in `no_energy`
    std::string no_energy;
    std::vector<double> load_ms, compile_ms;  // with --thread: of each load
};

// The timed runs of a test, after a warm-up: sequential, at an arrival rate, on several contexts, or several
// loads.
Measured measure(Session& session, Test& test, const Options& options);

}  // namespace mge::load_and_run
