// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/cli/output/page.h"

namespace mge::profile {

// The page of `mge-profile export --html`: page/profile.html with its parts.
extern const cli::Page profile_page;
// The page of `mge-profile diff --html`: page/compare.html.
extern const cli::Page compare_page;

}  // namespace mge::profile
