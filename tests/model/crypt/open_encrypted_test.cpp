// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "libmge/base/files/file.h"
#include "libmge/model/crypt/encrypted_file.h"
#include "libmge/model/open.h"
#include "tests/model/crypt/crypt_samples.h"
#include "tests/model/sample_models.h"

namespace mge {
namespace {

using test::crypto_error;
using test::key_of;
using test::Octets;
using testing::HasSubstr;

constexpr const char* megengine_model = MGE_TEST_DATA "/megengine/mlp.v2.mge";

class OpenEncrypted : public test::InFolder {
protected:
    void SetUp() override {
        InFolder::SetUp();
        write_model(path("plain"), sample_models()[0]);
        encrypt_file(path("plain"), path("sealed"), {container_cipher, provide_key(key_of(1))});
    }
    static OpenOptions with_key(int seed) { return {.key = provide_key(key_of(seed))}; }
    static ModelBytes in_memory(const std::string& file) {
        auto mapped = MappedFile::open(file);
        return {mapped->bytes(), mapped, "memory"};
    }
};

TEST_F(OpenEncrypted, OwnModelsFromFileAndMemory) {
    Model plain = open_model(path("plain"));
    for (auto& model :
         {open_model(path("sealed"), with_key(1)), open_model(in_memory(path("sealed")), with_key(1))}) {
        EXPECT_EQ(model.graph.nodes().size(), plain.graph.nodes().size());
        EXPECT_EQ(model.test_cases.size(), plain.test_cases.size());
    }
    EXPECT_EQ(recognise_model(test::read_file(path("sealed"))), ModelKind::encrypted);
}

TEST_F(OpenEncrypted, MegenginesModels) {
    size_t nodes = open_model(megengine_model).graph.nodes().size();
    encrypt_file(megengine_model, path("sealed"), {container_cipher, provide_key(key_of(1))});
    EXPECT_EQ(open_model(path("sealed"), with_key(1)).graph.nodes().size(), nodes);
    for (auto [cipher, file] : {std::pair{"AES_default", "mlp.aes.mge"},
                                {"RC4_default", "mlp.rc4.mge"},
                                {"SIMPLE_FAST_RC4_default", "mlp.simple_fast_rc4.mge"}}) {
        std::string bare = std::string(MGE_TEST_DATA "/crypt/") + file;
        EXPECT_EQ(open_model(bare, {.cipher = cipher}).graph.nodes().size(), nodes) << cipher;
        EXPECT_THAT(crypto_error([&] {
                        open_model(bare, {.key = provide_key(key_of(1, 32)), .cipher = "AES_default"});
                    }),
                    HasSubstr("wrong key"));
        EXPECT_THROW(open_model(bare), ModelError) << "it does not say what it is";
    }
}

TEST_F(OpenEncrypted, WrongKeysAndDamage) {
    EXPECT_THAT(crypto_error([&] { open_model(path("sealed"), with_key(2)); }), HasSubstr("wrong key"));
    EXPECT_THAT(crypto_error([&] { open_model(path("sealed")); }), HasSubstr("needs a key"));
    Octets file = test::read_file(path("sealed"));
    for (size_t at : {size_t(70), size_t(90), file.size() / 2, file.size() - 1}) {
        Octets changed = file;
        changed[at] ^= std::byte(4);
        test::write_file(path("changed"), changed);
        EXPECT_NE(crypto_error([&] { open_model(path("changed"), with_key(1)); }), "") << at;
        EXPECT_NE(crypto_error([&] { open_model(in_memory(path("changed")), with_key(1)); }), "") << at;
    }
}

TEST_F(OpenEncrypted, PlainModelIsRefused) {
    for (const std::string& plain : {path("plain"), std::string(megengine_model)}) {
        EXPECT_THAT(crypto_error([&] { open_model(plain, with_key(1)); }),
                    HasSubstr("is not encrypted, although"));
        EXPECT_NE(crypto_error([&] { open_model(in_memory(plain), with_key(1)); }), "");
        OpenOptions relaxed = with_key(1);
        relaxed.allow_plain = true;
        EXPECT_NO_THROW(open_model(plain, relaxed));
        for (const char* cipher : {"AES_default", "RC4_default", "SIMPLE_FAST_RC4_default", "aes-256-gcm"})
            EXPECT_NE(crypto_error([&] { open_model(plain, {.cipher = cipher}); }), "") << cipher;
    }
}

TEST_F(OpenEncrypted, OtherContentIsRefused) {
    test::write_file(path("text"), bytes_of("hello world"));
    encrypt_file(path("text"), path("sealed"), {container_cipher, provide_key(key_of(1))});
    EXPECT_THROW(open_model(path("sealed"), with_key(1)), ModelError);
    encrypt_file(path("text"), path("weak"), {"AES_default", {}});
    EXPECT_THAT(crypto_error([&] { open_model(path("weak"), {.cipher = "AES_default"}); }),
                HasSubstr("its content decrypted with AES_default is not a model"));
    encrypt_file(path("sealed"), path("twice"), {container_cipher, provide_key(key_of(1))});
    EXPECT_THROW(open_model(path("twice"), with_key(1)), ModelError);
}

}  // namespace
}  // namespace mge
