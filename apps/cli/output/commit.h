// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace mge::cli {

// Returns " (commit 0123456789ab)", or "…, changed)" if files differed from the commit. Empty if the build
// had no git repository.
std::string commit_text();

// Returns the commit alone, with ", changed" if files differed from it.
std::string commit_id();

}  // namespace mge::cli
