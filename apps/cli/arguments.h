// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace mge::cli {

// The arguments behind the program name with option names spelt our way: "--fast_run" and "-fast_run=1"
// become "--fast-run" and "--fast-run=1", as MegEngine's users type them. Values, and everything behind "--",
// stay as they are.
std::vector<std::string> normalize_arguments(int argc, const char* const* argv);

}  // namespace mge::cli
