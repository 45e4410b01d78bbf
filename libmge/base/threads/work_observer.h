// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <string_view>

namespace mge {

// Progress of a long task: `done` of `total` parts, the last of them `part`.
struct WorkDone {
    std::string_view what;  // "measuring layouts"
    size_t done = 0, total = 0;
    std::string_view part;
};

// Called between two parts, never during a measurement.
using WorkObserver = std::function<void(const WorkDone&)>;

}  // namespace mge
