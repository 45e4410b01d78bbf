// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/base/api.h"

namespace mge {

// Base of exceptions that rethrow_in rethrows unchanged, because their class carries more than a text.
struct ThrownAsIs {};

// In a handler: rethrows the error with the prefix `where` in its text: "graph 3, conv2d 'conv1': …". Its
// kind, code and class are kept. std::bad_alloc becomes a MemoryError, any other exception an Error.
// ThrownAsIs and errors of files and keys are rethrown unchanged.
[[noreturn]] MGE_API void rethrow_in(const std::string& where);

}  // namespace mge
