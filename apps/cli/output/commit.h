// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace mge::cli {

// Returns " (commit 0123456789ab)", or "…, changed)" if files differed from the commit. Empty if the build
// had no git repository.
std::string commit_text();

}  // namespace mge::cli
