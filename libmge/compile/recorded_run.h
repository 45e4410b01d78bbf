// SPDX-License-Identifier: Apache-2.0
#pragma once
// comp_node_seq_record_level where a queue can keep work (device/recording.h): a context does its first run
// step by step, since kernels make themselves ready in it, records the second, and what comes behind is that
// recording. Its addresses stay: inputs and outputs that lie elsewhere are copied before it and behind it.

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
    // `text`: whose work it is, for errors that are found later.
    RecordedRun(Queue& queue, std::vector<Port> ports, std::string text);
    ~RecordedRun();

    // The caller's steps, and how it lets port `i` lie somewhere else.
    struct Steps {
        std::function<void()> ask;
        std::function<void(size_t, void*)> point;
    };
    // With the ports at `data`; false when the caller has to ask for the steps itself. `arenas` is another
    // number when they lie elsewhere than before.
    bool run(const std::vector<void*>& data, uint64_t arenas, const Steps& steps);

private:
    class Origin;
    void record(const std::vector<void*>& data, const Steps& steps);

    Queue& queue_;
    RecordingQueue* recorder_;  // null: the queue cannot, or a run cannot be kept
    std::vector<Port> ports_;
    std::vector<StorageRef> held_;  // by port; null for those that have their own
    std::vector<void*> fixed_;      // by port, where the recording has them
    std::shared_ptr<const Origin> origin_;
    std::unique_ptr<const Recording> recording_;
    uint64_t arenas_ = 0;
    bool has_run_ = false;
};

}  // namespace mge
