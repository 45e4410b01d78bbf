// SPDX-License-Identifier: Apache-2.0
#pragma once
// Start and end of a program's steps by the clocks of asynchronous devices. Points are recorded in the queues
// between the steps and read after the run, so that a run does not wait.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "libmge/compile/program.h"
#include "libmge/device/queue.h"

namespace mge {

using QueuePoint = std::shared_ptr<const Event>;

int64_t nanoseconds_between(const Event& earlier, const Event& later);

// The largest number of unread spans: a device that has not finished the first of them makes its users wait
// anyway.
inline constexpr size_t most_spans = 8192;

// The clock of one program; it follows one run at a time.
class StepClock {
public:
    explicit StepClock(const Program& program);
    // True if every step is finished when its call returns, or its device has no clock.
    bool is_empty() const { return queues_.empty(); }
    // The queues that have a clock and run a step.
    const std::vector<Queue*>& queues() const { return queues_; }
    // The index of the step's.
    std::optional<size_t> queue_of(size_t step) const { return steps_[step].queue; }

    void begin_run() { latest_.reset(); }
    // Null for a step on no such queue. A step starts at the end of the previous one if that is on the same
    // queue, unless it must start `anew`; its waits for other queues come before it.
    QueuePoint begin(size_t step, bool starts_new);
    QueuePoint end(size_t step);

private:
    struct Step {
        std::optional<size_t> queue;
        std::vector<Queue*> sources;  // other queues of the same kind, where its operands are computed
    };
    std::optional<size_t> number_of(Queue& queue);

    std::vector<Queue*> queues_;
    std::vector<Step> steps_;
    std::optional<size_t> latest_;  // the queue of the step before
    QueuePoint latest_end_;
};

// The device that does the work of a step: for a copy its target, or its source if the target is the host.
DeviceId place_of_work(const Program& program, size_t step);

// The times of whole runs.
class LateRuns {
public:
    // The number of runs that may be unread.
    LateRuns(const Program& program, size_t most_runs);
    bool is_empty() const { return clock_.is_empty(); }
    bool is_late(size_t step) const { return clock_.queue_of(step).has_value(); }

    // A new run stores its times at `place`: the previous run there is discarded.
    void limit_runs(const int64_t* place);
    // It gets begin and end of each late step, in nanoseconds of the host's clock.
    void begin_run(int64_t* place, int64_t now);
    void before(size_t step, bool starts_new) {
        runs_.back().steps[step].begin = clock_.begin(step, starts_new);
    }
    void after(size_t step) { runs_.back().steps[step].end = clock_.end(step); }
    // Waits for the times that are not read yet.
    void read_all();

private:
    struct Span {
        QueuePoint begin, end;
    };
    struct Run {
        int64_t* place;
        int64_t now;
        std::vector<QueuePoint> starts;  // by queue
        std::vector<Span> steps;
    };
    void read_oldest();

    StepClock clock_;
    size_t steps_, most_runs_;
    std::deque<Run> runs_;
    // By queue, the end of its known work. It starts a run when it is requested, or when it has finished the
    // previous one.
    std::vector<int64_t> busy_until_;
};

// Sums of times, of steps that come in any number.
class LateSums {
public:
    void add(int64_t& sum, QueuePoint begin, QueuePoint end);
    void read_all() { read(spans_.size()); }

private:
    struct Span {
        int64_t* sum;
        QueuePoint begin, end;
    };
    void read(size_t count);
    std::deque<Span> spans_;
};

}  // namespace mge
