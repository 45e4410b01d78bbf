// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "libmge/compat/megengine_options.h"

namespace CLI {
class App;
}

namespace mge::load_and_run {

// The flags derived from the list of options; their values are stored in `options`.
void add_compile_flags(CLI::App& app, CompileOptions& options);
// --precision, which takes several values.
void add_precision_flag(CLI::App& app, std::vector<std::string>& values);
void set_precision(CompileOptions& options, const std::string& value);
std::string precision_of(const CompileOptions& options);

}  // namespace mge::load_and_run
