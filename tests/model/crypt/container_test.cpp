// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/crypt/container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <set>

#include "libmge/model/crypt/container_bytes.h"
#include "tests/model/crypt/crypt_samples.h"

namespace mge {
namespace {

using test::content_of;
using test::crypto_error;
using test::key_of;
using test::Octets;
using testing::HasSubstr;

Octets sealed_file(std::span<const std::byte> content, std::span<const std::byte> key, uint32_t chunk_bytes) {
    EncryptedContainer container(key, content.size(), chunk_bytes);
    Octets file(container.file_bytes());
    std::ranges::copy(container.sealed_header(), file.begin());
    for (uint64_t c = 0; c < container.chunk_count(); ++c)
        container.seal(c, content.subspan(container.plain_offset(c), container.plain_bytes(c)),
                       std::span(file).subspan(container.sealed_offset(c), container.sealed_bytes(c)));
    return file;
}

// Sizes around everything that could matter, and random ones between.
std::vector<uint64_t> round_trip_sizes() {
    constexpr uint64_t chunk = default_chunk_bytes;
    std::set<uint64_t> sizes;
    for (uint64_t at : {uint64_t(0), uint64_t(16), uint64_t(32), uint64_t(4096), uint64_t(65536), chunk,
                        2 * chunk, 3 * chunk})
        for (int64_t d : {-17, -16, -15, -1, 0, 1, 15, 16, 17})
            if (int64_t(at) + d >= 0) sizes.insert(uint64_t(int64_t(at) + d));
    for (uint64_t n = 2; n <= 15; ++n) sizes.insert(n);
    std::mt19937_64 random(20240607);
    while (sizes.size() < 199) sizes.insert(random() % (6 * chunk));
    sizes.insert(3 * (uint64_t(1) << 30) + 12345);  // more than 31 and 32 bits count
    return {sizes.begin(), sizes.end()};
}

TEST(Container, RoundTripsAt200Sizes) {
    auto sizes = round_trip_sizes();
    EXPECT_EQ(sizes.size(), 200u);
    SecretBytes key = key_of(1);
    Octets plain(default_chunk_bytes), sealed(default_chunk_bytes + gcm_tag_bytes),
        opened(default_chunk_bytes);
    for (uint64_t bytes : sizes) {
        EncryptedContainer writer(key, bytes);
        EncryptedContainer reader(key, writer.sealed_header(), writer.file_bytes(), "f");
        ASSERT_EQ(reader.chunk_count(), writer.chunk_count());
        uint64_t position = encrypted_header_bytes, total = 0;
        for (uint64_t c = 0; c < writer.chunk_count(); ++c) {
            size_t n = writer.plain_bytes(c);
            ASSERT_EQ(writer.sealed_offset(c), position);
            position += n + gcm_tag_bytes;
            total += n;
            auto part = std::span(plain).first(n), out = std::span(opened).first(n);
            // Large content repeats a pattern and numbers its chunks: making it must not take longer than
            // sealing it.
            if (c < 8) test::fill_content(writer.plain_offset(c), part);
            if (n >= sizeof c) std::memcpy(part.data(), &c, sizeof c);
            auto file = std::span(sealed).first(n + gcm_tag_bytes);
            writer.seal(c, part, file);
            reader.open(c, file, out);
            ASSERT_EQ(std::memcmp(out.data(), part.data(), n), 0) << bytes << " bytes, chunk " << c;
        }
        ASSERT_EQ(total, bytes);
        ASSERT_EQ(position, writer.file_bytes());
    }
}

TEST(Container, SealsWholeContent) {
    for (size_t bytes :
         {size_t(0), size_t(1), size_t(default_chunk_bytes), size_t(default_chunk_bytes) * 2 + 5}) {
        Octets content = content_of(bytes);
        SecretBytes file = seal_container(content, key_of(1));
        EXPECT_TRUE(is_encrypted(file));
        EXPECT_TRUE(std::ranges::equal(open_container(file, key_of(1), "f").span(), content));
        if (bytes < 16) continue;
        EXPECT_EQ(::memmem(file.data(), file.size(), content.data(), 16), nullptr);
    }
}

TEST(Container, NoTwoFilesShareAnything) {
    Octets content = content_of(100);
    SecretBytes a = seal_container(content, key_of(1)), b = seal_container(content, key_of(1));
    EXPECT_NE(std::memcmp(a.data() + 48, b.data() + 48, 32), 0) << "the salt";
    EXPECT_NE(std::memcmp(a.data() + 96, b.data() + 96, 32), 0) << "the content";
}

// Every way to change a file that an attacker could try; each has to be refused before any content is given
// out.
class Tampering : public testing::Test {
protected:
    static constexpr uint32_t chunk_bytes = smallest_chunk_bytes;
    static constexpr size_t sealed_chunk = chunk_bytes + gcm_tag_bytes, chunks = 10;
    SecretBytes key_ = key_of(1);
    Octets content_ = content_of(chunk_bytes * (chunks - 1) + 300);
    Octets file_ = sealed_file(content_, key_, chunk_bytes);
    size_t variants_ = 0;

