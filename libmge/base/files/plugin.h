// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared libraries that are opened by name while the process runs.

#include <filesystem>
#include <string>

#include "libmge/base/api.h"

namespace mge {

// The file that holds this function: libmge.so, or a program that the library is linked into.
MGE_API std::filesystem::path own_library();

// A function of a shared library, which stays open.
struct PluginFunction {
    void* function = nullptr;
    std::string why_not;  // why there is no function
};
// `shows_symbols`: libraries that are opened later find the symbols of this one.
PluginFunction open_plugin(const std::filesystem::path& file, const char* function,
                           bool shows_symbols = false);

}  // namespace mge
