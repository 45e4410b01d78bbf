// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/run/dispatch.h"

#include <utility>

namespace mge {

Dispatch::Dispatch(std::span<const StepThreads> steps, Work work) : work_(std::move(work)) {
    auto lane = [&](int thread) -> std::vector<Part>& {
        if (size_t(thread) > lanes_.size()) lanes_.resize(size_t(thread));
        return lanes_[size_t(thread) - 1];
    };
    for (size_t i = 0; i < steps.size(); ++i) {
        Meeting* meeting = nullptr;
        if (!steps[i].participants.empty()) {
            meetings_.push_back(std::make_unique<Meeting>());
            meeting = meetings_.back().get();
            meeting->participants = int(steps[i].participants.size());
        }
        lane(steps[i].owner).push_back({i, meeting, true});
        for (int participant : steps[i].participants) lane(participant).push_back({i, meeting, false});
    }
    for (auto& parts : lanes_)
        workers_.push_back(std::make_unique<Worker>([this, &parts] { follow(parts); }));
}

void Dispatch::start() {
    for (auto& meeting : meetings_) {
        meeting->came = 0;
        meeting->is_over = false;
    }
    has_failed_ = false;
    for (auto& worker : workers_) worker->open();  // all threads, before one starts and waits for another
    under_way_ = workers_.size();
    for (auto& worker : workers_) worker->start();
}

// After an error the other threads continue without enqueuing anything, so that all finish.
void Dispatch::enqueue(size_t step) {
    if (has_failed_) return;
    try {
        work_.enqueue(step);
    } catch (...) {
        if (!has_failed_.exchange(true)) failure_ = std::current_exception();
    }
}

void Dispatch::visit(Meeting& meeting) {
    ++meeting.came;
    meeting.came.notify_one();
    meeting.is_over.wait(false);
}

void Dispatch::follow(const std::vector<Part>& parts) {
    for (auto& part : parts) {
        if (!part.is_owner) {
            visit(*part.meeting);
            continue;
        }
        for (int came = 0; part.meeting && (came = part.meeting->came) < part.meeting->participants;)
            part.meeting->came.wait(came);
        enqueue(part.step);
        if (!part.meeting) continue;
        part.meeting->is_over = true;
        part.meeting->is_over.notify_all();
    }
    if (--under_way_ == 0) work_.finish(std::exchange(failure_, nullptr));
}

}  // namespace mge
