// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libmge/model/crypt/cipher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/model/crypt/encrypted_file.h"
#include "tests/model/crypt/crypt_samples.h"

namespace mge {
namespace {

using test::content_of;
using test::crypto_error;
using test::key_of;
using testing::HasSubstr;
using testing::IsSupersetOf;

SecretBytes exclusive_or(std::span<const std::byte> input, std::span<const std::byte> key) {
    SecretBytes result(input);
    for (size_t i = 0; i < input.size(); ++i) result.data()[i] ^= key[i % key.size()];
    return result;
}

std::string user_error(const std::function<void()>& fn) {
    try {
        fn();
        return "";
    } catch (const UserError& e) {
        return e.what();
    }
}

TEST(Ciphers, AreListed) {
    EXPECT_THAT(cipher_names(),
                IsSupersetOf({"aes-256-gcm", "AES_default", "RC4_default", "SIMPLE_FAST_RC4_default"}));
    EXPECT_THAT(user_error([] { find_cipher("aes_default"); }),
                HasSubstr("no cipher 'aes_default'; the ciphers are AES_default, RC4_default"));
    for (auto& name : {"AES_default", "RC4_default", "SIMPLE_FAST_RC4_default"})
        EXPECT_NE(find_cipher(name)->weakness, "") << name;
    EXPECT_EQ(find_cipher("aes-256-gcm")->weakness, "");
}

TEST(Ciphers, ApplicationCiphersAreUsed) {
    register_cipher({"xor", exclusive_or, exclusive_or, {}, nullptr, "hides nothing"});
    auto content = content_of(100);
    SecretBytes file = find_cipher("xor")->encrypt(content, key_of(1, 5));
    SecretBytes opened = decrypt_to_memory(file, "f", {"xor", provide_key(key_of(1, 5))});
    EXPECT_TRUE(std::ranges::equal(opened.span(), content));

    EXPECT_THAT(user_error([] {
                    register_cipher({"xor", exclusive_or, {}, {}, nullptr, ""});
                }),
                HasSubstr("a cipher has this name already: 'xor'"));
    EXPECT_THAT(user_error([] {
                    register_cipher({"", exclusive_or, {}, {}, nullptr, ""});
                }),
                HasSubstr("needs a name"));
    EXPECT_THAT(user_error([] {
                    register_cipher({"half", {}, {}, {}, nullptr, ""});
                }),
                HasSubstr("that decrypts"));
    EXPECT_THAT(user_error([&] {
                    decrypt_to_memory(file, "f", {"xor", {}});
                }),
                HasSubstr("'f' needs a key for xor"));
}

TEST(Ciphers, AreUpdated) {
    auto with_key = [](int seed, size_t bytes) {
        return find_cipher("AES_default")->encrypt(content_of(99), key_of(seed, bytes));
    };
    SecretBytes file = with_key(7, 32);
    EXPECT_NE(crypto_error([&] { decrypt_to_memory(file, "f", {"AES_default", {}}); }), "");
    SecretBytes before = find_cipher("AES_default")->default_key->copy();
    update_cipher("AES_default", {}, key_of(7));
    EXPECT_EQ(decrypt_to_memory(file, "f", {"AES_default", {}}).size(), 99u);
    EXPECT_THAT(crypto_error([] { update_cipher("AES_default", {}, key_of(7, 16)); }),
                HasSubstr("has 32 bytes"));
    update_cipher("AES_default", {}, before);
    EXPECT_THAT(user_error([] { update_cipher("none such", {}, key_of(1)); }),
                HasSubstr("no cipher 'none such'"));
    EXPECT_THAT(user_error([] { update_cipher("aes-256-gcm", exclusive_or, {}); }),
                HasSubstr("cannot be replaced"));
}

TEST(Keys, AreReadAsBytesOrDigits) {
    size_t lengths[] = {32};
    std::string digits(64, 'a'), bytes(32, 'a');
    EXPECT_EQ(test::hex(parse_key(bytes_of(digits), lengths, "k")), digits);
    EXPECT_EQ(test::hex(parse_key(bytes_of(" \t" + digits + "\r\n"), lengths, "k")), digits);
    EXPECT_EQ(text_of(parse_key(bytes_of(bytes), lengths, "k")), bytes);
    EXPECT_THAT(crypto_error([&] { parse_key(bytes_of("secret"), lengths, "'k'"); }),
                "the key in 'k' has 6 bytes; a key has 32 bytes, or twice as many hexadecimal digits");
    EXPECT_NE(crypto_error([&] { parse_key({}, {}, "k"); }), "");
    SecretBytes key = generate_key();
    EXPECT_TRUE(std::ranges::equal(parse_key(format_key(key), lengths, "k").span(), key.span()));
}

TEST(Keys, IdsDiffer) {
    EXPECT_EQ(key_id(key_of(1)), key_id(key_of(1)));
    EXPECT_NE(key_id(key_of(1)), key_id(key_of(2)));
    EXPECT_EQ(key_id(key_of(1)).size(), 32u);
}

TEST(SecretMemory, MovesWithItsContent) {
    SecretBytes a(bytes_of("content"));
    const std::byte* where = a.data();
    SecretBytes b = std::move(a);
    EXPECT_EQ(b.data(), where);
    EXPECT_TRUE(a.empty());  // NOLINT: what a moved-from one is belongs to its promise
    b.shrink(3);
    EXPECT_EQ(text_of(b), "con");
    EXPECT_EQ(char(where[4]), 0) << "what is cut off is wiped";
    EXPECT_EQ(SecretBytes(10).span()[9], std::byte(0));
    EXPECT_TRUE(SecretBytes(0).empty());
}

}  // namespace
}  // namespace mge
