// SPDX-License-Identifier: Apache-2.0
#pragma once
// When the steps of a program begin and end by the clocks of the devices that do their work later than it is
// asked for. Points are recorded in the queues between the steps and read when the run is over, so that
// nobody waits in a run.

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

// So many spans may wait for being read: a device that is not through with the first of them then lets
// whoever asks wait anyhow.
inline constexpr size_t most_spans = 8192;

// Of one program; it follows one run at a time.
class StepClock {
public:
    explicit StepClock(const Program& program);
    // None where every step is over when the call that asks for it returns, or its device has no clock.
    bool is_empty() const { return queues_.empty(); }
    // Those that have a clock and do some step.
    const std::vector<Queue*>& queues() const { return queues_; }
    // The index of the step's.
    std::optional<size_t> queue_of(size_t step) const { return steps_[step].queue; }

    void begin_run() { latest_.reset(); }
    // Null for a step of no such queue. A step begins where the one before it ended if that one has the same
    // queue, unless it is to begin `anew`; what it has to wait for on other queues comes before it.
    QueuePoint begin(size_t step, bool anew);
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

// Where the work of a step is done: a copy's at its target, or at its source if it goes to the host.
DeviceId place_of_work(const Program& program, size_t step);

// The times of whole runs.
class LateRuns {
public:
    // So many runs may wait for being read.
    LateRuns(const Program& program, size_t most_runs);
    bool is_empty() const { return clock_.is_empty(); }
    bool is_late(size_t step) const { return clock_.queue_of(step).has_value(); }

    // A run comes whose times are for `place`: the one that it was for before is forgotten.
    void make_room(const int64_t* place);
    // It gets begin and end of each late step, in nanoseconds of the host's clock.
    void begin_run(int64_t* place, int64_t now);
    void before(size_t step, bool anew) { runs_.back().steps[step].begin = clock_.begin(step, anew); }
    void after(size_t step) { runs_.back().steps[step].end = clock_.end(step); }
    // Waits for what is not read yet.
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
    // By queue, until when it was seen at work. It comes to a run when it is asked for it, or when it is
    // through with the one before.
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
