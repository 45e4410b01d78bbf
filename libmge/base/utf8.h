// SPDX-License-Identifier: Apache-2.0
#pragma once
// Untrusted text: names in models, messages about them.

#include <string>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

MGE_API bool is_utf8(std::string_view raw);

// With U+FFFD for each byte of invalid UTF-8, as JSON, HTML and Python's str require.
MGE_API std::string valid_utf8(std::string_view raw);

// With \x.. for each byte of invalid UTF-8; backslashes are not escaped.
MGE_API std::string with_escaped_bytes(std::string_view raw);

// Text that is safe on a terminal: with \n, \x1b … for control characters (those of Unicode and the marks of
// the writing direction as \u202e …) and for bytes of invalid UTF-8.
MGE_API std::string printable(std::string_view raw);

}  // namespace mge
