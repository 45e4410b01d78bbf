// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace mge {

// A regular file that is read at given places, without a buffer in between.
class InputFile {
public:
    explicit InputFile(std::string path);  // UserError names the path and the system's reason
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    const std::string& path() const { return path_; }
    uint64_t bytes() const { return bytes_; }  // when it was opened
    // Fills `part`; UserError when the file has become shorter or cannot be read.
    void read(uint64_t offset, std::span<std::byte> part) const;

private:
    std::string path_;
    int fd_ = -1;
    uint64_t bytes_ = 0;
};

}  // namespace mge
