// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/cli/output/whole_lines.h"

namespace mge::cli {

// Lines that are longer than so many characters, broken behind blanks; what follows is indented by two more
// than the line was. A word that is longer than that stays whole: it may be a path that somebody copies.
std::string broken_behind_blanks(std::string_view lines, size_t characters);

// Breaks what is printed for people to text_width().
class FittingLines final : public WholeLines {
public:
    using WholeLines::WholeLines;

private:
    std::string changed(std::string_view lines) const override;
};

}  // namespace mge::cli
