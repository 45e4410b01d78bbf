// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/base/api.h"

namespace mge {

// Base of exceptions that rethrow_in throws again as they are, because their class says more than a text.
struct ThrownAsIs {};

// In a handler: throws the error again, its text after `where`: "graph 3, conv2d 'conv1': …". Its kind, code
// and class stay. std::bad_alloc becomes a MemoryError, any other exception an Error. ThrownAsIs and errors
// of files and keys are thrown as they are.
[[noreturn]] MGE_API void rethrow_in(const std::string& where);

}  // namespace mge
