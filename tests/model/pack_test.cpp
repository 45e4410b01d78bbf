// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

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

constexpr const char* model_file = MGE_TEST_DATA "/megengine/mlp.v2.mge";
const std::string packed_folder = MGE_TEST_DATA "/packed/";

std::string model_error(const std::function<void()>& fn) {
    try {
        fn();
        return "";
    } catch (const ModelError& e) {
        return e.what();
    }
}

class Packed : public test::InFolder {
protected:
    Octets plain_ = test::read_file(model_file);
    PackedParts parts_of(const std::string& file) {
        content_ = test::read_file(file);
        return read_packed_parts(content_, file);
    }
    Octets content_;
};

TEST_F(Packed, MegenginesOwnFilesAreOpened) {
    size_t nodes = open_model(model_file).graph.nodes().size();
    for (auto [file, cipher] : {std::pair{"mlp.packed.lite", "NONE"},
                                {"mlp.packed_aes.lite", "AES_default"},
                                {"mlp.packed_rc4.lite", "RC4_default"}}) {
        PackedParts parts = parts_of(packed_folder + file);
        EXPECT_EQ(parts.model_cipher, cipher);
        EXPECT_EQ(parts.name, "mlp");
        Model model = open_model(packed_folder + file);
        EXPECT_EQ(model.graph.nodes().size(), nodes) << file;
        EXPECT_THAT(model.metadata.at("lite_info"), HasSubstr("\"name\": \"mlp\""));
        unpack_model(packed_folder + file, {path("model"), path("info"), {}}, {});
        // The stream ciphers do not store the length; padding is zeros.
        Octets unpacked = test::read_file(path("model"));
        ASSERT_GE(unpacked.size(), plain_.size());
        EXPECT_TRUE(std::equal(plain_.begin(), plain_.end(), unpacked.begin()));
        EXPECT_EQ(test::read_file(path("info")), test::read_file(packed_folder + "mlp.info.json"));
    }
}

TEST_F(Packed, RoundTrips) {
    // A cache of MegEngine's with 0 categories.
    test::write_file(path("cache"), bytes_of(std::string(4, '\0')));
    for (const char* cipher :
         {"NONE", "AES_default", "RC4_default", "SIMPLE_FAST_RC4_default", "aes-256-gcm"}) {
        bool needs_key = std::string(cipher) == "aes-256-gcm";
        KeyProvider key = needs_key ? provide_key(key_of(1)) : KeyProvider();
        pack_model(model_file, path("packed"),
                   {.name = "net",
                    .info = R"({"extra_info": {"a": 1}})",
                    .cache = path("cache"),
                    .model_cipher = cipher,
                    .info_cipher = cipher,
                    .key = key});
        PackedParts parts = parts_of(path("packed"));
        EXPECT_EQ(parts.name, "net");
        EXPECT_EQ(parts.cache_parser, "LITE_parse_cache");
        EXPECT_EQ(parts.info_parser, "LITE_default");
        EXPECT_TRUE(parts.is_fast_run_cache);
        UnpackPaths written = unpack_model(path("packed"), {path("m"), path("i"), path("c")}, key);
        EXPECT_EQ(written.cache, path("c"));
        Octets model = test::read_file(path("m"));
        model.resize(plain_.size());
        EXPECT_EQ(model, plain_) << cipher;
        EXPECT_EQ(test::read_file(path("c")), test::read_file(path("cache")));
        EXPECT_THAT(std::string(text_of(test::read_file(path("i")))),
                    testing::AllOf(HasSubstr("\"name\":\"net\""), HasSubstr("\"valid\":true")));
        EXPECT_NO_THROW(open_model(path("packed"), {.key = key})) << cipher;
        EXPECT_EQ(crypto_error([&] { open_model(path("packed")); }).empty(), !needs_key);
    }
}

TEST_F(Packed, OwnModelsToo) {
    write_model(path("own.mge"), sample_models()[0]);
    pack_model(path("own.mge"), path("packed"), {});
    Model model = open_model(path("packed"));
    EXPECT_EQ(model.graph.nodes().size(), sample_models()[0].graph.nodes().size());
    EXPECT_THAT(model.metadata.at("lite_info"), HasSubstr("\"valid\":false"));
    EXPECT_EQ(parts_of(path("packed")).name, "own");
}

TEST_F(Packed, AKeyDemandsAnEncryptedModel) {
    OpenOptions with_key{.key = provide_key(key_of(1))};
    EXPECT_THAT(crypto_error([&] { open_model(packed_folder + "mlp.packed.lite", with_key); }),
                HasSubstr("is not encrypted, although"));
    EXPECT_NE(crypto_error([&] { open_model(packed_folder + "mlp.packed_aes.lite", with_key); }), "");
}

