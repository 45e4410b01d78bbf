// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

// oneDNN crashes and OpenMP ends the process if the system refuses them memory, which happens under a limit
// of the address space (`ulimit -v`). This check beforehand makes it an error: a MemoryError that names the
// purpose unless `bytes` more are available. Without such a limit it does nothing.
MGE_API void require_address_space(size_t bytes, std::string_view purpose);

}  // namespace mge
