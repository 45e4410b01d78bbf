// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace mge {

// A new folder for its owner alone, by a name that nobody can have guessed. The caller removes it.
inline std::filesystem::path new_folder(const char* purpose) {
    std::string name = (std::filesystem::temp_directory_path() / purpose).string() + "_XXXXXX";
    if (!::mkdtemp(name.data())) throw std::runtime_error("the folder " + name + " cannot be made");
    return name;
}

}  // namespace mge
