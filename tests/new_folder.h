// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace mge {

// A new folder accessible only to its owner, with a random name. The caller removes it.
inline std::filesystem::path new_folder(const char* purpose) {
    std::string name = (std::filesystem::temp_directory_path() / purpose).string() + "_XXXXXX";
    if (!::mkdtemp(name.data())) throw std::runtime_error("the folder " + name + " cannot be made");
    return name;
}

// One that is removed again with all that is in it.
class NewFolder {
public:
    explicit NewFolder(const char* purpose) : path_(new_folder(purpose)) {}
    ~NewFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    NewFolder(const NewFolder&) = delete;
    std::string file(const char* name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

}  // namespace mge
