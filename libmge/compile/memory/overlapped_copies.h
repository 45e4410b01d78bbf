// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs of a program with overlapping copies (compile/lane_plan.h): each copy is enqueued on its lane's queue,
// and events enforce the planned order. Between runs, the queues of the places wait for all copies.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "libmge/compile/lane_plan.h"
#include "libmge/device/copying.h"
#include "libmge/kernel/algorithm.h"

namespace mge {

class OverlappedCopies {
public:
    OverlappedCopies(const LanePlan& plan, std::span<const DeviceId> places);

    // Begins a run. `continues`: its memory is the previous run's, unused in between.
    void begin(bool continues);
    bool is_running() const { return is_running_; }
    // Runs a step: a copy, or work that `enqueue` enqueues on its place's queue.
    template <class Enqueue>
    void step(size_t i, size_t place, const Launch& launch, Enqueue&& enqueue) {
        if (is_last(i) && !is_ending_) return;
        Queue& queue = wait_for_predecessors(i, place);
        if (!copy(i, launch)) enqueue();
        reach(i, queue);
    }
    // Call after all other steps: enqueues the last copies through `enqueue`.
    template <class Enqueue>
    void enqueue_last(Enqueue&& enqueue) {
        is_ending_ = true;
        for (auto& copy : plan_.copies)
            if (copy.is_last) enqueue(copy.step);
    }
    // Ends the run. Waits for copies that still access host memory. `in_step` calls its argument for a step
    // and adds the step to errors.
    void end(const std::function<void(size_t, const std::function<void()>&)>& in_step);
    // Cleans up after a failed run. No copies are in flight afterwards.
    void give_up() noexcept;
    // Call if a run of another kind happened.
    void interrupt() { is_running_ = has_ended_ = false; }

private:
    struct Lane {
        Queue* queue = nullptr;
        bool has_started = false, is_used = false;
    };
    struct Place {
        Queue* queue = nullptr;
        CopyingDevice* device = nullptr;  // nullptr: no copies
        int stream = 0;
        Lane uploads, downloads;
        std::shared_ptr<const Event> start;  // start of the run
    };
    bool is_last(size_t i) const {
        int copy = plan_.steps[i].copy;
        return copy >= 0 && plan_.copies[size_t(copy)].is_last;
    }
    Lane& lane_of(const LanePlan::Copy& copy);
    Queue& wait_for_predecessors(size_t i, size_t place);
    bool copy(size_t i, const Launch& launch);
    void wait_for(size_t step, const Event& copied);
    void reach(size_t i, Queue& queue);
    void join();

    const LanePlan& plan_;
    std::vector<Place> places_;
    std::vector<std::shared_ptr<const Event>> reached_;  // by step, in this run or the previous one
    std::vector<std::shared_ptr<const Event>> late_;     // by copy; null if its host memory is free
    bool is_running_ = false, is_ending_ = false, continues_ = false, has_ended_ = false;
};

}  // namespace mge
