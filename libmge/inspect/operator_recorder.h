// SPDX-License-Identifier: Apache-2.0
#pragma once
// Records which operators run at once, from when to when, and how long the memory lives that they make.
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
    int64_t begin = 0, end = 0;  // of the thread, nanoseconds of the steady clock
    // Of the work itself: on a device that does it later its own clock tells how long it takes.
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

// For all threads; one recording at a time, a second start begins anew.
class MGE_API OperatorRecorder final : public OperatorObserver {
public:
    void start();
    // Waits for what is under way, and throws what goes wrong there.
    OperatorRecording stop();
    bool reads_clocks() const override { return true; }
    void ran(const OperatorRun& run) override;

private:
    struct Watched {
        void (*release)(Storage*);  // what the storage had before
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
    friend MGE_API OperatorRecorder& operator_recorder();

    std::mutex mutex_;
    OperatorRecording recording_;
    std::deque<Late> late_;
    std::map<uint64_t, int64_t> busy_until_;  // by queue: it begins when it is through with what came before
    uint64_t recordings_ = 0;  // number of the present one: memory may be given back in a later one
    bool is_recording_ = false;
    std::unordered_map<Storage*, Watched> watched_;
};

// The only one: memory that it watches may outlive everything else.
MGE_API OperatorRecorder& operator_recorder();

}  // namespace mge
