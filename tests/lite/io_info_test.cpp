// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lite/network.h"
#include "lite/pack_model.h"
#include "tests/lite/lite_error.h"
#include "tests/lite/networks.h"
#include "tests/model/crypt/crypt_samples.h"

namespace lite {
namespace {

using mge::test::Octets;
using test::error_of;
using testing::HasSubstr;

// The information about a file equals that of a network that has loaded it.
void expect_as_loaded(const NetworkIO& info, const std::string& path, const Config& config = {}) {
    Network network(config);
    network.load_model(path);
    std::vector<std::string> inputs, outputs;
    for (auto& io : info.inputs) {
        inputs.push_back(io.name);
        EXPECT_TRUE(io.config_layout == network.get_io_tensor(io.name, LITE_INPUT)->get_layout()) << io.name;
    }
    for (auto& io : info.outputs) {
        outputs.push_back(io.name);
        EXPECT_TRUE(io.config_layout == network.get_io_tensor(io.name, LITE_OUTPUT)->get_layout()) << io.name;
    }
    EXPECT_EQ(inputs, network.get_all_input_name());
    EXPECT_EQ(outputs, network.get_all_output_name());
}

TEST(IoInfo, MatchesTheLoadedNetwork) {
    for (auto& path : {test::classifier(), test::sum_and_difference(), test::reshaper()}) {
        SCOPED_TRACE(path);
        expect_as_loaded(Runtime::get_model_io_info(path), path);
        Octets content = mge::test::read_file(path);
        expect_as_loaded(Runtime::get_model_io_info(content.data(), content.size()), path);
    }
    auto info = Runtime::get_model_io_info(test::classifier());
    ASSERT_EQ(info.outputs.size(), 1u);
    EXPECT_EQ(info.outputs[0].config_layout.ndim, 2u);
    EXPECT_EQ(info.outputs[0].config_layout.shapes[1], 10u);
}

TEST(IoInfo, RunTimeShapesHaveNoDimensions) {
    auto info = Runtime::get_model_io_info(test::picker());
    ASSERT_EQ(info.outputs.size(), 2u);
    EXPECT_EQ(info.outputs[0].name, "positive");
    EXPECT_EQ(info.outputs[0].config_layout.ndim, 0u);
    EXPECT_EQ(info.outputs[1].config_layout.ndim, 1u);
}

TEST(IoInfo, EncryptedModelsNeedTheirCipher) {
    const std::string file = MGE_TEST_DATA "/crypt/mlp.rc4.mge";
    Config config;
    config.bare_model_cryption_name = "RC4_default";
    expect_as_loaded(Runtime::get_model_io_info(file, config), file, config);
    EXPECT_NE(error_of([&] { Runtime::get_model_io_info(file); }), "");
    EXPECT_THAT(error_of([] { Runtime::get_model_io_info("/no/such/model"); }), HasSubstr("/no/such/model"));
    EXPECT_THAT(error_of([] { Runtime::get_model_io_info(nullptr, 5); }), HasSubstr("in memory"));
}

TEST(IoInfo, PackedModelsApplyTheirInformation) {
    const std::string file = MGE_TEST_DATA "/packed/mlp.packed_rc4.lite";
    expect_as_loaded(Runtime::get_model_io_info(file), file);
}

}  // namespace
}  // namespace lite
