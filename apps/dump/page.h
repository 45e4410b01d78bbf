// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/cli/output/page.h"

namespace mge::dump {

// The page of `mge-dump graph --html`: page/graph.html with its parts.
extern const cli::Page graph_page;
// The page of `mge-dump evaluate --html`: page/evaluate.html.
extern const cli::Page evaluate_page;

}  // namespace mge::dump
