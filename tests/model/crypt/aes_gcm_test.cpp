// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/crypt/aes_gcm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/model/crypt/crypt_samples.h"

namespace mge {
namespace {

using test::hex;
using test::Octets;
using test::unhex;

// The CAVP vectors of NIST for AES-256-GCM with 96-bit nonces and 128-bit tags; those with FAIL have to be
// refused.
struct Vector {
    std::map<std::string, std::string> fields;
    bool refused = false;
    Octets operator[](const char* name) const {
        auto found = fields.find(name);
        return found == fields.end() ? Octets() : unhex(found->second);
    }
};

std::vector<Vector> nist_vectors() {
    std::ifstream file(MGE_TEST_DATA "/crypt/nist_aes256_gcm.rsp");
    std::vector<Vector> vectors;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#') continue;
        if (line.starts_with("Count")) vectors.emplace_back();
        if (line == "FAIL") vectors.back().refused = true;
        if (size_t equals = line.find(" = "); equals != std::string::npos)
            vectors.back().fields[line.substr(0, equals)] = line.substr(equals + 3);
    }
    return vectors;
}

Octets joined(Octets a, const Octets& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

TEST(AesGcm, AgreesWithEveryNistVector) {
    auto vectors = nist_vectors();
    size_t opened = 0, refused = 0;
    for (auto& v : vectors) {
        SCOPED_TRACE(v.fields.at("Key") + " count " + v.fields.at("Count"));
        AesGcm cipher(v["Key"]);
        GcmNonce nonce;
        std::ranges::copy(v["IV"], nonce.begin());
        Octets sealed = joined(v["CT"], v["Tag"]), plain(v["CT"].size());
        ASSERT_EQ(cipher.open(nonce, v["AAD"], sealed, plain), !v.refused);
        if (v.refused) {
            ++refused;
            EXPECT_EQ(plain, Octets(plain.size())) << "nothing is left of a refused message";
            continue;
        }
        ++opened;
        EXPECT_EQ(plain, v["PT"]);
        Octets again(sealed.size());
        cipher.seal(nonce, v["AAD"], plain, again);
        EXPECT_EQ(again, sealed);
    }
    EXPECT_GE(opened, 500u);
    EXPECT_GE(refused, 100u);
}

// Project Wycheproof: counters that wrap round, special tags, tags changed in each of their bits.
TEST(AesGcm, AgreesWithEveryWycheproofVector) {
    std::ifstream file(MGE_TEST_DATA "/crypt/wycheproof_aes256_gcm.json");
    auto vectors = nlohmann::json::parse(file);
    size_t opened = 0, refused = 0;
    for (auto& group : vectors.at("testGroups"))
        for (auto& v : group.at("tests")) {
            SCOPED_TRACE(v.at("tcId"));
            auto octets = [&](const char* name) { return unhex(v.at(name).get<std::string>()); };
            AesGcm cipher(octets("key"));
            GcmNonce nonce;
            std::ranges::copy(octets("iv"), nonce.begin());
            Octets sealed = joined(octets("ct"), octets("tag")), plain(octets("ct").size());
            bool is_valid = v.at("result") == "valid";
            ASSERT_EQ(cipher.open(nonce, octets("aad"), sealed, plain), is_valid);
            ++(is_valid ? opened : refused);
            Octets again(sealed.size());
            cipher.seal(nonce, octets("aad"), octets("msg"), again);
            EXPECT_EQ(again == sealed, is_valid);
            EXPECT_EQ(plain, is_valid ? octets("msg") : Octets(plain.size()));
        }
    EXPECT_EQ(opened + refused, 66u);
    EXPECT_GE(refused, 20u);
}

// RFC 5869, test cases 1 to 3.
TEST(Hkdf, AgreesWithTheRfc) {
    EXPECT_EQ(hex(hkdf_sha256(unhex("0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b"),
                              unhex("000102030405060708090a0b0c"), unhex("f0f1f2f3f4f5f6f7f8f9"), 42)),
              "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
    auto range = [](int from, int to) {
        Octets bytes;
        for (int b = from; b <= to; ++b) bytes.push_back(std::byte(b));
        return bytes;
    };
    EXPECT_EQ(hex(hkdf_sha256(range(0x00, 0x4f), range(0x60, 0xaf), range(0xb0, 0xff), 82)),
              "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e"
              "09da3275600c2f09"
              "b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87");
    EXPECT_EQ(hex(hkdf_sha256(unhex("0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b"), {}, {}, 42)),
              "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

TEST(Random, FillsAndDiffers) {
    Octets a(64), b(64);
    fill_random(a);
    fill_random(b);
    EXPECT_NE(a, b);
    EXPECT_NE(a, Octets(64));
}

}  // namespace
}  // namespace mge
