// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/cli/output/whole_lines.h"

namespace mge::cli {

// Breaks longer lines after blanks and indents the continuation by two more than the line. A longer word
// stays whole, because it may be a path to copy.
std::string wrapped_at_blanks(std::string_view lines, size_t characters);

// Breaks text for people at text_width().
class FittingLines final : public WholeLines {
public:
    using WholeLines::WholeLines;

private:
    std::string changed(std::string_view lines) const override;
};

}  // namespace mge::cli
