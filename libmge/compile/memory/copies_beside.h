// SPDX-License-Identifier: Apache-2.0
#pragma once
// The runs of a context whose program has copies beside its work (compile/lane_plan.h): each copy is asked of
// its lane's queue, and events keep the order that the plan says. Between runs the queues of the places are
// behind all copies.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "libmge/compile/lane_plan.h"
#include "libmge/device/copying.h"
#include "libmge/kernel/algorithm.h"

namespace mge {

class CopiesBeside {
public:
    CopiesBeside(const LanePlan& plan, std::span<const DeviceId> places);

    // A run begins. `continues`: its memory is what the run before had, and nobody has touched it meanwhile.
    void begin(bool continues);
    bool is_running() const { return is_running_; }
    // A step of it, which is either a copy or whatever `ask` asks its place's queue for.
    template <class Ask>
    void step(size_t i, size_t place, const Launch& launch, Ask&& ask) {
        if (is_last(i) && !is_ending_) return;
        Queue& queue = come_behind(i, place);
        if (!copy(i, launch)) ask();
        reach(i, queue);
    }
    // All steps were asked for, but those that come last, which `ask` gets.
    template <class Ask>
    void ask_last(Ask&& ask) {
        is_ending_ = true;
        for (auto& copy : plan_.copies)
            if (copy.is_last) ask(copy.step);
    }
    // So were these. Waits for the copies that still read or write memory of the host: `in_step` calls what
    // it gets with a step, and says in its errors which one it is.
    void end(const std::function<void(size_t, const std::function<void()>&)>& in_step);
    // The run has failed. Nothing is under way afterwards.
    void give_up() noexcept;
    // There was a run of another kind.
    void interrupt() { is_running_ = has_ended_ = false; }

private:
    struct Lane {
        Queue* queue = nullptr;
        bool has_started = false, is_used = false;
    };
    struct Place {
        Queue* queue = nullptr;
        CopyingDevice* device = nullptr;  // null where there are no copies
        int stream = 0;
        Lane uploads, downloads;
        std::shared_ptr<const Event> start;  // of the run
    };
    bool is_last(size_t i) const {
        int copy = plan_.steps[i].copy;
        return copy >= 0 && plan_.copies[size_t(copy)].is_last;
    }
    Lane& lane_of(const LanePlan::Copy& copy);
    Queue& come_behind(size_t i, size_t place);
    bool copy(size_t i, const Launch& launch);
    void wait_for(size_t step, const Event& copied);
    void reach(size_t i, Queue& queue);
    void join();

    const LanePlan& plan_;
    std::vector<Place> places_;
    std::vector<std::shared_ptr<const Event>> reached_;  // by step, in this run or the one before
    std::vector<std::shared_ptr<const Event>> late_;     // by copy; null where the host's memory is free
    bool is_running_ = false, is_ending_ = false, continues_ = false, has_ended_ = false;
};

}  // namespace mge
