// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/cli/tool.h"
#include "apps/load_and_run/options/options.h"
#include "libmge/compile/options/options.h"

namespace mge::load_and_run {

// What the command line says about compilation. The cache, null for none, has to outlive the result.
CompileOptions make_compile_options(const Options& options, FastrunCache* cache);

// For the report: every option of the list; one that is not set is "unset".
cli::Json to_json(const CompileOptions& options);

}  // namespace mge::load_and_run
