// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/measure/measure.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "apps/cli/output/progress.h"
#include "apps/load_and_run/affinity.h"
#include "apps/load_and_run/measure/clock.h"
#include "apps/load_and_run/measure/energy.h"
#include "libmge/base/threads/first_failure.h"
#include "libmge/base/threads/start_thread.h"

namespace mge::load_and_run {
namespace {

// Interval of progress reports: large enough to have no measurable cost.
constexpr auto look_interval = std::chrono::milliseconds(200);

using Seconds = std::chrono::duration<double>;

struct Run {
    Clock::time_point arrival, start, end;
};

// Arrival times of the runs of an open loop: a Poisson process, in seconds from the start.
std::vector<double> arrivals(const Options& options) {
    auto count = std::max(size_t(options.run.iterations), size_t(options.run.duration * options.run.rate));
    std::mt19937_64 generator(options.input.seed);
    std::exponential_distribution<double> gap(options.run.rate);
    std::vector<double> times(count);
    double now = 0;
    for (double& time : times) time = now += gap(generator);
    return times;
}

// Sleeps, but not to the end: waking up takes longer than many a run.
void wait_until(Clock::time_point time) {
    constexpr auto wake_up = std::chrono::microseconds(200);
    if (Clock::now() + wake_up < time) std::this_thread::sleep_until(time - wake_up);
    while (Clock::now() < time) {
    }
}

// All runs of one test, by one thread or several that start together.
class Workers {
public:
    Workers(Session& session, Test& test, const Options& options)
        : session_(session),
          test_(test),
          options_(options),
          size_(std::max(options.run.streams, options.run.loads)),
          ready_(size_, Begin{this}),
          runs_(size_t(size_)) {
        if (options.run.rate > 0) arrivals_ = arrivals(options);
    }

    Measured run() {
        std::vector<std::thread> threads;
        threads.reserve(size_t(size_));
        failure_.guard([&] {
            for (int i = 1; i < size_; ++i) threads.push_back(start_thread([this, i] { guarded_work(i); }));
        });
        // The other threads wait for the whole group, so threads that could not be started are subtracted.
        if (failure_.exists())
            for (size_t i = threads.size(); i < size_t(size_); ++i) ready_.arrive_and_drop();
        else
            guarded_work(0);
        for (auto& thread : threads) thread.join();
        failure_.rethrow();
        result_.joules = energy_.joules();
        result_.no_energy = energy_.unavailable();
        return collect();
    }

private:
    struct Begin {
        Workers* workers;
        void operator()() noexcept {
            workers->energy_.start();
            workers->begin_ = Clock::now();
        }
    };

    void guarded_work(int i) {
        bool is_done = false;
        failure_.guard([&] {
            work(i);
            is_done = true;
        });
        if (!is_done) ready_.arrive_and_drop();
    }

    // The first thread uses the existing context, the others make contexts or loads.
    void work(int i) {
        pin_team(options_, i);
        if (i == 0) return work_on(*test_.context, i);
        if (options_.run.loads > 1) {
            Session session(options_);
            Test own;
            own.inputs = test_.inputs;
            session.prepare(own);
            session.first_run(own);
            {
                std::lock_guard lock(mutex_);
                result_.load_ms.push_back(session.load_ms);
                result_.compile_ms.push_back(own.compile_ms);
            }
            return work_on(*own.context, i);
        }
        auto context = session_.make_context(test_);
        if (session_.requested().fake_next_exec) {
            context->run();
            context->wait();
        }
        work_on(*context, i);
    }

    void work_on(Context& context, int i) {
        Runner runner(context, test_.program->outputs().size(), options_);
        for (int n = 0; n < options_.run.warmup_iterations; ++n) runner.run();
        auto& runs = runs_[size_t(i)];
        runs.reserve(arrivals_.empty() ? size_t(options_.run.iterations) : arrivals_.size());
        ready_.arrive_and_wait();
        if (failure_.exists()) return;
        arrivals_.empty() ? run_back_to_back(runner, runs, i == 0) : run_as_they_arrive(runner, runs);
    }

    void run_back_to_back(Runner& runner, std::vector<Run>& runs, bool shows_progress) {
        auto end = begin_ + std::chrono::duration_cast<Clock::duration>(Seconds(options_.run.duration));
        auto iterations = size_t(options_.run.iterations);
        std::optional<cli::Progress> progress;
        if (shows_progress) progress.emplace("timing", iterations);
        size_t shown = 0;
        auto now = Clock::now(), next_look = now + look_interval;
        while (runs.size() < iterations || now < end) {
            auto start = now;
            runner.run();
            now = Clock::now();
            runs.push_back({start, start, now});
            if (progress && now >= next_look) {
                progress->set_total(std::max(iterations, expected_runs(runs.size(), now)));
                progress->advance(runs.size() - std::exchange(shown, runs.size()));
                now = Clock::now();
                next_look = now + look_interval;
            }
        }
    }

    // With a duration there may be more runs than requested: the estimate follows the speed so far.
    size_t expected_runs(size_t done, Clock::time_point now) const {
        double elapsed = Seconds(now - begin_).count();
        return elapsed < options_.run.duration ? size_t(double(done) * options_.run.duration / elapsed)
                                               : done;
    }

    void run_as_they_arrive(Runner& runner, std::vector<Run>& runs) {
        for (size_t k; (k = next_arrival_.fetch_add(1)) < arrivals_.size();) {
            auto arrival = begin_ + std::chrono::duration_cast<Clock::duration>(Seconds(arrivals_[k]));
            wait_until(arrival);
            auto start = Clock::now();
            runner.run();
            runs.push_back({arrival, start, Clock::now()});
        }
    }

    Measured collect() {
        std::vector<Run> all;
        for (auto& runs : runs_) all.insert(all.end(), runs.begin(), runs.end());
        std::ranges::sort(all, {}, &Run::end);
        for (auto& run : all) {
            result_.times.push_back(milliseconds(run.end - run.arrival));
            if (!arrivals_.empty()) result_.waits.push_back(milliseconds(run.start - run.arrival));
        }
        result_.seconds = all.empty() ? 0 : Seconds(all.back().end - begin_).count();
        return std::move(result_);
    }

    Session& session_;
    Test& test_;
    const Options& options_;
    int size_;
    std::barrier<Begin> ready_;
    Clock::time_point begin_;
    EnergyMeter energy_;
    std::vector<double> arrivals_;
    std::atomic<size_t> next_arrival_{0};
    std::vector<std::vector<Run>> runs_;  // by thread
    std::mutex mutex_;
    Measured result_;
    FirstFailure failure_;
};

}  // namespace

Measured measure(Session& session, Test& test, const Options& options) {
    return Workers(session, test, options).run();
}

}  // namespace mge::load_and_run
