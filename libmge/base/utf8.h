// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text that anybody may have written: names in models, messages about them.

#include <string>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

MGE_API bool is_utf8(std::string_view raw);

// With U+FFFD for each byte that is no UTF-8: what JSON, HTML and Python's str take.
MGE_API std::string valid_utf8(std::string_view raw);

// With \x.. for each byte that is no UTF-8; a backslash stays what it is.
MGE_API std::string with_escaped_bytes(std::string_view raw);

// What may go to a terminal: with \n, \x1b … for control characters (those of Unicode and the marks that turn
// the direction of writing as \u202e …) and for bytes that are no UTF-8. It breaks no line and no terminal.
MGE_API std::string printable(std::string_view raw);

}  // namespace mge
