// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/cli/output/whole_lines.h"

namespace mge::cli {

// The door to the terminal: what tools print goes through it, and comes out with everything that terminals
// would obey as \x1b, \u202e …, but for ends of lines, tabs and the colours of paint(). Names of strangers
// need no care where they are printed.
class SafeText final : public WholeLines {
public:
    using WholeLines::WholeLines;
    ~SafeText() override { sync(); }

private:
    std::string changed(std::string_view lines) const override;
};

}  // namespace mge::cli
