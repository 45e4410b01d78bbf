// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/decryption.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/lite/model_file.h"
#include "libmge/model/crypt/cipher.h"
#include "lite/global.h"
#include "tests/lite/lite_error.h"
#include "tests/model/crypt/crypt_samples.h"

namespace lite {
namespace {

using mge::test::Octets;
using mge::test::read_file;
using mge::test::write_file;
using test::error_of;
using testing::AllOf;
using testing::HasSubstr;
using Key = std::vector<uint8_t>;

const std::string data_folder = MGE_TEST_DATA "/";
const std::string mlp = data_folder + "megengine/mlp.v2.mge";

Configuration with_cipher(const std::string& name) {
    Configuration configuration;
    configuration.config.bare_model_cryption_name = name;
    return configuration;
}
std::string error_of_loading(const std::string& file, const std::string& cipher) {
    return error_of([&] { read_model_file(file, with_cipher(cipher)); });
}

// The example of the documentation: each byte xor the first of the key.
std::vector<uint8_t> exclusive_or(const void* in, size_t size, const Key& key) {
    auto* first = static_cast<const uint8_t*>(in);
    std::vector<uint8_t> out(first, first + size);
    for (auto& byte : out) byte ^= key.at(0);
    return out;
}

class Decryption : public mge::test::InFolder {
protected:
    // The MLP as `exclusive_or` reads it.
    std::string stored(uint8_t key) {
        Octets content = read_file(mlp);
        for (auto& byte : content) byte ^= std::byte(key);
        write_file(path("stored"), content);
        return path("stored");
    }
};

TEST_F(Decryption, RunsUserFunctions) {
    auto before = mge::cipher_names().size();
    EXPECT_TRUE(register_decryption_and_key("just_xor", exclusive_or, {15}));
    EXPECT_EQ(mge::cipher_names().size(), before + 1);
    EXPECT_EQ(error_of_loading(stored(15), "just_xor"), "");
    EXPECT_THAT(error_of([] { register_decryption_and_key("just_xor", exclusive_or, {15}); }),
                HasSubstr("a cipher has this name already: 'just_xor'"));
    EXPECT_THAT(error_of_loading(stored(16), "just_xor"),
                HasSubstr("is not a model: the key or the cipher is wrong"));
    for (const char* name : {"", "NONE", "AES_default", "aes-256-gcm"})
        EXPECT_NE(error_of([&] { register_decryption_and_key(name, exclusive_or, {15}); }), "") << name;
    EXPECT_NE(error_of([] { register_decryption_and_key("no function", {}, {15}); }), "");
}

TEST_F(Decryption, GetsAnotherFunctionOrKey) {
    register_decryption_and_key("renewed", exclusive_or, {1});
    EXPECT_EQ(error_of_loading(stored(1), "renewed"), "");
    update_decryption_or_key("renewed", {}, {2});
    EXPECT_EQ(error_of_loading(stored(2), "renewed"), "");
    EXPECT_NE(error_of_loading(stored(1), "renewed"), "");
    update_decryption_or_key("renewed",
                             [](const void* in, size_t size, const Key& key) {
                                 return exclusive_or(in, size, {uint8_t(key.at(0) + 1)});
                             },
                             {});
    EXPECT_EQ(error_of_loading(stored(3), "renewed"), "");
    EXPECT_THAT(error_of([] { update_decryption_or_key("none such", exclusive_or, {1}); }),
                AllOf(HasSubstr("'none such'"), HasSubstr("RC4_default")));
    EXPECT_NE(error_of([] { update_decryption_or_key("aes-256-gcm", exclusive_or, {}); }), "");
}

TEST_F(Decryption, InvalidIsAnError) {
    register_decryption_and_key("nothing", [](auto...) { return std::vector<uint8_t>(); }, {});
    EXPECT_THAT(error_of_loading(mlp, "nothing"), HasSubstr("returned no data"));
    register_decryption_and_key("half",
                                [](const void* in, size_t size, auto&) {
                                    auto* first = static_cast<const uint8_t*>(in);
                                    return std::vector<uint8_t>(first, first + size / 2);
                                },
                                {});
    EXPECT_THAT(error_of_loading(mlp, "half"), HasSubstr("truncated"));
    register_decryption_and_key(
        "throws", [](auto...) -> std::vector<uint8_t> { throw std::runtime_error("the key server is away"); },
        {});
    EXPECT_THAT(error_of_loading(mlp, "throws"), HasSubstr("the key server is away"));
    register_decryption_and_key(
        "identity", [](const void* in, size_t size, auto&) { return exclusive_or(in, size, {0}); }, {});
    EXPECT_EQ(error_of_loading(mlp, "identity"), "");
}

TEST_F(Decryption, AcceptsMegEngineKeys) {
    const std::pair<const char*, std::string> files[] = {
        {"AES_default", data_folder + "crypt/mlp.aes.mge"},
        {"RC4_default", data_folder + "crypt/mlp.rc4.mge"},
        {"SIMPLE_FAST_RC4_default", data_folder + "crypt/mlp.simple_fast_rc4.mge"},
    };
    for (auto& [cipher, file] : files) {
        SCOPED_TRACE(cipher);
        auto& kept = *mge::find_cipher(cipher)->default_key;
        auto* first = reinterpret_cast<const uint8_t*>(kept.data());
        Key right(first, first + kept.size());
        bool is_aes = right.size() == 32;
        for (size_t bytes : {1u, 8u, 15u, 16u, 17u, 31u, 32u, 33u, 64u, 127u, 128u, 129u}) {
            bool fits = is_aes ? bytes == 32 : bytes == 16 || bytes == 128;
            EXPECT_EQ(error_of([&, cipher = cipher] {
                          update_decryption_or_key(cipher, {}, Key(bytes, 9));
                      }).empty(),
                      fits)
                << bytes;
        }
        EXPECT_NE(error_of_loading(file, cipher), "");
        if (!is_aes) {
            update_decryption_or_key(cipher, {}, Key(right.begin(), right.begin() + 16));
            EXPECT_EQ(error_of_loading(file, cipher), "");
        }
        update_decryption_or_key(cipher, {}, right);
        EXPECT_EQ(error_of_loading(file, cipher), "");
        update_decryption_or_key(cipher, {}, {});
        EXPECT_EQ(error_of_loading(file, cipher), "");
    }
}

}  // namespace
}  // namespace lite
