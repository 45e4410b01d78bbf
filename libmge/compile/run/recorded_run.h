// SPDX-License-Identifier: Apache-2.0
#pragma once
// Recordings of a context's runs, if its queue can record (device/recording.h): one call instead of one per
// step. A recording is made after a run step by step, because kernels initialise themselves in that. Its
// addresses are fixed, so it serves runs with the same addresses of inputs and outputs. A few small ports may
// differ, as may ports with memory in the context: they are copied before or after the replay.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libmge/device/queue.h"
#include "libmge/device/recording.h"

namespace mge {

class RecordedRun {
public:
    // Memory of an input or output. `own` is its address for the lifetime of the context, or nullptr if it
    // varies.
    struct Port {
        void* own = nullptr;
        size_t bytes = 0;
        bool is_output = false;
    };
    using Addresses = std::vector<void*>;  // by port
    // `queue` and `recorder` are the same object. `text` names the work in later errors.
    RecordedRun(Queue& queue, RecordingQueue& recorder, std::vector<Port> ports, std::string text);
    ~RecordedRun();

    // Replays the run with ports at `data`; returns false if there is no recording. `arenas` changes when the
    // arenas move.
    bool replay(const Addresses& data, uint64_t arenas);

    // Enqueues the steps; moves port `i`.
    struct Steps {
        std::function<void()> enqueue;
        std::function<void(size_t, void*)> point;
    };
    // Call after a run step by step: records it if similar runs are likely.
    void note_run(const Addresses& data, uint64_t arenas, const Steps& steps);
    // True if no later run can be recorded or replayed.
    bool is_over() const { return !left_ && kept_.empty(); }

private:
    class Origin;
    using IsCopied = std::vector<bool>;  // by port: may be elsewhere
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
    std::vector<bool> varies_;      // by port: it was elsewhere in the previous run
    std::vector<StorageRef> held_;  // by port: staging memory of copied ports without an address of their own
    std::vector<Addresses> seen_;   // addresses of the last runs step by step
    std::vector<Kept> kept_;        // oldest first
    int left_;  // number of recordings that may still be made; 0 if a run cannot be recorded
    std::shared_ptr<const Origin> origin_;
    uint64_t arenas_ = 0;
};

}  // namespace mge
