// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/base/utf8.h"  // printable

namespace mge::cli {

// What of a terminal's abilities may be used; set once by App from --quiet, --no-color and NO_COLOR.
void allow_terminal(bool progress, bool colors);

// True when the stream is a terminal and progress is wanted.
bool shows_progress();

enum class Paint { red = 31, green = 32, yellow = 33 };
// The text in a colour when file descriptor 1 or 2 is a terminal that wants colours, else as it is.
std::string paint(int descriptor, Paint color, const std::string& text);

}  // namespace mge::cli
