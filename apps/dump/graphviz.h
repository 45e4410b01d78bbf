// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace mge::dump {

// Runs Graphviz's `dot -T<format>` and returns its output, one document per graph of the input. `wanted_for`
// begins the message if the program is missing: "SVG". Throws DeviceError with installation instructions
// then, and if the program fails.
std::string run_graphviz(const std::string& dot, const std::string& format, const std::string& wanted_for);

}  // namespace mge::dump
