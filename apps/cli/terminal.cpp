// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/terminal.h"

#include <unistd.h>

#include "libmge/base/env.h"

namespace mge::cli {
namespace {

bool progress_allowed = true, colors_allowed = true;

}  // namespace

void allow_terminal(bool progress, bool colors) {
    progress_allowed = progress;
    colors_allowed = colors;
}

bool shows_progress() { return progress_allowed && ::isatty(2); }

std::string paint(int descriptor, Paint color, const std::string& text) {
    // https://no-color.org: any value but an empty one.
    if (!colors_allowed || env_string("NO_COLOR") || env_string("TERM") == "dumb" || !::isatty(descriptor))
        return text;
    return "\033[" + std::to_string(int(color)) + "m" + text + "\033[0m";
}

}  // namespace mge::cli
