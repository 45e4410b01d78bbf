// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/profile/call_profiler.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace mge {
namespace {

void shift(std::vector<int>& ids, int by) {
    for (int& id : ids)
        if (id >= 0) id += by;
}

template <class T>
void append_moved(std::vector<T>& all, std::vector<T>& next) {
    all.insert(all.end(), std::make_move_iterator(next.begin()), std::make_move_iterator(next.end()));
}

void append(std::vector<int64_t>& times, const std::vector<int64_t>& next, int64_t later) {
    for (int64_t time : next) times.push_back(later + time);
}

// The run of `next` began so many nanoseconds after that of `all`.
void join_runs(Profile& all, const Profile& next, int64_t later) {
    if (all.runs.empty()) all.runs.emplace_back();
    ProfileRun& run = all.runs[0];
    // A run with a late part is late, and synchronous host work counts as done at that time.
    auto make_late = [](ProfileRun& some) {
        if (std::exchange(some.is_late, true)) return;
        some.host_begins = some.begins;
        some.host_ends = some.ends;
    };
    for (auto& more : next.runs) {
        ProfileRun then = more;
        if (run.is_late || then.is_late) {
            make_late(run);
            make_late(then);
        }
        append(run.begins, then.begins, later);
        append(run.ends, then.ends, later);
        append(run.host_begins, then.host_begins, later);
        append(run.host_ends, then.host_ends, later);
    }
}

void join(Profile& all, Profile next, int64_t later) {
    join_runs(all, next, later);
    int steps = int(all.steps.size()), values = int(all.values.size()), operators = int(all.operators.size());
    for (auto& node : next.operators) node.id += operators;
    for (auto& step : next.steps) {
        step.id = std::to_string(all.steps.size());
        for (NodeId& origin : step.origins) origin += operators;
        shift(step.inputs, values);
        shift(step.outputs, values);
        all.steps.push_back(std::move(step));
    }
    for (auto& value : next.values) {
        value.id = std::to_string(all.values.size());
        if (value.first_step >= 0) value.first_step += steps;
        if (value.last_step >= 0) value.last_step += steps;
        if (value.view_of >= 0) value.view_of += values;
        all.values.push_back(std::move(value));
    }
    for (auto& inner : next.inner_steps) inner.step += steps;
    shift(next.order, steps);
    for (auto& device : next.devices)
        if (std::ranges::find(all.devices, device.name, &ProfileDevice::name) == all.devices.end())
            all.devices.push_back(device);
    append_moved(all.order, next.order);
    append_moved(all.operators, next.operators);
    append_moved(all.inner_steps, next.inner_steps);
}

}  // namespace

void CallProfiler::before_run(Context& context) {
    auto program = context.program().shared_from_this();
    auto profiler =
        std::make_unique<Profiler>(*program, ProfilerOptions{.dispatch = true, .waits = true, .memory = 0});
    runs_.push_back({std::move(program), std::move(profiler)});
    is_running_ = true;
}

void CallProfiler::after_run(Context&) { is_running_ = false; }

void CallProfiler::after_failure(const std::exception_ptr&, Context&) {
    if (std::exchange(is_running_, false)) runs_.pop_back();
}

Profile CallProfiler::profile() const {
    Profile all;
    std::optional<int64_t> start;
    for (auto& run : runs_) {
        const Profiler* profilers[] = {run.profiler.get()};
        Profile next = make_profile(*run.program, {}, profilers);
        auto began = run.profiler->first_start();  // nullopt: it has no steps
        if (!start) start = began;
        if (&run == &runs_.front())
            all = std::move(next);
        else
            join(all, std::move(next), began ? *began - *start : 0);
    }
    // Programs share weights and memory: their figures have no sum.
    if (runs_.size() > 1) all.memory.reset();
    all.runs_total = int64_t(all.runs.size());
    return all;
}

}  // namespace mge
