// SPDX-License-Identifier: Apache-2.0
#pragma once
// Looking at operators that run at once, as step observers look at programs. Without an observer an operator
// costs one look at a pointer more.

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
        end;                               // when its work is done, on devices that work later too
    std::span<const uint64_t> noted = {};  // what before() gave
    // Where the observer reads clocks and the device has one: its work lies between them, and `end` is when
    // it was asked for.
    std::shared_ptr<const Event> device_begin = {}, device_end = {};
};

class MGE_API OperatorObserver {
public:
    virtual ~OperatorObserver() = default;
    // Before each operator, on its thread; what it gives is told behind it.
    virtual std::vector<uint64_t> before(std::span<const Tensor>, std::span<const Tensor>) { return {}; }
    // Gets points in the work of devices that have clocks: nobody waits for the operators then.
    virtual bool reads_clocks() const { return false; }
    // Behind each operator, on the thread that called it.
    virtual void ran(const OperatorRun& run) = 0;
};

// Who is told, by all threads; null: nobody. An observer lives as long as the process: another thread may
// still be about to tell the one before.
MGE_API void observe_operators(OperatorObserver* observer);

}  // namespace mge
