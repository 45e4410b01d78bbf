// SPDX-License-Identifier: Apache-2.0
// No pair of key and nonce is ever used twice. A keystream block repeats exactly when such a pair does, so
// equal content must never give equal ciphertext. MGE_NIGHTLY=1 makes a million of each.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "libmge/model/crypt/container.h"
#include "tests/harness/nightly.h"
#include "tests/model/crypt/crypt_samples.h"

namespace mge {
namespace {

using Block = std::array<std::byte, 16>;

size_t repeats(std::vector<Block> blocks) {
    std::ranges::sort(blocks);
    size_t count = 0;
    for (size_t i = 1; i < blocks.size(); ++i) count += blocks[i] == blocks[i - 1];
    return count;
}

Block first_block(std::span<const std::byte> sealed) {
    Block block;
    std::ranges::copy(sealed.first(block.size()), block.begin());
    return block;
}

// The same content, the same key, again and again.
size_t repeats_between_files(size_t files) {
    SecretBytes key = test::key_of(1);
    Block content{};
    std::array<std::byte, 32> sealed;
    std::vector<Block> streams, salts;
    for (size_t n = 0; n < files; ++n) {
        EncryptedContainer container(key, content.size());
        container.seal(0, content, sealed);
        streams.push_back(first_block(sealed));
        salts.push_back(first_block(container.header().salt));
    }
    return repeats(std::move(streams)) + repeats(std::move(salts));
}

// The same content in each chunk of one file.
size_t repeats_within_a_file(size_t chunks) {
    EncryptedContainer container(test::key_of(1), uint64_t(chunks) * smallest_chunk_bytes,
                                 smallest_chunk_bytes);
    test::Octets content(smallest_chunk_bytes), sealed(smallest_chunk_bytes + gcm_tag_bytes);
    std::vector<Block> streams;
    for (size_t n = 0; n < chunks; ++n) {
        container.seal(n, content, sealed);
        streams.push_back(first_block(sealed));
    }
    return repeats(std::move(streams));
}

TEST(Uniqueness, FilesAndChunks) {
    size_t count = test::is_nightly() ? 1'000'000 : 2000;
    EXPECT_EQ(repeats_between_files(count), 0u);
    EXPECT_EQ(repeats_within_a_file(count), 0u);
    EXPECT_EQ(repeats({Block{}, Block{}}), 1u);
}

}  // namespace
}  // namespace mge
