// SPDX-License-Identifier: Apache-2.0
#pragma once
// Records the eager operators with their start and end times, and the lifetime of their memory.
//
//     operator_recorder().start();
//     …
//     OperatorRecording recording = operator_recorder().stop();

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libmge/eager/operator_observer.h"

namespace mge {

struct RecordedOperator {
    std::string_view name;
    DeviceId device;
    int64_t thread = 0;          // as the system numbers it
    int64_t begin = 0, end = 0;  // on the thread, in nanoseconds of the steady clock
    // Times of the work itself: on an asynchronous device from the device's clock.
    int64_t device_begin = 0, device_end = 0;
    size_t allocated = 0;  // bytes in use on its device afterwards
    TensorSpecs inputs, outputs;
};

// Memory that an operator made for a result.
struct RecordedBlock {
    size_t made_by = 0;  // number of the operator
    TensorSpec spec;
    uintptr_t address = 0;
    size_t bytes = 0;
    int64_t produced = 0, erased = -1;  // nanoseconds of the steady clock; −1: it is still in use
};

struct OperatorRecording {
    std::vector<RecordedOperator> operators;
    std::vector<RecordedBlock> blocks;
};

// For all threads; one recording at a time, and a second start resets it.
class MGE_API OperatorRecorder final : public OperatorObserver {
public:
    void start();
    // Waits for the work in flight, and throws its errors.
    OperatorRecording stop();
    bool reads_clocks() const override { return true; }
    void ran(const OperatorRun& run) override;
    std::mutex& mutex() { return mutex_; }

private:
    struct Watched {
        void (*release)(Storage*);  // the original release function
        uint64_t recording;
        size_t block;
    };
    // The times of an operator on its device, not read yet.
    struct Late {
        size_t number;
        DeviceId queue;
        std::shared_ptr<const Event> begin, end;
    };
    static void read(std::deque<Late>& late, size_t count, OperatorRecording& recording,
                     std::map<uint64_t, int64_t>& busy_until);
    void watch(const Tensor& output, size_t made_by, int64_t now);
    static void note_release(Storage* storage);

    std::mutex mutex_;
    OperatorRecording recording_;
    std::deque<Late> late_;
    std::map<uint64_t, int64_t> busy_until_;  // by queue: work begins when earlier work is finished
    uint64_t recordings_ = 0;  // number of the present one: memory may be given back in a later one
    bool is_recording_ = false;
    std::unordered_map<Storage*, Watched> watched_;
};

// A singleton, because tracked memory may outlive everything else.
MGE_API OperatorRecorder& operator_recorder();

}  // namespace mge
