// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs of a context as recordings, where its queue can keep work (device/recording.h): one call instead of
// one for each step. A recording is made behind a run that went step by step, since kernels make themselves
// ready in it, and its addresses stay: it stands for runs whose inputs and outputs lie where they lay then. A
// few small ones may lie elsewhere and those that have a place of their own in the context: they are copied
// before it and behind it.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libmge/device/queue.h"
#include "libmge/device/recording.h"

namespace mge {

class RecordedRun {
public:
    // Memory of an input or output. `own`: where it lies as long as the context lives; null: it comes and
    // goes.
    struct Port {
        void* own = nullptr;
        size_t bytes = 0;
        bool is_output = false;
    };
    using Addresses = std::vector<void*>;  // by port
    // `text`: whose work it is, for errors that are found later.
    RecordedRun(Queue& queue, std::vector<Port> ports, std::string text);
    ~RecordedRun();

    // The run whose ports are at `data`; false when there is no recording of it. `arenas` is another number
    // when they lie elsewhere than before.
    bool replay(const Addresses& data, uint64_t arenas);

    // The caller's steps, and how it lets port `i` lie somewhere else.
    struct Steps {
        std::function<void()> ask;
        std::function<void(size_t, void*)> point;
    };
    // Behind such a run that went step by step: records it if others are likely to be like it.
    void note_run(const Addresses& data, uint64_t arenas, const Steps& steps);

private:
    class Origin;
    struct Kept {
        Addresses at;
        std::vector<bool> is_copied;  // by port: it may lie elsewhere
        std::unique_ptr<const Recording> recording;

        bool stands_for(const Addresses& data) const;
    };
    bool may_lie_elsewhere(size_t port) const;
    bool was_seen(const Addresses& data, const std::vector<bool>& is_copied) const;
    void note_places(const Addresses& data);
    void record(const Addresses& data, std::vector<bool> is_copied, const Steps& steps);
    void copy_ports(const Kept& kept, const Addresses& data, bool are_outputs);

    Queue& queue_;
    RecordingQueue* recorder_;  // null: the queue cannot, or a run cannot be kept
    std::vector<Port> ports_;
    std::vector<bool> varies_;      // by port: it lay elsewhere in the run before
    std::vector<StorageRef> held_;  // by port, for those that are copied and have no place of their own
    std::vector<Addresses> seen_;   // of the last runs that went step by step
    std::vector<Kept> kept_;        // oldest first
    int left_;                      // recordings that may still be made
    std::shared_ptr<const Origin> origin_;
    uint64_t arenas_ = 0;
};

}  // namespace mge
