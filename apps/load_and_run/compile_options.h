// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/cli/tool.h"
#include "apps/load_and_run/options/options.h"
#include "libmge/compile/options/option_list.h"
#include "libmge/inspect/profile/profile.h"

namespace mge::load_and_run {

// Compile options from the command line. The cache, null without one, must outlive the result.
CompileOptions make_compile_options(const Options& options, FastrunCache* cache);

// An option without a value is "unset".
cli::Json to_json(const OptionValue& value);
// For the report: every option of the list.
cli::Json to_json(const CompileOptions& options);

// For profiles: the options whose values differ from the defaults.
std::vector<ProfileRecording::Option> changed_options(const CompileOptions& options);

}  // namespace mge::load_and_run
