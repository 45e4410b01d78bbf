// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/op.h"

namespace mge::test {

// A device beside the CPU on which the harness runs every operator too: the shadow device, unless the test
// program defines another one.
struct OtherDevice {
    DeviceId id;
    const char* name;      // "the shadow device"
    bool has_own_kernels;  // not the CPU's: each of them is run
    // Told of each kernel that gave the right values there: the candidate's name, and the dtypes of the first
    // operand and of the first result.
    void (*ran)(const OpInfo& op, std::string_view candidate, DType dtype) = nullptr;
};
const OtherDevice& other_device();

// False where that device has no kernel for the operator.
bool is_there(const OpInfo& op);

}  // namespace mge::test
