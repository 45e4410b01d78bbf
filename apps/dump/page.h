// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/cli/output/page.h"

namespace mge::dump {

// The page of `mge-dump graph --html`: page/graph.html with its parts.
extern const cli::Page graph_page;

}  // namespace mge::dump
