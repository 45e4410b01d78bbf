// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace mge {

// Refuses a value of a graph where elements are needed. `who` names the operator or argument.
[[noreturn]] void throw_graph_value(std::string_view who);

}  // namespace mge
