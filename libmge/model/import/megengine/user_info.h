// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace mge::megengine {

// The user's information in a model, pickled by Python. Returns plain values (None, numbers, text, lists,
// tuples, dictionaries) as JSON; an empty text for None; for other values their size. Never runs code.
std::string user_info_text(std::string_view pickle);

}  // namespace mge::megengine
