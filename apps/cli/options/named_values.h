// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mge::cli {

// "a:1,2;b:x.npy" → {a, 1,2}, {b, x.npy}. A name may have colons and semicolons: a part begins with the
// longest of `names` that stands before a ':'. Otherwise its name ends at the first ':'; a part without one
// has none.
std::vector<std::pair<std::string, std::string>> split_named_values(std::string_view list,
                                                                    std::span<const std::string> names);

}  // namespace mge::cli
