// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include "libmge/compile/program.h"

namespace mge {

// Callbacks for a context's outputs. Each is called in a run as soon as its output's step is enqueued.
class OutputCallbacks {
public:
    using Callback = std::function<void(const Tensor&)>;

    bool is_empty() const { return callbacks_.empty(); }
    // An empty callback removes the output's callback.
    void set(const Program& program, size_t output, Callback callback);
    // Returns outputs with a callback that are ready after step `step - 1`; 0: before all steps.
    const std::vector<size_t>& ready(size_t step) const { return ready_[step]; }
    void call(size_t output, const Tensor& value) const { callbacks_[output](value); }

private:
    std::vector<Callback> callbacks_;         // by output; empty if there are none
    std::vector<std::vector<size_t>> ready_;  // by step + 1
};

}  // namespace mge
