// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mge::cli {

// Splits "a:1,2;b:x.npy" into {a, 1,2}, {b, x.npy}. Names may contain colons and semicolons: a part starts
// with the longest of `names` that is followed by ':'. Otherwise its name ends at the first ':'; without one
// its name is empty.
std::vector<std::pair<std::string, std::string>> split_named_values(std::string_view list,
                                                                    std::span<const std::string> names);

}  // namespace mge::cli
