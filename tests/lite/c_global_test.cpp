// SPDX-License-Identifier: Apache-2.0
// Functions of the process, and metadata of models, through the C interface.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "lite-c/global_c.h"
#include "tests/lite/c_models.h"

namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

class LiteModelInfoInC : public testing::Test {
protected:
    LiteModelInfoInC() {
        EXPECT_EQ(make_folder(folder_, sizeof folder_), 0);
        EXPECT_EQ(write_classifier(path("classifier.mge").c_str(), 1), 0);
        EXPECT_EQ(write_sum_and_difference(path("sum.mge").c_str()), 0);
    }
    ~LiteModelInfoInC() override { remove_folder(folder_); }
    std::string path(const std::string& name) const { return std::string(folder_) + "/" + name; }

private:
    char folder_[256];
};

TEST_F(LiteModelInfoInC, ArraysLiveUntilTheNextQueryOfTheirAddress) {
    std::string file = path("sum.mge"), other = path("classifier.mge");
    LiteNetworkIO by_path{}, by_other{}, by_memory{};
    ASSERT_EQ(LITE_get_model_io_info_by_path(file.c_str(), *default_config(), &by_path), 0)
        << LITE_get_last_error();
    ASSERT_EQ(LITE_get_model_io_info_by_path(other.c_str(), *default_config(), &by_other), 0);
    std::string model = content_of(file);
    ASSERT_EQ(LITE_get_model_io_info_by_memory(model.data(), model.size(), *default_config(), &by_memory), 0);
    for (auto& io : {by_path, by_memory}) {
        ASSERT_EQ(io.input_size, 2u);
        ASSERT_EQ(io.output_size, 2u);
        EXPECT_STREQ(io.inputs[1].name, "b");
        EXPECT_STREQ(io.outputs[0].name, "sum");
        EXPECT_EQ(io.outputs[0].config_layout.shapes[0], 4u);
    }
    EXPECT_STREQ(by_other.inputs[0].name, "data");
    EXPECT_EQ(LITE_get_model_io_info_by_path(path("none.mge").c_str(), *default_config(), &by_path), -1);
    EXPECT_THAT(LITE_get_last_error(), HasSubstr("none.mge"));
    EXPECT_EQ(LITE_get_model_io_info_by_memory("no model", 8, *default_config(), &by_path), -1);
    EXPECT_STREQ(by_other.inputs[0].name, "data");
}

TEST_F(LiteModelInfoInC, RepeatedQueriesDoNotGrowMemory) {
    constexpr size_t some = 1200;
    std::string file = path("sum.mge");
    std::vector<std::string> addresses(3 * some, file);
    LiteNetworkIO info{};
    auto query = [&](size_t round) {
        for (size_t i = round * some; i < (round + 1) * some; ++i)
            ASSERT_EQ(LITE_get_model_io_info_by_path(addresses[i].c_str(), *default_config(), &info), 0);
    };
    query(0);
    size_t before = mallinfo2().uordblks;
    query(1);
    query(2);
    EXPECT_LT(mallinfo2().uordblks, before + some * sizeof(LiteIO));
    EXPECT_STREQ(info.inputs[0].name, "a");
}

void refused(int code, const char* what) {
    EXPECT_EQ(code, -1) << what;
    EXPECT_THAT(LITE_get_last_error(), StartsWith("Error: LITE_")) << what;
    EXPECT_THAT(LITE_get_last_error(), HasSubstr(std::string("'") + what + "' is null"));
}

size_t any_cipher(const void*, size_t, const uint8_t*, size_t, uint8_t*) { return 0; }

TEST(LiteProcessInC, RefusesNullArguments) {
    LiteNetworkIO io{};
    int number = 0;
    uint8_t key = 0;
    void* physical = nullptr;
    refused(LITE_get_version(nullptr, &number, &number), "major");
    refused(LITE_get_version(&number, nullptr, &number), "minor");
    refused(LITE_get_version(&number, &number, nullptr), "patch");
    refused(LITE_get_device_count(LITE_CPU, nullptr), "count");
    refused(LITE_register_decryption_and_key(nullptr, any_cipher, &key, 1), "decrypt_name");
    refused(LITE_register_decryption_and_key("x", nullptr, &key, 1), "func");
    refused(LITE_register_decryption_and_key("x", any_cipher, nullptr, 1), "key_data");
    refused(LITE_update_decryption_or_key(nullptr, any_cipher, &key, 1), "decrypt_name");
    refused(LITE_register_parse_info_func(nullptr, nullptr), "info_type");
    refused(LITE_register_parse_info_func("x", nullptr), "func");
    refused(LITE_set_loader_lib_path(nullptr), "loader_path");
    refused(LITE_set_persistent_cache(nullptr, 0), "cache_path");
    refused(LITE_dump_persistent_cache(nullptr), "cache_path");
    refused(LITE_set_tensor_rt_cache(nullptr), "tensorrt_cache_path");
    refused(LITE_get_log_level(nullptr), "level");
    refused(LITE_register_memory_pair(nullptr, &key, 1, LITE_CPU, LITE_DEFAULT), "vir_ptr");
    refused(LITE_register_memory_pair(&key, nullptr, 1, LITE_CPU, LITE_DEFAULT), "phy_ptr");
    refused(LITE_clear_memory_pair(nullptr, &key, LITE_CPU, LITE_DEFAULT), "vir_ptr");
    refused(LITE_clear_memory_pair(&key, nullptr, LITE_CPU, LITE_DEFAULT), "phy_ptr");
    refused(LITE_lookup_physic_ptr(nullptr, &physical, LITE_CPU, LITE_DEFAULT), "vir_ptr");
    refused(LITE_lookup_physic_ptr(&key, nullptr, LITE_CPU, LITE_DEFAULT), "phy_ptr");
    refused(LITE_get_model_io_info_by_path(nullptr, *default_config(), &io), "model_path");
    refused(LITE_get_model_io_info_by_path("x", *default_config(), nullptr), "ios");
    refused(LITE_get_model_io_info_by_memory(nullptr, 1, *default_config(), &io), "model_mem");
    refused(LITE_get_model_io_info_by_memory("x", 1, *default_config(), nullptr), "ios");
}

std::set<std::string> names_in(const std::string& text, const char* pattern) {
    std::set<std::string> names;
    std::regex form(pattern);
    for (std::sregex_iterator it(text.begin(), text.end(), form), end; it != end; ++it)
        names.insert((*it)[1]);
    return names;
}

TEST(LiteFunctionsInC, AreAllCalledByTheCProgram) {
    std::string folder = MGE_SOURCE_FOLDER, headers;
    for (auto* name : {"global_c.h", "network_c.h", "tensor_c.h"})
        headers += content_of(folder + "/libmge/lite/include/lite-c/" + name);
    auto declared = names_in(headers, R"((LITE_[a-z_]+)\()");
    std::string program;
    for (auto* name : {"all_functions.c", "c_program.c"})
        program += content_of(folder + "/tests/lite/" + name);
    auto called = names_in(program, R"((LITE_[a-z_]+)\()");
    EXPECT_GT(declared.size(), 80u);
    for (auto& name : declared) EXPECT_TRUE(called.contains(name)) << name;
}

}  // namespace
