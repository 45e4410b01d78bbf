// SPDX-License-Identifier: Apache-2.0
// Keys and decrypted content in this process's memory, which must be wiped afterwards.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "libmge/model/crypt/container_bytes.h"
#include "libmge/model/crypt/encrypted_file.h"
#include "tests/model/crypt/crypt_samples.h"

namespace mge {
namespace {

using test::key_of;
using test::Octets;

// The searched value is masked, so that the search does not find itself.
constexpr std::byte mask{0x5a};

Octets masked(std::span<const std::byte> bytes) {
    Octets result;
    for (std::byte b : bytes) result.push_back(b ^ mask);
    return result;
}

struct Mapping {
    uintptr_t begin, end;
    bool readable, left_out_of_dumps;
};

std::vector<Mapping> mappings() {
    std::ifstream file("/proc/self/smaps");
    std::vector<Mapping> result;
    for (std::string line; std::getline(file, line);) {
        uintptr_t begin, end;
        char permissions[5];
        if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, permissions) == 3)
            result.push_back({begin, end, permissions[0] == 'r', false});
        else if (line.starts_with("VmFlags:"))
            result.back().left_out_of_dumps = line.find(" dd") != line.npos;
    }
    return result;
}

struct Found {
    int in_dumps = 0, left_out = 0;
    int all() const { return in_dumps + left_out; }
};

// How often the masked bytes are in memory, apart from the buffer through which it is read.
Found find_in_memory(const Octets& wanted) {
    Found found;
    int memory = ::open("/proc/self/mem", O_RDONLY);
    Octets buffer(1 << 20);
    auto own_begin = reinterpret_cast<uintptr_t>(buffer.data()), own_end = own_begin + buffer.size();
    for (auto& mapping : mappings()) {
        if (!mapping.readable) continue;
        size_t step = buffer.size() - wanted.size() + 1;
        for (uintptr_t at = mapping.begin; at < mapping.end; at += step) {
            size_t length = std::min<size_t>(buffer.size(), mapping.end - at);
            ssize_t got = ::pread(memory, buffer.data(), length, off_t(at));
            for (ssize_t i = 0; i + ssize_t(wanted.size()) <= got; ++i) {
                if ((buffer[size_t(i)] ^ mask) != wanted[0]) continue;
                bool equal = true;
                for (size_t k = 0; equal && k < wanted.size(); ++k)
                    equal = (buffer[size_t(i) + k] ^ mask) == wanted[k];
                uintptr_t where = at + uintptr_t(i);
                if (!equal || (where + wanted.size() > own_begin && where < own_end)) continue;
                // Windows overlap by less than what is wanted: nothing is counted twice.
                ++(mapping.left_out_of_dumps ? found.left_out : found.in_dumps);
            }
        }
    }
    wipe(buffer);
    ::close(memory);
    return found;
}

class Memory : public test::InFolder {
protected:
    void SetUp() override {
        InFolder::SetUp();
#ifdef __SANITIZE_ADDRESS__
        GTEST_SKIP() << "reading all memory reads terabytes of the sanitizer";
#endif
        SecretBytes key = generate_key(), content(3 * default_chunk_bytes / 2);
        fill_random(content.span());
        masked_key_ = masked(key);
        masked_content_ = masked(content.span().subspan(default_chunk_bytes + 1000, 32));
        masked_first_ = masked(content.span().subspan(4096, 32));
        SecretBytes file = seal_container(content, key);
        test::write_file(path("sealed"), file);
        EncryptedHeader header = read_encrypted_header(file, file.size(), "f");
        masked_file_key_ =
            masked(hkdf_sha256(key, header.salt, std::as_bytes(std::span(&header, 1)), aes_key_bytes));
    }
    KeyProvider provider() const {
        return [this](const KeyRequest&) {
            SecretBytes key(masked_key_);
            for (std::byte& b : key.span()) b ^= mask;
            return key;
        };
    }
    Octets masked_key_, masked_file_key_, masked_content_, masked_first_;
};

TEST_F(Memory, HoldsNoKeyAfterOpening) {
    SecretBytes content = decrypt_to_memory(path("sealed"), {container_cipher, provider()});
    EXPECT_EQ(find_in_memory(masked_key_).all(), 0) << "the user's key";
    EXPECT_EQ(find_in_memory(masked_file_key_).all(), 0) << "the file's key";
    SecretBytes key = provider()({});
    EXPECT_EQ(find_in_memory(masked_key_).all(), 1) << "the search finds what is there";
}

TEST_F(Memory, HoldsContentOnceOutsideOfCoreDumps) {
    SecretBytes content = decrypt_to_memory(path("sealed"), {container_cipher, provider()});
    for (auto& part : {masked_first_, masked_content_}) {
        Found found = find_in_memory(part);
        EXPECT_EQ(found.left_out, 1);
        EXPECT_EQ(found.in_dumps, 0);
    }
}

TEST_F(Memory, HoldsNothingAfterRelease) {
    decrypt_to_memory(path("sealed"), {container_cipher, provider()});
    EXPECT_EQ(find_in_memory(masked_first_).all(), 0);
    EXPECT_EQ(find_in_memory(masked_content_).all(), 0);
}

TEST_F(Memory, HoldsNothingOfARefusedFile) {
    Octets file = test::read_file(path("sealed"));
    file.back() ^= std::byte(1);
    test::write_file(path("sealed"), file);
    EXPECT_NE(test::crypto_error([&] {
                  decrypt_to_memory(path("sealed"), {container_cipher, provider()});
              }),
              "");
    EXPECT_EQ(find_in_memory(masked_first_).all(), 0);
    EXPECT_EQ(find_in_memory(masked_content_).all(), 0);
}

}  // namespace
}  // namespace mge
