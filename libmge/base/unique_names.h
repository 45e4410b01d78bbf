// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <string>
#include <unordered_map>

#include "libmge/base/text.h"

namespace mge {

// Names that differ from each other. Equal ones get numbers: "x", "x[1]", "x[2]". A number is skipped if
// another name looks like that.
class UniqueNames {
public:
    // False if the name is taken.
    bool take(const std::string& name) { return next_.try_emplace(name, 0).second; }
    // Takes the name, or the first free one of "name[1]", "name[2]", ….
    std::string unique(const std::string& name) { return take(name) ? name : numbered(name, 1); }
    // Takes the first free one of "name[first]", "name[first + 1]", ….
    std::string numbered(const std::string& name, int first) {
        int& next = next_[name];
        next = std::max(next, first);
        for (;;)
            if (std::string candidate = text(name, '[', next++, ']'); take(candidate)) return candidate;
    }

private:
    std::unordered_map<std::string, int> next_;  // by taken name: the least number that was not tried
};

}  // namespace mge
