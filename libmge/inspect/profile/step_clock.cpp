// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/profile/step_clock.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mge {

int64_t nanoseconds_between(const Event& earlier, const Event& later) {
    return std::max<int64_t>(0, std::llround(later.milliseconds_since(earlier) * 1e6));
}

DeviceId place_of_work(const Program& program, size_t step) {
    auto& report = program.steps()[step];
    for (ValueId id : report.outputs) {
        if (id == no_value) continue;
        if (DeviceId target = program.values()[size_t(id)].device; !target.is_host()) return target;
    }
    return report.device;
}

StepClock::StepClock(const Program& program) {
    for (size_t i = 0; i < program.steps().size(); ++i) {
        DeviceId place = place_of_work(program, i);
        auto& step = steps_.emplace_back();
        if (place.is_host()) continue;
        Queue& own = mge::queue_of(place);
        step.queue = number_of(own);
        if (!step.queue) continue;
        for (ValueId id : program.steps()[i].inputs) {
            if (id == no_value) continue;
            DeviceId source = program.values()[size_t(id)].device;
            if (source.is_host() || source.kind != place.kind) continue;
            Queue& other = mge::queue_of(source);
            if (&other != &own && std::ranges::find(step.sources, &other) == step.sources.end())
                step.sources.push_back(&other);
        }
    }
}

std::optional<size_t> StepClock::number_of(Queue& queue) {
    auto found = std::ranges::find(queues_, &queue);
    if (found == queues_.end()) {
        if (!queue.record_time()) return std::nullopt;
        found = queues_.insert(found, &queue);
    }
    return size_t(found - queues_.begin());
}

QueuePoint StepClock::begin(size_t step, bool starts_new) {
    auto& [queue, sources] = steps_[step];
    if (!queue) return nullptr;
    if (!starts_new && latest_ == queue && sources.empty()) return latest_end_;
    for (Queue* source : sources) queues_[*queue]->run_after(*source);
    return queues_[*queue]->record_time();
}

QueuePoint StepClock::end(size_t step) {
    latest_ = steps_[step].queue;
    latest_end_ = latest_ ? queues_[*latest_]->record_time() : nullptr;
    return latest_end_;
}

LateRuns::LateRuns(const Program& program, size_t most_runs)
    : clock_(program),
      steps_(program.steps().size()),
      most_runs_(most_runs),
      busy_until_(clock_.queues().size(), 0) {}

void LateRuns::limit_runs(const int64_t* place) {
    std::erase_if(runs_, [&](const Run& run) { return run.place == place; });
    while (runs_.size() >= most_runs_) read_oldest();
}

void LateRuns::begin_run(int64_t* place, int64_t now) {
    Run run{place, now, {}, std::vector<Span>(steps_)};
    for (Queue* queue : clock_.queues()) run.starts.push_back(queue->record_time());
    runs_.push_back(std::move(run));
    clock_.begin_run();
}

void LateRuns::read_all() {
    while (!runs_.empty()) read_oldest();
}

void LateRuns::read_oldest() {
    Run run = std::move(runs_.front());
    runs_.pop_front();
    std::vector<int64_t> starts;
    for (int64_t busy_until : busy_until_) starts.push_back(std::max(run.now, busy_until));
    for (size_t i = 0; i < run.steps.size(); ++i) {
        auto& [begin, end] = run.steps[i];
        if (!begin || !end) continue;  // or the run has ended early
        size_t queue = *clock_.queue_of(i);
        auto since_start = [&](const QueuePoint& point) {
            return starts[queue] + nanoseconds_between(*run.starts[queue], *point);
        };
        int64_t* times = run.place + 2 * i;
        times[0] = since_start(begin);
        times[1] = std::max(times[0], since_start(end));
        busy_until_[queue] = std::max(busy_until_[queue], times[1]);
    }
}

void LateSums::add(int64_t& sum, QueuePoint begin, QueuePoint end) {
    if (spans_.size() >= most_spans) read(most_spans / 2);
    spans_.push_back({&sum, std::move(begin), std::move(end)});
}

void LateSums::read(size_t count) {
    for (; count > 0; --count) {
        Span span = std::move(spans_.front());
        spans_.pop_front();
        *span.sum += nanoseconds_between(*span.begin, *span.end);
    }
}

}  // namespace mge
