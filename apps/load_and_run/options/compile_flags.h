// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/compile/options/option_list.h"

namespace CLI {
class App;
}

namespace mge::load_and_run {

// The flags that follow from the list of options; what they say goes into `options`.
void add_compile_flags(CLI::App& app, CompileOptions& options);

}  // namespace mge::load_and_run