    void SetUp() override { ASSERT_TRUE(opens(file_)); }
    bool opens(const Octets& file) { return opens(file, key_); }
    bool opens(const Octets& file, const SecretBytes& key) {
        ++variants_;
        return crypto_error([&] { open_container(file, key, "f"); }).empty();
    }
    static size_t start_of(size_t chunk) { return encrypted_header_bytes + chunk * sealed_chunk; }
    size_t end_of(size_t chunk) const { return std::min(start_of(chunk + 1), file_.size()); }
    Octets chunk(const Octets& file, size_t c) const {
        return {file.begin() + long(start_of(c)), file.begin() + long(end_of(c))};
    }
    // The file's header and these chunks, with the length in the header set to what they hold when `honest`.
    Octets built_from(const std::vector<size_t>& order) const {
        Octets file(file_.begin(), file_.begin() + encrypted_header_bytes);
        for (size_t c : order) {
            Octets part = chunk(file_, c);
            file.insert(file.end(), part.begin(), part.end());
        }
        return file;
    }
    static Octets with_length(Octets file, size_t chunk_count) {
        uint64_t bytes = file.size() - encrypted_header_bytes - chunk_count * gcm_tag_bytes;
        std::memcpy(file.data() + 24, &bytes, sizeof bytes);
        return file;
    }
};

TEST_F(Tampering, EveryHeaderBitAndOneBitPerByte) {
    auto refuses_flip = [&](size_t byte, int bit) {
        Octets file = file_;
        file[byte] ^= std::byte(1 << bit);
        return !opens(file);
    };
    for (size_t byte = 0; byte < encrypted_header_bytes; ++byte)
        for (int bit = 0; bit < 8; ++bit) ASSERT_TRUE(refuses_flip(byte, bit)) << byte << '.' << bit;
    for (size_t c = 0; c < chunks; ++c)
        for (size_t byte = end_of(c) - gcm_tag_bytes; byte < end_of(c); ++byte)
            for (int bit = 0; bit < 8; ++bit) ASSERT_TRUE(refuses_flip(byte, bit)) << byte << '.' << bit;
    for (size_t byte = encrypted_header_bytes; byte < file_.size(); ++byte)
        ASSERT_TRUE(refuses_flip(byte, int(byte % 8))) << byte;
    EXPECT_GE(variants_, 10'000u);
}

TEST_F(Tampering, EveryCutAndSomethingAppended) {
    for (size_t bytes = 0; bytes < file_.size(); ++bytes)
        ASSERT_FALSE(opens({file_.begin(), file_.begin() + long(bytes)})) << bytes;
    for (size_t more : {size_t(1), size_t(16), sealed_chunk}) {
        Octets file = file_;
        file.resize(file.size() + more);
        EXPECT_FALSE(opens(file)) << more;
    }
    // Cut at a chunk, with a header that fits: the tag of the header, the file's key and the mark of the last
    // chunk each know.
    for (size_t n = 1; n < chunks; ++n) {
        std::vector<size_t> order(n);
        for (size_t c = 0; c < n; ++c) order[c] = c;
        EXPECT_FALSE(opens(with_length(built_from(order), n))) << n;
    }
}

TEST_F(Tampering, ChunksSwappedDroppedRepeated) {
    std::vector<size_t> order(chunks);
    for (size_t c = 0; c < chunks; ++c) order[c] = c;
    ASSERT_TRUE(opens(built_from(order)));
    for (size_t a = 0; a < chunks; ++a)
        for (size_t b = 0; b < chunks; ++b) {
            if (a == b) continue;
            auto swapped = order, replaced = order, inserted = order;
            std::swap(swapped[a], swapped[b]);
            replaced[a] = b;
            inserted.insert(inserted.begin() + long(a), b);
            for (auto& changed : {swapped, replaced, inserted}) {
                EXPECT_FALSE(opens(built_from(changed))) << a << ' ' << b;
                EXPECT_FALSE(opens(with_length(built_from(changed), changed.size()))) << a << ' ' << b;
            }
        }
    for (size_t a = 0; a < chunks; ++a) {
        auto dropped = order;
        dropped.erase(dropped.begin() + long(a));
        EXPECT_FALSE(opens(built_from(dropped))) << a;
        EXPECT_FALSE(opens(with_length(built_from(dropped), dropped.size()))) << a;
    }
}

TEST_F(Tampering, ChunksOfAnotherFile) {
    for (int attempt = 0; attempt < 4; ++attempt) {
        Octets other = sealed_file(content_, key_, chunk_bytes);  // the same content, even
        for (size_t c = 0; c < chunks; ++c) {
            Octets file = file_;
            Octets part = chunk(other, c);
            std::ranges::copy(part, file.begin() + long(start_of(c)));
            EXPECT_FALSE(opens(file)) << c;
        }
        Octets file = file_;
        std::copy_n(other.begin(), encrypted_header_bytes, file.begin());
        EXPECT_FALSE(opens(file)) << "the header";
    }
}

TEST_F(Tampering, EveryKeyOneBitAway) {
    for (size_t bit = 0; bit < 256; ++bit) {
        SecretBytes key = key_.copy();
        key.data()[bit / 8] ^= std::byte(1 << (bit % 8));
        ASSERT_FALSE(opens(file_, key)) << bit;
        // An id that claims the wrong key were the right one does not help it.
        Octets file = file_;
        test::Octets id = test::unhex(key_id(key));
        std::ranges::copy(id, file.begin() + 32);
        ASSERT_FALSE(opens(file, key)) << bit;
    }
    EXPECT_FALSE(opens(file_, SecretBytes(16)));
    EXPECT_FALSE(opens(file_, SecretBytes()));
}

TEST_F(Tampering, LyingHeaders) {
    auto with = [&](size_t offset, auto value) {
        Octets file = file_;
        std::memcpy(file.data() + offset, &value, sizeof value);
        return crypto_error([&] { open_container(file, key_, "f"); });
    };
    EXPECT_THAT(with(8, uint32_t(2)), HasSubstr("version 2 of the encrypted format"));
    EXPECT_THAT(with(12, uint32_t(0)), HasSubstr("cipher 0"));
    EXPECT_THAT(with(16, uint32_t(0)), HasSubstr("chunks of 0 bytes"));
    EXPECT_THAT(with(16, uint32_t(1) << 31), HasSubstr("chunks of 2147483648 bytes"));
    EXPECT_THAT(with(20, uint32_t(80)), HasSubstr("a header of 80 bytes"));
    for (uint64_t bytes : {uint64_t(1) << 60, ~uint64_t(0), uint64_t(0)})
        EXPECT_THAT(with(24, bytes), HasSubstr("was it cut off or appended to?"));
    EXPECT_THAT(with(32, uint64_t(0)), HasSubstr("wrong key: the file needs the key with the id 00000000"));
    EXPECT_THAT(with(48, uint64_t(0)), HasSubstr("the header was changed"));
    EXPECT_THAT(with(0, uint8_t(0)), HasSubstr("not an encrypted .mge file"));
}

}  // namespace
}  // namespace mge
