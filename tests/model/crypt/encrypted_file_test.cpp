// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/crypt/encrypted_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "libmge/model/crypt/container_bytes.h"
#include "libmge/model/crypt/examine_file.h"
#include "tests/model/crypt/crypt_samples.h"

namespace mge {
namespace {

using test::content_of;
using test::crypto_error;
using test::key_of;
using test::Octets;
using testing::HasSubstr;

FileCipher with_key(int seed) { return {container_cipher, provide_key(key_of(seed))}; }

class EncryptedFiles : public test::InFolder {
protected:
    Octets content_ = content_of(2 * default_chunk_bytes + 77);
    void SetUp() override {
        InFolder::SetUp();
        test::write_file(path("plain"), content_);
        encrypt_file(path("plain"), path("sealed"), with_key(1));
    }
    void flip(const std::string& file, size_t byte) const {
        Octets changed = test::read_file(path(file));
        changed[byte] ^= std::byte(1);
        test::write_file(path(file), changed);
    }
};

TEST_F(EncryptedFiles, RoundTripThroughFilesAndMemory) {
    EXPECT_TRUE(is_encrypted(test::read_file(path("sealed"))));
    decrypt_file(path("sealed"), path("opened"), with_key(1));
    EXPECT_EQ(test::read_file(path("opened")), content_);
    EXPECT_TRUE(std::ranges::equal(decrypt_to_memory(path("sealed"), with_key(1)).span(), content_));
    EXPECT_EQ(file_count(), 3u) << "no temporary file is left";
    struct stat info {};
    ASSERT_EQ(::stat(path("opened").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u) << "only the owner may read what was secret";
}

TEST_F(EncryptedFiles, InPlace) {
    encrypt_file(path("plain"), path("plain"), with_key(2));
    EXPECT_NE(test::read_file(path("plain")), content_);
    decrypt_file(path("plain"), path("plain"), with_key(2));
    EXPECT_EQ(test::read_file(path("plain")), content_);
}

TEST_F(EncryptedFiles, DamageKeepsTheOldFile) {
    test::write_file(path("out"), content_of(5));
    flip("sealed", test::read_file(path("sealed")).size() - 1);  // the last chunk: two good ones come before
    EXPECT_THAT(crypto_error([&] { decrypt_file(path("sealed"), path("out"), with_key(1)); }),
                HasSubstr("chunk 2 of 3 (from byte"));
    EXPECT_THAT(crypto_error([&] { rekey_file(path("sealed"), path("out"), with_key(1), with_key(2)); }),
                HasSubstr("chunk 2 of 3"));
    EXPECT_EQ(test::read_file(path("out")), content_of(5));
    EXPECT_EQ(file_count(), 3u);
}

TEST_F(EncryptedFiles, WrongKeysNameBothIds) {
    EXPECT_EQ(crypto_error([&] { decrypt_to_memory(path("sealed"), with_key(2)); }),
              text("'", path("sealed"), "': wrong key: the file needs the key with the id ",
                   key_id(key_of(1)), ", this key has the id ", key_id(key_of(2))));
    EXPECT_EQ(crypto_error([&] {
                  decrypt_to_memory(path("sealed"), {container_cipher, provide_key(SecretBytes(5))});
              }),
              "a key for aes-256-gcm has 32 bytes, but this key has 5");
    EXPECT_THAT(crypto_error([&] { decrypt_to_memory(path("sealed"), {}); }),
                HasSubstr("needs a key for aes-256-gcm"));
}

TEST_F(EncryptedFiles, RequestKeysByIdAndCipher) {
    KeyRequest seen;
    FileCipher cipher{container_cipher, [&](const KeyRequest& request) {
                          seen = request;
                          return key_of(1);
                      }};
    decrypt_to_memory(path("sealed"), cipher);
    EXPECT_EQ(seen.file, path("sealed"));
    EXPECT_EQ(seen.cipher, "aes-256-gcm");
    EXPECT_EQ(seen.key_id, key_id(key_of(1)));
}

TEST_F(EncryptedFiles, WeakerFormatsAreRefused) {
    for (const char* name : {"AES_default", "RC4_default", "SIMPLE_FAST_RC4_default"}) {
        encrypt_file(path("plain"), path("weak"), {name, {}});
        EXPECT_THAT(crypto_error([&] { decrypt_to_memory(path("weak"), with_key(1)); }),
                    HasSubstr("is not encrypted with aes-256-gcm"));
        EXPECT_THAT(crypto_error([&] {
                        decrypt_to_memory(path("sealed"), {name, {}});
                    }),
                    HasSubstr(text("is encrypted with aes-256-gcm, not with ", name)));
    }
    EXPECT_THAT(crypto_error([&] { decrypt_file(path("plain"), path("out"), with_key(1)); }),
                HasSubstr("is not encrypted with aes-256-gcm"));
    test::write_file(path("empty"), {});
    EXPECT_NE(crypto_error([&] { decrypt_to_memory(path("empty"), with_key(1)); }), "");
}

TEST_F(EncryptedFiles, Rekey) {
    rekey_file(path("sealed"), path("sealed"), with_key(1), with_key(2));
    EXPECT_NE(crypto_error([&] { decrypt_to_memory(path("sealed"), with_key(1)); }), "");
    EXPECT_TRUE(std::ranges::equal(decrypt_to_memory(path("sealed"), with_key(2)).span(), content_));
    EXPECT_THAT(crypto_error([&] { rekey_file(path("sealed"), path("out"), with_key(1), with_key(3)); }),
                HasSubstr("wrong key"));
    EXPECT_EQ(file_count(), 2u);
}

TEST_F(EncryptedFiles, RekeyReplacesAWeakFormat) {
    encrypt_file(path("plain"), path("weak"), {"AES_default", {}});
    rekey_file(path("weak"), path("strong"), {"AES_default", {}}, with_key(1));
    EXPECT_TRUE(std::ranges::equal(decrypt_to_memory(path("strong"), with_key(1)).span(), content_));
    rekey_file(path("strong"), path("weak"), with_key(1), {"AES_default", provide_key(key_of(9))});
    SecretBytes opened = decrypt_to_memory(path("weak"), {"AES_default", provide_key(key_of(9))});
    EXPECT_TRUE(std::ranges::equal(opened.span(), content_));
}

TEST_F(EncryptedFiles, OtherChunkSizesAreReadAndRekeyed) {
    EncryptedContainer container(key_of(1), 5000, 4096);
    Octets content = content_of(5000), file(container.file_bytes());
    std::ranges::copy(container.sealed_header(), file.begin());
    for (uint64_t c : {0, 1})
        container.seal(c, std::span(content).subspan(c * 4096, container.plain_bytes(c)),
                       std::span(file).subspan(container.sealed_offset(c), container.sealed_bytes(c)));
    test::write_file(path("small"), file);
    rekey_file(path("small"), path("small"), with_key(1), with_key(2));
    EXPECT_TRUE(std::ranges::equal(decrypt_to_memory(path("small"), with_key(2)).span(), content));
    EXPECT_EQ(examine_file(path("small")).header->chunk_bytes, 4096u);
}

TEST_F(EncryptedFiles, ReportProgress) {
    std::vector<uint64_t> seen;
    auto progress = [&](uint64_t done, uint64_t total) {
        EXPECT_EQ(total, 2 * content_.size());
        seen.push_back(done);
    };
    decrypt_file(path("sealed"), path("out"), with_key(1), progress);
    EXPECT_TRUE(std::ranges::is_sorted(seen));
    EXPECT_EQ(seen.back(), 2 * content_.size());
}

TEST_F(EncryptedFiles, Unreadable) {
    EXPECT_THROW(decrypt_to_memory(path("missing"), with_key(1)), UserError);
    EXPECT_THROW(decrypt_to_memory(folder_.string(), with_key(1)), UserError);
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    EXPECT_THROW(decrypt_to_memory(path("pipe"), with_key(1)), UserError) << "does not wait for a writer";
    EXPECT_THROW(encrypt_file(path("plain"), path("no/such/folder"), with_key(1)), UserError);
}

TEST_F(EncryptedFiles, AreExamined) {
    EncryptedFileInfo info = examine_file(path("sealed"));
    EXPECT_EQ(info.cipher, "aes-256-gcm");
    EXPECT_EQ(info.content_bytes, content_.size());
    EXPECT_EQ(info.header->chunk_bytes, 1u << 20);
    EXPECT_EQ(info.authenticity, Authenticity::not_checked);
    EXPECT_EQ(examine_file(path("sealed"), with_key(1)).authenticity, Authenticity::authentic);
    flip("sealed", 200);
    EXPECT_EQ(examine_file(path("sealed")).authenticity, Authenticity::not_checked);
    EXPECT_NE(crypto_error([&] { examine_file(path("sealed"), with_key(1)); }), "");

    test::write_file(path("text"), bytes_of("hello world\n"));
    EXPECT_EQ(examine_file(path("text")).format, "unknown");
    test::write_file(path("cache"), bytes_of("SQLite format 3\0 and more"));
    EXPECT_THAT(examine_file(path("cache")).format, HasSubstr("not encrypted: SQLite"));
}

TEST_F(EncryptedFiles, MegenginesAreRecognised) {
    for (const char* name : {"AES_default", "RC4_default", "SIMPLE_FAST_RC4_default"}) {
        encrypt_file(path("plain"), path("weak"), {name, {}});
        EncryptedFileInfo info = examine_file(path("weak"));
        EXPECT_EQ(info.cipher, name);
        EXPECT_TRUE(info.is_guess && info.has_default_key) << name;
        EXPECT_EQ(info.authenticity, Authenticity::not_protected);
        EXPECT_GE(examine_file(path("weak"), FileCipher{name, {}}).content_bytes, content_.size());
    }
    encrypt_file(path("plain"), path("weak"), {"AES_default", provide_key(key_of(4))});
    EncryptedFileInfo info = examine_file(path("weak"));
    EXPECT_TRUE(info.is_guess && !info.has_default_key && info.cipher == "AES_default");
}

}  // namespace
}  // namespace mge
