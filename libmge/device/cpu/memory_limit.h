// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

#include "libmge/base/api.h"

namespace mge {

// As Device::set_memory_limit of the CPU: what tensors have in use, plus `beside`, is never more than
// `bytes`. `beside` is what else counts against the limit; less than nothing: so much of what is in use does
// not count.
MGE_API void set_cpu_memory_limit(size_t bytes, std::ptrdiff_t beside);
MGE_API void add_beside_cpu_memory_limit(std::ptrdiff_t bytes);

}  // namespace mge
