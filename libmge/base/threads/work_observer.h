// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <string_view>

namespace mge {

// How far a longer piece of work is: `done` of `total` parts, the last of them `part`.
struct WorkDone {
    std::string_view what;  // "measuring layouts"
    size_t done = 0, total = 0;
    std::string_view part;
};

// Is told between two parts, never while something is being measured.
using WorkObserver = std::function<void(const WorkDone&)>;

}  // namespace mge
