// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace mge::cli {

// " (commit 0123456789ab)", with ", changed" behind it where files differed from the commit; empty where the
// sources were no git repository when this was built.
std::string commit_text();

}  // namespace mge::cli
