// SPDX-License-Identifier: Apache-2.0
#include "lite/pack_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "libmge/lite/model_file.h"
#include "libmge/lite/persistent_cache.h"
#include "libmge/model/crypt/cipher.h"
#include "libmge/model/crypt/encrypted_file.h"
#include "lite/global.h"
#include "lite/network.h"
#include "tests/lite/lite_error.h"
#include "tests/lite/networks.h"
#include "tests/model/crypt/crypt_samples.h"

namespace lite {
namespace {

using mge::test::Octets;
using test::error_of;
using testing::HasSubstr;

const std::string mlp = MGE_TEST_DATA "/megengine/mlp.v2.mge";
constexpr const char* info_text =
    R"({"name": "net", "valid": true, "version": "1.13.0", "extra_info": {"author": "someone"}, "device": {"type": "CPU", "number_threads": 2}})";

class PackedModels : public mge::test::InFolder {
protected:
    std::string text_file(const std::string& name, const std::string& text) {
        std::ofstream(path(name)) << text;
        return path(name);
    }
    std::string packed() const { return path("packed.lite"); }
    size_t threads_of_packed() {
        auto network = std::make_shared<Network>();
        network->load_model(packed());
        network->forward();
        network->wait();
        extra_ = network->get_model_extra_info();
        return Runtime::get_cpu_threads_number(network);
    }
    std::string extra_;
};

TEST_F(PackedModels, FilesApplyTheirInformation) {
    ModelPacker packer(mlp, packed(), text_file("info.json", info_text));
    packer.set_header();
    packer.pack_model();
    EXPECT_EQ(threads_of_packed(), 2u);
    EXPECT_THAT(extra_, HasSubstr("someone"));
}

TEST_F(PackedModels, BytesWithoutInformation) {
    Octets model = mge::test::read_file(mlp);
    auto* first = reinterpret_cast<const uint8_t*>(model.data());
    ModelPacker packer(std::vector<uint8_t>(first, first + model.size()), packed());
    packer.pack_model();
    EXPECT_EQ(threads_of_packed(), 1u);
    EXPECT_EQ(extra_, "");
}

TEST_F(PackedModels, InformationGetsRequiredFields) {
    ModelPacker packer(mlp, packed(),
                       text_file("info.json", R"({"device": {"type": "CPU", "number_threads": 2}})"));
    packer.pack_model();
    EXPECT_EQ(threads_of_packed(), 2u);
}

TEST_F(PackedModels, EncryptedPartsAreKept) {
    auto info = mge::encrypt_in_memory(std::as_bytes(std::span(std::string_view(info_text))), "info",
                                       {"RC4_default", {}});
    std::string sealed(mge::text_of(info.span()));
    ModelPacker packer(MGE_TEST_DATA "/crypt/mlp.rc4.mge", packed(), text_file("info.rc4", sealed));
    packer.set_header("RC4_default", "RC4_default");
    packer.pack_model();
    EXPECT_EQ(threads_of_packed(), 2u);
}

TEST_F(PackedModels, ContainMeasuredTimes) {
    auto cache = mge::FastrunCache::in_memory();
    mge::CacheRow row;
    row.machine = "a machine";
    row.problem = "a problem";
    row.measured.name = "an algorithm";
    row.measured.milliseconds = 1;
    cache->merge(std::vector{row});
    auto bytes = cache->bytes();
    ModelPacker packer(mlp, packed(), "", text_file("cache", std::string(mge::text_of(bytes))));
    packer.set_header("NONE", "NONE", true);
    packer.pack_model();
    threads_of_packed();
    auto known = persistent_cache()->rows();
    EXPECT_TRUE(std::ranges::any_of(known, [](auto& r) { return r.problem == "a problem"; }));
}

TEST_F(PackedModels, UnpackableInputsAreReported) {
    EXPECT_THAT(error_of([&] { ModelPacker("/no/such/model", packed()); }), HasSubstr("/no/such/model"));
    ModelPacker none(std::vector<uint8_t>{}, packed());
    EXPECT_THAT(error_of([&] { none.pack_model(); }), HasSubstr("no model"));
    ModelPacker other(std::vector<uint8_t>{1, 2, 3}, packed());
    EXPECT_THAT(error_of([&] { other.pack_model(); }), HasSubstr("has an unknown format"));
    ModelPacker twice(MGE_TEST_DATA "/packed/mlp.packed.lite", packed());
    EXPECT_THAT(error_of([&] { twice.pack_model(); }), HasSubstr("already packed"));
    ModelPacker times(mlp, packed(), "", text_file("cache", "no cache"));
    EXPECT_THAT(error_of([&] { times.pack_model(); }), HasSubstr("measured times"));
    ModelPacker model(mlp, packed(), text_file("info.json", "no json"));
    EXPECT_NE(error_of([&] { model.pack_model(); }), "");
    EXPECT_THAT(error_of([&] { model.set_header("no cipher"); }), HasSubstr("no cipher"));
    EXPECT_FALSE(std::filesystem::exists(packed()));
    ModelPacker elsewhere(mlp, path("no folder/packed"));
    EXPECT_NE(error_of([&] { elsewhere.pack_model(); }), "");
}

}  // namespace
}  // namespace lite
