// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/output/commit.h"

#include "generated_commit.h"

namespace mge::cli {

std::string commit_text() {
    auto commit = commit_id();
    return commit.empty() ? "" : " (commit " + commit + ")";
}

std::string commit_id() { return generated_commit; }

}  // namespace mge::cli
