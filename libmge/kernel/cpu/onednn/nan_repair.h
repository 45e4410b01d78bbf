// SPDX-License-Identifier: Apache-2.0
#pragma once
// NaN through an activation that a oneDNN primitive applies. Its generated code clips values by maxima and
// minima that drop NaN, its other code multiplies -inf by 0, and so its implementations disagree. No other
// post-operation keeps NaN: eltwise_clip, clip_v2 and binary_max drop it, and a prelu by 0 makes NaN of -inf.
//
// Such a maximum raises the processor's flag for invalid operations, which is free to check. After a run that
// raised it, the sums are computed again without the activation, and each position whose sum is not finite
// gets the activation's value.

#include <functional>
#include <memory>
#include <span>

#include "libmge/kernel/activation.h"
#include "libmge/kernel/cpu/onednn/primitive.h"

namespace mge::onednn {

class NanRepair {
public:
    // `primitive`: a convolution or a matrix product. `sums`: it adds its result to its destination.
    NanRepair(Primitive primitive, Activation activation, bool sums);
    ~NanRepair();
    NanRepair(const NanRepair&) = delete;
    NanRepair& operator=(const NanRepair&) = delete;

    // Calls `execute`, which runs the primitive with these arguments on this thread's ThreadScope.
    void run(std::span<const dnnl_exec_arg_t> arguments, const std::function<void()>& execute) const;

private:
    struct Plain;
    const Plain& plain() const;
    void repair(std::span<const dnnl_exec_arg_t> arguments, void* y, const void* added) const;

    Primitive primitive_;
    Activation activation_;
    bool sums_;
    MemoryDesc y_;
    std::unique_ptr<Plain> plain_;
};

}  // namespace mge::onednn
