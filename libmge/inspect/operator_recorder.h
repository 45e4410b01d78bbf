// SPDX-License-Identifier: Apache-2.0
#pragma once
// Records which operators run at once, from when to when, and how long the memory lives that they make.
//
//     operator_recorder().start();
//     …
//     OperatorRecording recording = operator_recorder().stop();

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
    int64_t begin = 0, end = 0;  // nanoseconds of the steady clock
    size_t allocated = 0;        // bytes in use on its device afterwards
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
    OperatorRecording stop();
    void ran(const OperatorRun& run) override;

private:
    struct Watched {
        void (*release)(Storage*);  // what the storage had before
        uint64_t recording;
        size_t block;
    };
    void watch(const Tensor& output, size_t made_by, int64_t now);
    static void note_release(Storage* storage);
    friend MGE_API OperatorRecorder& operator_recorder();

    std::mutex mutex_;
    OperatorRecording recording_;
    uint64_t recordings_ = 0;  // number of the present one: memory may be given back in a later one
    bool is_recording_ = false;
    std::unordered_map<Storage*, Watched> watched_;
};

// The only one: memory that it watches may outlive everything else.
MGE_API OperatorRecorder& operator_recorder();

}  // namespace mge
