// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mge::cli {

// How images shall lie in memory.
struct LayoutOptions {
    std::vector<std::string> formats;  // of --enable-nchw4 and its like: at most one
    std::string transform;             // --layout-transform: by measured times
};

void add_layout_options(CLI::App& app, LayoutOptions& options);
// UserError for contradictions, DeviceError for a device that is not there.
void check(const LayoutOptions& options);

// The flag of a format: NCHW44_DOT → --enable-nchw44-dot.
std::string layout_flag(std::string format);

}  // namespace mge::cli
