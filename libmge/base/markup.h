// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

// Returns the text for elements and quoted attributes of XML and HTML: with entities for
// & < > ", a blank for tabs and ends of lines, and U+FFFD for other control characters, for those that XML
// forbids, and for bytes of invalid UTF-8.
MGE_API std::string as_markup(std::string_view raw);

}  // namespace mge
