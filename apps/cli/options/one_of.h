// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "libmge/base/joined.h"
#include "libmge/base/text.h"

namespace mge::cli {

// Checks that a value is one of these words, which help and completion show.
inline CLI::Validator one_of(const std::vector<std::string>& words) {
    std::string all = joined(words, ",");
    auto check = [words, all](std::string& given) {
        return std::ranges::find(words, given) != words.end() ? ""
                                                              : text("'", given, "' is not one of ", all);
    };
    return {check, "{" + all + "}"};
}

}  // namespace mge::cli
