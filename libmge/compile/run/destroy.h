// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "libmge/compile/program.h"

namespace mge {

// Ends a program without other owners, and frees its memory. UserError with the number of other owners
// (contexts, executables, pointers): then it is kept. There must be no concurrent changes of ownership.
MGE_API void destroy(std::shared_ptr<const Program>& program);

}  // namespace mge
