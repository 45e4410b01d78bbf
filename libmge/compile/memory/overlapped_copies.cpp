// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/memory/overlapped_copies.h"

#include <utility>

namespace mge {
namespace {

CopyWay way_of(const LanePlan::Copy& copy) { return copy.is_upload ? CopyWay::to_device : CopyWay::to_host; }

}  // namespace

OverlappedCopies::OverlappedCopies(const LanePlan& plan, std::span<const DeviceId> places)
    : plan_(plan), reached_(plan.steps.size()), late_(plan.copies.size()) {
    for (DeviceId place : places) places_.push_back({.queue = &queue_of(place)});
    for (auto& copy : plan.copies) {
        auto& place = places_[copy.place];
        place.device = copying_device(places[copy.place]);
        place.stream = places[copy.place].stream;
        lane_of(copy).queue = &place.device->copies(place.stream, way_of(copy));
    }
}

OverlappedCopies::Lane& OverlappedCopies::lane_of(const LanePlan::Copy& copy) {
    auto& place = places_[copy.place];
    return copy.is_upload ? place.uploads : place.downloads;
}

void OverlappedCopies::begin(bool continues) {
    continues_ = continues && has_ended_;
    has_ended_ = is_ending_ = false;
    for (auto& place : places_) {
        bool has_lanes = place.uploads.queue || place.downloads.queue;
        place.start = has_lanes ? place.queue->record() : nullptr;
        for (auto* lane : {&place.uploads, &place.downloads}) lane->has_started = lane->is_used = false;
    }
    is_running_ = true;
}

// Returns the queue of the step after making it wait.
Queue& OverlappedCopies::wait_for_predecessors(size_t i, size_t place) {
    auto& step = plan_.steps[i];
    for (size_t other : step.host_waits) wait_for(other, *reached_[other]);
    Queue* queue = places_[place].queue;
    if (step.copy >= 0) {
        auto& copy = plan_.copies[size_t(step.copy)];
        auto& lane = lane_of(copy);
        queue = lane.queue;
        lane.is_used = true;
        // Other work may have used its memory before the run.
        bool follows_start = !continues_ || copy.is_device_shared;
        if (follows_start && !std::exchange(lane.has_started, true))
            queue->wait_for(*places_[copy.place].start);
        if (!follows_start)
            for (size_t other : step.previous_run_waits) queue->wait_for(*reached_[other]);
    }
    for (size_t other : step.lane_waits) queue->wait_for(*reached_[other]);
    return *queue;
}

// Returns false if the step is not a copy.
bool OverlappedCopies::copy(size_t i, const Launch& launch) {
    if (plan_.steps[i].copy < 0) return false;
    auto at = size_t(plan_.steps[i].copy);
    auto& copy = plan_.copies[at];
    auto& place = places_[copy.place];
    if (place.device->start_copy(place.stream, way_of(copy), launch.outputs[0], launch.inputs[0], copy.bytes))
        late_[at] = lane_of(copy).queue->record();
    else if (!copy.is_upload)
        place.device->throw_faults(place.stream);
    return true;
}

// Waits on the host.
void OverlappedCopies::wait_for(size_t step, const Event& copied) {
    copied.wait();
    auto& place = places_[plan_.copies[size_t(plan_.steps[step].copy)].place];
    place.device->throw_faults(place.stream);
}

void OverlappedCopies::reach(size_t i, Queue& queue) {
    if (plan_.steps[i].is_waited_for) reached_[i] = queue.record();
}

// Makes the queues of the places wait for the copies.
void OverlappedCopies::join() {
    for (auto& place : places_)
        for (auto* lane : {&place.uploads, &place.downloads})
            if (std::exchange(lane->is_used, false)) place.queue->wait_for(*lane->queue->record());
}

void OverlappedCopies::end(const std::function<void(size_t, const std::function<void()>&)>& in_step) {
    join();
    for (size_t i = 0; i < late_.size(); ++i)
        if (auto copied = std::exchange(late_[i], nullptr)) {
            size_t step = plan_.copies[i].step;
            in_step(step, [&] { wait_for(step, *copied); });
        }
    is_running_ = false;
    has_ended_ = true;
}

void OverlappedCopies::give_up() noexcept {
    is_running_ = has_ended_ = false;
    for (auto& copied : late_) copied = nullptr;
    for (auto& place : places_)
        for (auto* lane : {&place.uploads, &place.downloads})
            if (lane->queue) try {
                    lane->queue->wait();
                    lane->is_used = false;
                } catch (...) {
                    // A failed queue has no work in flight; the run's own error is reported.
                }
}

}  // namespace mge
