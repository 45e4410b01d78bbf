// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "libmge/compile/program.h"

namespace mge {

// Ends a program that nobody else holds, and gives its memory back. UserError that tells in how many other
// places it is held (contexts, executables, pointers): then it stays. Nobody may take or drop it meanwhile.
MGE_API void destroy(std::shared_ptr<const Program>& program);

}  // namespace mge
