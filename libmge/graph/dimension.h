// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "libmge/tensor/extent.h"

namespace mge {

// An axis of a graph input whose size may change from run to run. Equal names mean equal sizes. A name may be
// an expression over other names, such as `past + 1`.
struct OpenDimension {
    int axis = 0;
    std::string name;  // empty if the model file gives none
    ExtentBounds bounds;
    bool operator==(const OpenDimension&) const = default;
};
// In ascending order of the axes. Axes of equal number are not listed twice.
using OpenDimensions = std::vector<OpenDimension>;

}  // namespace mge
