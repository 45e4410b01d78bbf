// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/compile/options/option_list.h"

namespace CLI {
class App;
}

namespace mge::load_and_run {

// The flags derived from the list of options; their values are stored in `options`.
void add_compile_flags(CLI::App& app, CompileOptions& options);

}  // namespace mge::load_and_run
