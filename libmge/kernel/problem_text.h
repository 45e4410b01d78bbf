// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of a problem's key, to say how two problems differ.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/api.h"

namespace mge {

struct ProblemText {
    std::string op, params;
    std::vector<std::string> inputs, outputs;  // specs: "float32(1, 3):nChw16c"
    std::string constants, threads, precision;
    std::string beside;  // the neighbourhood: "", or "128K"
};

// Nullopt if it is neither a key made by Problem::key(), nor one followed by a neighbourhood.
MGE_API std::optional<ProblemText> parse_problem(std::string_view key);

// Specs without their layouts, and without their shapes.
std::vector<std::string> without_layouts(const std::vector<std::string>& specs);
std::vector<std::string> without_shapes(const std::vector<std::string>& specs);

}  // namespace mge
