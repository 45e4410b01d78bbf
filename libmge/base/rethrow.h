// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/base/api.h"

namespace mge {

// In a handler: throws the error again, its text after `where`: "graph 3, conv2d 'conv1': …". Its kind, code
// and class stay. std::bad_alloc becomes a MemoryError; what else is no Error of ours is thrown as it is.
[[noreturn]] MGE_API void rethrow_in(const std::string& where);

}  // namespace mge
