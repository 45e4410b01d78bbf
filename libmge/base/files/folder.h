// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

// Makes a folder and its parents; an empty path is the current folder. UserError with the prefix `who` on
// failure.
MGE_API void make_folder(const std::filesystem::path& folder, std::string_view who = {});

}  // namespace mge
