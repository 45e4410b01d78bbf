// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/output/commit.h"

#include "generated_commit.h"

namespace mge::cli {

std::string commit_text() {
    std::string commit = generated_commit;
    return commit.empty() ? "" : " (commit " + commit + ")";
}

}  // namespace mge::cli
