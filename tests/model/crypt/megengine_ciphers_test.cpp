// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libmge/model/crypt/megengine_ciphers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/model/crypt/encrypted_file.h"
#include "libmge/model/crypt/megengine_stream.h"
#include "tests/model/crypt/crypt_samples.h"

namespace mge {
namespace {

using test::content_of;
using test::crypto_error;
using test::hex;
using test::key_of;
using test::Octets;
using testing::HasSubstr;

constexpr const char* ciphers[] = {"AES_default", "RC4_default", "SIMPLE_FAST_RC4_default"};

std::string first_bytes(uint64_t key) {
    MegengineStream stream(key);
    std::array<uint64_t, 2> words{stream.next(), stream.next()};
    return hex(std::as_bytes(std::span(words)));
}

TEST(MegengineStream, MatchesMegEngine) {
    EXPECT_EQ(first_bytes(0x7a7b7d78797e7f7c), "aa76aea2a8e42ddf96c431488063277a");
    EXPECT_EQ(first_bytes(0), "c339fdc62dafd93cb58a84fcd404476f");
}

TEST(MegengineHash, MatchesMegEngine) {
    MegengineHash hash(0x686b66676a65696c);
    hash.feed(0x0123456789abcdef);
    EXPECT_EQ(hash.value(), 0xabeac2e9a18cf155);
}

TEST(MegengineRc4, MatchesMegEngineOutput) {
    SecretBytes key = default_megengine_rc4_key();
    EXPECT_EQ(hex(encrypt_megengine_rc4(bytes_of("hello world"), key)),
              "f0dd53d0ae1bf8f5078c4868e5d0e8bb9f910e9460bdd5ed");
    EXPECT_EQ(hex(encrypt_megengine_rc4(bytes_of("12345678"), key)), "f6bba564786c2abfddd6590eea77c120");
    EXPECT_EQ(hex(encrypt_megengine_simple_fast_rc4(bytes_of("hello world"), key)),
              "c213c2cec7c45ab0e4a855488063277a52f482934522ff78");
}

// Written by MegEngine's own tools from the same model.
TEST(MegengineFiles, AreRead) {
    std::string folder = MGE_TEST_DATA "/crypt/";
    Octets expected = test::read_file(MGE_TEST_DATA "/megengine/mlp.v2.mge");
    ASSERT_FALSE(expected.empty());
    for (auto [cipher, file] : {std::pair{"AES_default", "mlp.aes.mge"},
                                {"RC4_default", "mlp.rc4.mge"},
                                {"SIMPLE_FAST_RC4_default", "mlp.simple_fast_rc4.mge"}}) {
        SecretBytes content = decrypt_to_memory(folder + file, {cipher, {}});
        EXPECT_TRUE(std::ranges::equal(content.span(), expected)) << cipher;
    }
    // The stream ciphers have no random part: writing gives the same bytes too.
    SecretBytes key = default_megengine_rc4_key();
    EXPECT_TRUE(std::ranges::equal(encrypt_megengine_rc4(expected, key).span(),
                                   test::read_file(folder + "mlp.rc4.mge")));
    EXPECT_TRUE(std::ranges::equal(encrypt_megengine_simple_fast_rc4(expected, key).span(),
                                   test::read_file(folder + "mlp.simple_fast_rc4.mge")));
}

TEST(MegengineCiphers, RoundTripAtEveryLength) {
    for (const char* name : ciphers) {
        auto cipher = find_cipher(name);
        for (size_t key_bytes : cipher->key_bytes)
            for (size_t bytes : {0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 1000, 4096, 100003}) {
                SecretBytes key = key_of(3, key_bytes);
                Octets content = content_of(bytes);
                SecretBytes opened = cipher->decrypt(cipher->encrypt(content, key), key);
                bool is_aes = std::string(name) == "AES_default";
                content.resize(is_aes ? bytes : (bytes + 7) / 8 * 8);  // the others pad by zeros
                EXPECT_TRUE(std::ranges::equal(opened.span(), content)) << name << ' ' << bytes;
            }
    }
}

TEST(MegengineCiphers, RejectWrongKeysAndDamage) {
    Octets content = content_of(1000);
    for (const char* name : ciphers) {
        auto cipher = find_cipher(name);
        SecretBytes file = cipher->encrypt(content, key_of(1));
        if (std::string(name) != "AES_default") file = cipher->encrypt(content, key_of(1, 16));
        FileCipher with_other{name, provide_key(key_of(2, cipher->key_bytes[0]))};
        EXPECT_THAT(crypto_error([&] { decrypt_to_memory(file, "f", with_other); }),
                    HasSubstr("'f': wrong key"))
            << name;
        FileCipher with_key{name, provide_key(key_of(1, cipher->key_bytes[0]))};
        for (size_t cut : {size_t(0), size_t(7), file.size() - 1, file.size() / 2 - 3})
            EXPECT_NE(crypto_error([&] { decrypt_to_memory(file.span().first(cut), "f", with_key); }), "")
                << name << " cut to " << cut;
    }
}

TEST(MegengineCiphers, AcceptKeysOfTheirLengthsOnly) {
    Octets content = content_of(64);
    for (const char* name : ciphers)
        EXPECT_THAT(crypto_error([&] {
                        decrypt_to_memory(content, "f", {name, [](auto&) { return SecretBytes(31); }});
                    }),
                    HasSubstr("bytes, but this key has 31"))
            << name;
}

}  // namespace
}  // namespace mge
