// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "libmge/base/text.h"

namespace mge {

// joined(options, ", ", &Option::name): the texts of all items, or of a part of each, with a separator
// between.
template <class Items, class Part = std::identity>
std::string joined(const Items& items, std::string_view separator = ", ", Part part = {}) {
    std::string result;
    bool is_first = true;
    for (auto&& item : items) {
        if (!std::exchange(is_first, false)) result += separator;
        result += text(std::invoke(part, item));
    }
    return result;
}

}  // namespace mge
