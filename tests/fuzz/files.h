// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/target.h"

namespace mge::fuzz {

// The content of the files below tests/data/FOLDER whose names end so, in the order of their names.
std::vector<std::string> data_files(std::string_view folder, std::string_view ending = {});

// An input as a file without a name, for readers that take a path.
class InputFile {
public:
    explicit InputFile(Bytes content);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;
    const std::string& path() const { return path_; }

private:
    int file_;
    std::string path_;
};

inline Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
inline std::string text_of(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace mge::fuzz
