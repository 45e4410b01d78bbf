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
    // Both are one queue. `text`: whose work it is, for errors that are found later.
    RecordedRun(Queue& queue, RecordingQueue& recorder, std::vector<Port> ports, std::string text);
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
    // Whether any later run may be recorded or replayed.
    bool is_over() const { return !left_ && kept_.empty(); }

private:
    class Origin;
    using IsCopied = std::vector<bool>;  // by port: it may lie elsewhere
    struct Kept {
        Addresses at;
        IsCopied is_copied;
        std::unique_ptr<const Recording> recording;
    };
    IsCopied copied_ports() const;
    bool was_seen(const Addresses& data, const IsCopied& is_copied) const;
    void note_places(const Addresses& data);
    void record(const Addresses& data, IsCopied is_copied, const Steps& steps);
    void copy_ports(const Kept& kept, const Addresses& data, bool are_outputs);

    static bool are_alike(const Addresses& a, const Addresses& b, const IsCopied& is_copied);

    Queue& queue_;
    RecordingQueue& recorder_;
    std::vector<Port> ports_;
    std::vector<bool> varies_;      // by port: it lay elsewhere in the run before
    std::vector<StorageRef> held_;  // by port, for those that are copied and have no place of their own
    std::vector<Addresses> seen_;   // of the last runs that went step by step
    std::vector<Kept> kept_;        // oldest first
    int left_;                      // recordings that may still be made; none where a run cannot be kept
    std::shared_ptr<const Origin> origin_;
    uint64_t arenas_ = 0;
};

}  // namespace mge
