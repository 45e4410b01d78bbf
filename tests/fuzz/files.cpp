// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/files.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace mge::fuzz {

std::vector<std::string> data_files(std::string_view folder, std::string_view ending) {
    std::vector<std::filesystem::path> paths;
    auto root = std::filesystem::path(MGE_TEST_DATA) / folder;
    if (!std::filesystem::exists(root)) return {};
    for (auto& entry : std::filesystem::directory_iterator(root))
        if (entry.is_regular_file() && entry.path().string().ends_with(ending)) paths.push_back(entry.path());
    std::ranges::sort(paths);
    std::vector<std::string> result;
    for (auto& path : paths) {
        std::ifstream stream(path, std::ios::binary);
        result.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    }
    return result;
}

InputFile::InputFile(Bytes content) : file_(::memfd_create("input", MFD_CLOEXEC)) {
    if (file_ < 0 || ::write(file_, content.data(), content.size()) != ssize_t(content.size())) {
        std::perror("fuzz: cannot make a file of the input");
        std::_Exit(2);
    }
    path_ = "/proc/self/fd/" + std::to_string(file_);
}

InputFile::~InputFile() { ::close(file_); }

}  // namespace mge::fuzz
