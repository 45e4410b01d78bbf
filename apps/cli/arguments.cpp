// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/arguments.h"

#include <algorithm>
#include <cctype>

namespace mge::cli {
namespace {

std::string normalize_option(std::string argument) {
    size_t equals = std::min(argument.find('='), argument.size());
    std::replace(argument.begin(), argument.begin() + std::ptrdiff_t(equals), '_', '-');
    bool long_name_after_one_dash = argument[1] != '-' && equals > 2;
    return long_name_after_one_dash ? "-" + argument : argument;
}

bool is_option(const std::string& argument) {
    return argument.size() > 1 && argument[0] == '-' &&
           (argument[1] == '-' || std::isalpha(uint8_t(argument[1])));
}

}  // namespace

std::vector<std::string> normalize_arguments(int argc, const char* const* argv) {
    std::vector<std::string> result;
    bool options = true;
    for (int i = 1; i < argc; ++i) {
        std::string argument = argv[i];
        if (argument == "--") options = false;
        result.push_back(options && is_option(argument) && argument != "--" ? normalize_option(argument)
                                                                            : argument);
    }
    return result;
}

}  // namespace mge::cli
