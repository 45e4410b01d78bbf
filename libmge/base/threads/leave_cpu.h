// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libmge/base/api.h"

namespace mge {

// Moves the calling thread to another one of the CPUs that it may use, and leaves it free to come back. False
// when it may use no other, or when the system does not say.
MGE_API bool leave_cpu(int cpu);

}  // namespace mge
