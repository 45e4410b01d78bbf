// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mge::cli {

// The memory layout of images.
struct LayoutOptions {
    std::vector<std::string> formats;  // from --enable-nchw4 etc.; at most one
    std::string transform;             // --layout-transform: choose by measured times
};

void add_layout_options(CLI::App& app, LayoutOptions& options);
// Throws UserError for contradictions, DeviceError for a missing device.
void check(const LayoutOptions& options);

// Returns the flag of a format: NCHW44_DOT → --enable-nchw44-dot.
std::string layout_flag(std::string format);

}  // namespace mge::cli
