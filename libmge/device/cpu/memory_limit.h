// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

#include "libmge/base/api.h"

namespace mge {

// Sets the CPU's limit as in Device::set_memory_limit(): bytes in use by tensors plus `charged` must not
// exceed `bytes`. A negative `charged` exempts that many bytes.
MGE_API void set_cpu_memory_limit(size_t bytes, std::ptrdiff_t charged);
MGE_API void charge_to_cpu_memory_limit(std::ptrdiff_t bytes);

}  // namespace mge
