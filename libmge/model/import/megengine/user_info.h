// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace mge::megengine {

// What a user wrote beside the model: Python pickles it. Plain values (None, numbers, text, lists, tuples,
// dictionaries) as JSON; nothing for None; for anything else how long it is. Never runs anything.
std::string user_info_text(std::string_view pickle);

}  // namespace mge::megengine
