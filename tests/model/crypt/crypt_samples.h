// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common part of the tests of encryption: content, keys, a folder, and the message of an exception.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "libmge/model/crypt/crypto_error.h"
#include "libmge/model/crypt/hex.h"
#include "libmge/model/crypt/key.h"
#include "libmge/model/crypt/secret_bytes.h"
#include "tests/new_folder.h"

namespace mge::test {

using Octets = std::vector<std::byte>;

inline Octets unhex(std::string_view digits) {
    Octets bytes(digits.size() / 2);
    from_hex(bytes_of(digits), bytes);
    return bytes;
}
inline std::string hex(std::span<const std::byte> bytes) { return hex_of(bytes); }

// Content that differs everywhere, so that a moved piece shows: splitmix64 of the position.
inline uint64_t word_at(uint64_t position) {
    uint64_t z = (position + 1) * 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}
inline void fill_content(uint64_t offset, std::span<std::byte> part) {
    for (size_t i = 0; i < part.size(); ++i)
        part[i] = std::byte(word_at((offset + i) / 8) >> (8 * ((offset + i) % 8)));
}
inline Octets content_of(size_t bytes) {
    Octets content(bytes);
    fill_content(0, content);
    return content;
}

inline SecretBytes key_of(int seed, size_t bytes = 32) {
    SecretBytes key(bytes);
    fill_content(uint64_t(seed) << 40, key.span());
    return key;
}

inline Octets read_file(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    std::string content(std::istreambuf_iterator<char>(stream), {});
    auto bytes = bytes_of(content);
    return {bytes.begin(), bytes.end()};
}
inline void write_file(const std::string& path, std::span<const std::byte> content) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(content.data()), std::streamsize(content.size()));
}

class InFolder : public testing::Test {
protected:
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    size_t file_count() const {
        return size_t(std::distance(std::filesystem::directory_iterator(folder_), {}));
    }
    std::filesystem::path folder_ = new_folder("mge_crypt");
};

// The message of the CryptoError that fn throws, "" when it throws nothing; any other error passes through.
template <class Fn>
std::string crypto_error(const Fn& fn) {
    try {
        fn();
        return "";
    } catch (const CryptoError& e) {
        return e.what();
    }
}

}  // namespace mge::test
