// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/run/output_callbacks.h"

#include <algorithm>
#include <utility>

namespace mge {

void OutputCallbacks::set(const Program& program, size_t output, Callback callback) {
    auto& ids = program.graph().outputs();
    callbacks_.resize(ids.size());
    callbacks_[output] = std::move(callback);
    ready_.assign(program.steps().size() + 1, {});
    auto ready = ready_steps(program);
    for (size_t i = 0; i < ids.size(); ++i)
        if (callbacks_[i]) ready_[size_t(ready[size_t(ids[i])] + 1)].push_back(i);
    if (std::ranges::none_of(callbacks_, [](auto& each) { return bool(each); })) callbacks_.clear();
}

}  // namespace mge
