// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace mge {

// Throws UserError because a value of a graph has no elements yet. `who` names the operator or argument.
[[noreturn]] void throw_graph_value(std::string_view who);

}  // namespace mge
