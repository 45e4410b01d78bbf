// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/cli/output/whole_lines.h"

namespace mge::cli {

// Filters everything that tools print. Characters that terminals interpret become \x1b, \u202e …, except line
// ends, tabs and the colours of paint(). So untrusted names need no escaping where they are printed.
class SafeText final : public WholeLines {
public:
    using WholeLines::WholeLines;
    ~SafeText() override { sync(); }

private:
    std::string changed(std::string_view lines) const override;
};

}  // namespace mge::cli
