// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

// Makes a folder and those that it lies in; an empty path is the one that is there. UserError, with `who` in
// front, when that cannot be done.
MGE_API void make_folder(const std::filesystem::path& folder, std::string_view who = {});

}  // namespace mge
