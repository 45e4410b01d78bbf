// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/device/cpu/cpu_device.h"

namespace mge {

// Each architecture has a source that defines these functions: isa_x86.cpp, isa_arm.cpp.

// The instruction sets of the architecture: the baseline, the best one of this machine, and the best one that
// the library knows.
struct IsaRange {
    Isa lowest, best, highest;
};
IsaRange isas_of_machine();

// Returns the name of the processor; on machines with several kinds of cores, of all of them.
std::string model_of_machine();

}  // namespace mge
