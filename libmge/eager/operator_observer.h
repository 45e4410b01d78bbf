// SPDX-License-Identifier: Apache-2.0
#pragma once
// Observes eager operators, as step observers observe programs. Without an observer an operator costs one
// extra read of a pointer.

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "libmge/device/queue.h"
#include "libmge/op/op.h"

namespace mge {

struct OperatorRun {
    const OpInfo& op;
    const void* params;
    std::span<const Tensor> inputs, outputs;
    DeviceId device;
    std::chrono::steady_clock::time_point begin,
        end;                               // when its work is done, also on asynchronous devices
    std::span<const uint64_t> noted = {};  // the result of before()
    // Set if the observer reads clocks and the device has one: events around the work. `end` is then the time
    // of the launch.
    std::shared_ptr<const Event> device_begin = {}, device_end = {};
};

class MGE_API OperatorObserver {
public:
    virtual ~OperatorObserver() = default;
    // Called before each operator on its thread. The result is passed to ran().
    virtual std::vector<uint64_t> before(std::span<const Tensor>, std::span<const Tensor>) { return {}; }
    // True to get events instead of waits, on devices that have clocks.
    virtual bool reads_clocks() const { return false; }
    // Called after each operator on the calling thread.
    virtual void ran(const OperatorRun& run) = 0;
};

// Sets the observer of all threads; nullptr removes it. An observer must live as long as the process, because
// another thread may still be calling the previous one.
MGE_API void observe_operators(OperatorObserver* observer);

}  // namespace mge