// As a tool of MegEngine writes it.
TEST_F(Packed, ExchangedCipherNames) {
    auto exchange = [&](const char* info_cipher, const char* model_cipher) {
        pack_model(
            model_file, path("packed"),
            {.info = R"({"version": "1.0.0"})", .model_cipher = model_cipher, .info_cipher = info_cipher});
        Octets file = test::read_file(path("packed"));
        // Names of equal length can be exchanged in place: NONE has four letters, so the test's cipher has
        // too.
        auto at = [&](std::string_view name) {
            return std::search(file.begin(), file.end(), bytes_of(name).begin(), bytes_of(name).end());
        };
        auto none = at("NONE"), own = at("SFR4");
        EXPECT_TRUE(none != file.end() && own != file.end());
        std::swap_ranges(none, none + 4, own);
        test::write_file(path("exchanged"), file);
    };
    auto simple = find_cipher("SIMPLE_FAST_RC4_default");
    register_cipher({"SFR4", simple->decrypt, simple->encrypt, simple->key_bytes, simple->default_key, ""});
    for (auto [info, model] : {std::pair{"NONE", "SFR4"}, {"SFR4", "NONE"}}) {
        exchange(info, model);
        EXPECT_EQ(open_model(path("exchanged")).metadata.at("lite_info"),
                  open_model(path("packed")).metadata.at("lite_info"));
    }
}

TEST_F(Packed, InfoThatDoesNotFit) {
    auto packed_with = [&](const std::string& info, const std::string& name = {}) {
        pack_model(model_file, path("packed"), {.name = name, .info = info});
        return model_error([&] { open_model(path("packed")); });
    };
    EXPECT_EQ(packed_with(R"({"valid": true, "name": "x", "version": "1.0.0"})"), "");
    EXPECT_THAT(packed_with(R"({"has_compression": true})"), HasSubstr("has_compression"));
    for (const char* broken : {"[]", "{", "12", "{\"valid\": 3}", "{\"name\": 3, \"valid\": true}"})
        EXPECT_THROW(packed_with(broken), UserError) << broken;
    EXPECT_THROW(packed_with("{\"a\":" + std::string(100000, '[')), UserError);
    EXPECT_THAT(model_error([&] { pack_model(packed_folder + "mlp.packed.lite", path("again"), {}); }),
                HasSubstr("already packed"));
    EXPECT_THROW(pack_model(packed_folder + "mlp.info.json", path("again"), {}), ModelError);
}

TEST_F(Packed, RejectsOtherContents) {
    write_model(path("own.mge"), sample_models()[0]);
    encrypt_file(path("own.mge"), path("sealed"), {container_cipher, provide_key(key_of(1))});
    EXPECT_THAT(model_error([&] { pack_model(path("sealed"), path("packed"), {}); }),
                HasSubstr("can be packed; it is encrypted"));

    // A cipher that makes a packed model of anything.
    register_cipher(
        {"PACK",
         [](auto file, auto) { return SecretBytes(file); },
         [](auto, auto) { return SecretBytes(test::read_file(packed_folder + "mlp.packed.lite")); },
         {},
         std::make_shared<const SecretBytes>(SecretBytes(1)),
         ""});
    pack_model(path("own.mge"), path("packed"), {.model_cipher = "PACK"});
    EXPECT_THAT(crypto_error([&] { open_model(path("packed")); }), HasSubstr("is not a model"));
}

TEST_F(Packed, DamageIsATypedError) {
    Octets good = test::read_file(packed_folder + "mlp.packed_rc4.lite");
    auto opens = [](const Octets& file) {
        auto owner = std::make_shared<Octets>(file);
        try {
            open_model(ModelBytes{*owner, owner, "f"});
            return true;
        } catch (const UserError&) {  // ModelError, CryptoError, an unknown cipher
            return false;
        }
    };
    ASSERT_TRUE(opens(good));
    for (size_t bytes = 0; bytes < good.size(); bytes += bytes < 200 ? 1 : 37)
        EXPECT_FALSE(opens({good.begin(), good.begin() + long(bytes)})) << bytes;
    std::mt19937 random(11);
    size_t refused = 0;
    for (int n = 0; n < 3000; ++n) {
        Octets file = good;
        // Most of the file is ciphertext; the table is at both ends.
        size_t at = n % 2 ? random() % 80 : file.size() - 1 - random() % 800;
        file[at] ^= std::byte(1 << random() % 8);
        refused += !opens(file);
    }
    EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace mge
