// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/compat/megengine_options.h"

namespace CLI {
class App;
}

namespace mge::load_and_run {

// The flags derived from the list of options; their values are stored in `options`.
void add_compile_flags(CLI::App& app, CompileOptions& options);

}  // namespace mge::load_and_run
