// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

// oneDNN crashes and OpenMP ends the process when the system refuses them memory, which it does where a
// process may not take more than so much (`ulimit -v`). Asked beforehand, it can be an error: a MemoryError
// that names the purpose unless there is room for `bytes` more. Without such a limit nothing is asked.
MGE_API void require_address_space(size_t bytes, std::string_view purpose);

}  // namespace mge
