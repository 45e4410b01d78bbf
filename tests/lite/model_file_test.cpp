// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

#include "libmge/compile/program.h"
#include "libmge/device/device.h"
#include "libmge/model/crypt/encrypted_file.h"
#include "libmge/model/pack.h"
#include "lite/global.h"
#include "tests/lite/lite_error.h"
#include "tests/model/crypt/crypt_samples.h"
#include "tests/model/sample_models.h"

namespace lite {
namespace {

using mge::test::Octets;
using mge::test::read_file;
using mge::test::write_file;
using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

const std::string data_folder = MGE_TEST_DATA "/";
const std::string mlp = data_folder + "megengine/mlp.v2.mge";

// The name of a cipher and a file in it of the same model.
const std::pair<std::string, std::string> encrypted_files[] = {
    {"AES_default", data_folder + "crypt/mlp.aes.mge"},
    {"RC4_default", data_folder + "crypt/mlp.rc4.mge"},
    {"SIMPLE_FAST_RC4_default", data_folder + "crypt/mlp.simple_fast_rc4.mge"},
};

Configuration with_cipher(const std::string& name) {
    Configuration configuration;
    configuration.config.bare_model_cryption_name = name;
    return configuration;
}

// A key as users give it.
std::vector<uint8_t> octets(std::span<const std::byte> bytes) {
    auto* first = reinterpret_cast<const uint8_t*>(bytes.data());
    return {first, first + bytes.size()};
}

// The results of a model's program for inputs that depend only on their position.
std::vector<std::vector<float>> outputs_of(const mge::Model& model) {
    auto context = mge::Context::create(mge::Program::compile(model.graph, {}));
    mge::Tensors inputs;
    for (auto id : model.graph.inputs()) {
        auto& spec = model.graph.value(id).spec;
        std::vector<float> values(size_t(spec.shape.numel()));
        for (size_t i = 0; i < values.size(); ++i) values[i] = float(i % 7) - 3;
        inputs.push_back(mge::tensor_from_host(spec, values.data(), {}));
    }
    context->fill_inputs(inputs);
    context->run();
    std::vector<std::vector<float>> results;
    for (size_t i = 0; i < model.graph.outputs().size(); ++i) {
        auto tensor = context->output(i);
        auto* first = static_cast<const float*>(tensor.data());
        results.emplace_back(first, first + tensor.spec().numel());
    }
    return results;
}

class ModelFiles : public mge::test::InFolder {
protected:
    // A packed model of the MLP with this information.
    std::string packed(const std::string& info, const std::string& cipher = "NONE",
                       const std::string& cache = {}) {
        mge::pack_model(
            mlp, path("packed"),
            {.name = "net", .info = info, .cache = cache, .model_cipher = cipher, .info_cipher = cipher});
        return path("packed");
    }
};

TEST_F(ModelFiles, EveryKindLoadsFromFilesAndMemory) {
    write_file(path("own"), {});
    mge::write_model(path("own"), mge::sample_models()[3]);
    for (auto& [file, format] : {std::pair{data_folder + "megengine/mlp.v1.mge", "MegEngine V1"},
                                 {mlp, "MegEngine V2"},
                                 {data_folder + "megengine/mlp.testcase.mge", "MegEngine V2"},
                                 {data_folder + "packed/mlp.packed.lite", "packed MegEngine V2"},
                                 {data_folder + "packed/mlp.packed_rc4.lite", "packed MegEngine V2"},
                                 {path("own"), "mge"}}) {
        SCOPED_TRACE(file);
        auto read = read_model_file(file, {});
        EXPECT_THAT(read.model.format, HasSubstr(format));
        Octets content = read_file(file);
        // At any address.
        Octets shifted(content.size() + 1);
        std::ranges::copy(content, shifted.begin() + 1);
        auto from_memory = read_model_file(shifted.data() + 1, content.size(), {});
        EXPECT_EQ(outputs_of(from_memory.model), outputs_of(read.model));
    }
}

TEST_F(ModelFiles, MegEngineCiphersNeedOnlyTheirName) {
    auto expected = outputs_of(read_model_file(mlp, {}).model);
    for (auto& [cipher, file] : encrypted_files) {
        SCOPED_TRACE(cipher);
        EXPECT_EQ(outputs_of(read_model_file(file, with_cipher(cipher)).model), expected);
        Octets content = read_file(file);
        EXPECT_EQ(outputs_of(read_model_file(content.data(), content.size(), with_cipher(cipher)).model),
                  expected);
        EXPECT_THAT(error_of([&] { read_model_file(file, {}); }), HasSubstr("name its cipher"));
    }
}

TEST_F(ModelFiles, WrongCipherIsRefused) {
    for (auto& [cipher, file] : encrypted_files) {
        EXPECT_NE(error_of([&] { read_model_file(mlp, with_cipher(cipher)); }), "") << cipher;
        for (auto& [other, other_file] : encrypted_files)
            if (other != cipher) {
                EXPECT_NE(error_of([&] { read_model_file(file, with_cipher(other)); }), "");
            }
    }
    EXPECT_THAT(error_of([] { read_model_file(mlp, with_cipher("RC4_default")); }),
                HasSubstr("wrong key, or a damaged RC4_default file"));
    EXPECT_THAT(error_of([] { read_model_file(mlp, with_cipher("none such")); }),
                AllOf(HasSubstr("'none such'"), HasSubstr("AES_default"), HasSubstr("aes-256-gcm"),
                      HasSubstr("SIMPLE_FAST_RC4_default")));
}

TEST_F(ModelFiles, OwnEnvelopeLoads) {
    auto key = mge::test::key_of(3);
    mge::encrypt_file(mlp, path("sealed"), {mge::container_cipher, mge::provide_key(key.copy())});
    EXPECT_THAT(error_of([&] { read_model_file(path("sealed"), {}); }),
                HasSubstr("update_decryption_or_key(\"aes-256-gcm\""));
    EXPECT_THAT(error_of([] { update_decryption_or_key("aes-256-gcm", {}, std::vector<uint8_t>(16)); }),
                HasSubstr("32 bytes"));
    update_decryption_or_key("aes-256-gcm", {}, std::vector<uint8_t>(32));
    EXPECT_NE(error_of([&] { read_model_file(path("sealed"), {}); }), "");
    update_decryption_or_key("aes-256-gcm", {}, octets(key));
    auto expected = outputs_of(read_model_file(mlp, {}).model);
    EXPECT_EQ(outputs_of(read_model_file(path("sealed"), {}).model), expected);
    EXPECT_EQ(outputs_of(read_model_file(path("sealed"), with_cipher("aes-256-gcm")).model), expected);
    EXPECT_NE(error_of([&] { read_model_file(path("sealed"), with_cipher("AES_default")); }), "");
    // Plain models are still opened, and packed ones inside are configured by their information.
    read_model_file(mlp, {});
    packed(R"({"extra_info": 1})");
    mge::encrypt_file(path("packed"), path("sealed"), {mge::container_cipher, mge::provide_key(key.copy())});
    EXPECT_EQ(read_model_file(path("sealed"), {}).extra_info, "1");
}

TEST_F(ModelFiles, InformationIsApplied) {
    packed(R"({"version": "1.0.0", "has_compression": false, "backend": "MGE",
        "device": {"type": "CPU", "device_id": 2, "number_threads": 3, "enable_inplace_model": true,
                   "use_tensorrt": false},
        "options": {"weight_preprocess": true, "fuse_preprocess": true, "fake_next_exec": true,
                    "var_sanity_check_first_run": false, "const_shape": true, "force_dynamic_alloc": true,
                    "force_output_dynamic_alloc": true, "no_profiling_on_shape_change": true, "jit_level": 1,
                    "comp_node_seq_record_level": 2, "graph_opt_level": 3, "async_exec_level": 0},
        "IO": {"inputs": [{"name": "data", "is_host": true,
                           "shape": {"dim0": 2, "dim1": 8, "dim3": 9}, "dtype": "float32"}],
               "outputs": [{"name": "score", "io_type": "shape"}]},
        "extra_info": {"classes": ["a", "b"]}})");
    auto read = read_model_file(path("packed"), {});
    auto& c = read.configuration;
    EXPECT_EQ(c.config.device_id, 2);
    EXPECT_EQ(c.config.device_type, LITE_CPU);
    EXPECT_EQ(c.threads, 3u);
    EXPECT_TRUE(c.is_in_place);
    auto& o = c.config.options;
    EXPECT_TRUE(o.weight_preprocess && o.fuse_preprocess && o.fake_next_exec && o.const_shape &&
                o.force_dynamic_alloc && o.force_output_dynamic_alloc && o.no_profiling_on_shape_change);
    EXPECT_FALSE(o.var_sanity_check_first_run);
    EXPECT_EQ(o.jit_level, 1);
    EXPECT_EQ(o.comp_node_seq_record_level, 2);
    EXPECT_EQ(o.graph_opt_level, 3);
    EXPECT_EQ(o.async_exec_level, 0);
    ASSERT_EQ(c.io.inputs.size(), 1u);
    EXPECT_EQ(c.io.inputs[0].name, "data");
    EXPECT_EQ(c.io.inputs[0].config_layout, (Layout{{2, 8}, 2, LITE_FLOAT}));
    ASSERT_EQ(c.io.outputs.size(), 1u);
    EXPECT_EQ(c.io.outputs[0].io_type, LITE_IO_SHAPE);
    EXPECT_EQ(read.extra_info, R"({"classes":["a","b"]})");
}

TEST_F(ModelFiles, InformationOverridesNamedSettings) {
    packed(
        R"({"device": {"type": "CPU"}, "IO": {"inputs": [{"name": "b", "is_host": false}, {"name": "c"}]}})",
        "RC4_default");
    Configuration given;
    given.config.device_id = 5;
    given.threads = 2;
    given.io.inputs = {{"a"}, {"b", true, LITE_IO_VALUE, {{7}, 1, LITE_INT}}};
    auto c = read_model_file(path("packed"), given).configuration;
    EXPECT_EQ(c.config.device_id, 5);
    EXPECT_EQ(c.threads, 2u);
    ASSERT_EQ(c.io.inputs.size(), 3u);
    EXPECT_FALSE(c.io.inputs[1].is_host);
    EXPECT_EQ(c.io.inputs[1].config_layout, (Layout{{7}, 1, LITE_INT}));
    EXPECT_EQ(c.io.inputs[2].name, "c");
}

TEST_F(ModelFiles, InformationMayBeIgnored) {
    write_file(path("cache"), mge::bytes_of(std::string_view("\0\0\0\0", 4)));
    packed(R"({"device": {"type": "CPU", "device_id": 2, "use_tensorrt": true}, "extra_info": 7})", "NONE",
           path("cache"));
    EXPECT_THAT(error_of([&] { read_model_file(path("packed"), {}); }),
                AllOf(HasSubstr("TensorRT"), HasSubstr("disable_configure_by_model_info")));
    auto read = read_model_file(path("packed"), {}, false);
    EXPECT_EQ(read.configuration.config.device_id, 0);
    EXPECT_EQ(read.extra_info, "");
    EXPECT_TRUE(read.fastrun_cache.empty());
    packed(R"({"device": {"type": "CPU", "device_id": 2}, "valid": false})", "NONE", path("cache"));
    read = read_model_file(path("packed"), {});
    EXPECT_EQ(read.configuration.config.device_id, 0);
    EXPECT_EQ(read.fastrun_cache, std::vector<uint8_t>(4));
}

TEST_F(ModelFiles, InvalidInformationIsReported) {
    const std::pair<const char*, const char*> wrong[] = {
        {R"({"options": {"jit_level": 256}})", "options needs a whole number from 0 to 255 as jit_level"},
        {R"({"options": {"jit_level": -1}})", "jit_level"},
        {R"({"options": {"const_shape": 1}})", "options needs true or false as const_shape"},
        {R"({"options": []})", "options must be an object"},
        {R"({"device": {}})", "device needs a type: CPU, CUDA, ATLAS, CAMBRICON, NPU"},
        {R"({"device": {"type": "TPU"}})", "device has 'TPU' as type; there are CPU"},
        {R"({"device": {"type": "CPU", "device_id": 4294967296}})", "device_id"},
        {R"({"device": {"type": "CPU", "number_threads": -2}})", "number_threads"},
        {R"({"device": {"type": "CPU", "number_threads": 1e3}})", "number_threads"},
        {R"({"backend": "other"})", "there are MGE"},
        {R"({"has_compression": "yes"})", "has_compression"},
        {R"({"version": "one"})", "major.minor.patch"},
        {R"({"IO": {"inputs": {}}})", "IO needs a list as inputs"},
        {R"({"IO": {"inputs": [3]}})", "IO.inputs[0] must be an object"},
        {R"({"IO": {"inputs": [{}]}})", "IO.inputs[0] needs a name"},
        {R"({"IO": {"inputs": [{"name": "a"}, {"name": "a"}]}})", "IO.inputs[1] repeats the name 'a'"},
        {R"({"IO": {"outputs": [{"name": "a", "io_type": "both"}]}})", "there are value, shape"},
        {R"({"IO": {"outputs": [{"name": "a", "dtype": "float64"}]}})", "float32, float16"},
        {R"({"IO": {"inputs": [{"name": "a", "shape": {"dim0": 0}}]}})", "IO.inputs[0].shape"},
        {R"({"IO": {"inputs": [{"name": "a", "shape": {"dim0": -5}}]}})", "IO.inputs[0].shape"},
        {R"({"IO": {"inputs": [{"name": "a", "shape": {"dim0": 9000000000000000000, "dim1": 9}}]}})",
         "shape"},
    };
    for (auto [info, message] : wrong) {
        packed(info);
        EXPECT_THAT(error_of([&] { read_model_file(path("packed"), {}); }),
                    AllOf(HasSubstr(message), HasSubstr(path("packed"))))
            << info;
    }
}

TEST_F(ModelFiles, CustomInformationParserIsUsed) {
    packed(R"({"version": "1.0.0"})");
    Octets file = read_file(path("packed"));
    auto name = mge::bytes_of("LITE_default");
    auto at = std::search(file.begin(), file.end(), name.begin(), name.end());
    ASSERT_TRUE(at != file.end());
    std::ranges::copy(mge::bytes_of("test_default"), at);
    write_file(path("other"), file);
    EXPECT_THAT(error_of([&] { read_model_file(path("other"), {}); }),
                AllOf(HasSubstr("'test_default'"), HasSubstr("LITE_default")));
    std::string model;
    register_parse_info_func("test_default",
                             [&](const void* info, size_t size, const std::string& name, Config& config,
                                 NetworkIO& io, auto& isolated, std::string& extra) {
                                 model = name;
                                 extra = std::string(static_cast<const char*>(info), size);
                                 config.auto_optimize_inference = true;
                                 io.outputs.push_back({"only"});
                                 isolated["device_id"] = int32_t(3);
                                 isolated["nr_threads"] = uint32_t(4);
                                 isolated["is_inplace_mode"] = true;
                                 return true;
                             });
    auto read = read_model_file(path("other"), {});
    EXPECT_EQ(model, "net");
    EXPECT_THAT(read.extra_info, HasSubstr("\"name\":\"net\""));
    EXPECT_TRUE(read.configuration.config.auto_optimize_inference);
    EXPECT_EQ(read.configuration.config.device_id, 3);
    EXPECT_EQ(read.configuration.threads, 4u);
    EXPECT_TRUE(read.configuration.is_in_place);
    EXPECT_EQ(read.configuration.io.outputs.at(0).name, "only");
    EXPECT_THAT(error_of([] { register_parse_info_func("test_default", [](auto&&...) { return true; }); }),
                HasSubstr("already a parser"));
    EXPECT_NE(error_of([] { register_parse_info_func("LITE_default", [](auto&&...) { return true; }); }), "");
    EXPECT_NE(error_of([] { register_parse_info_func("empty", {}); }), "");
}

TEST_F(ModelFiles, MissingOrDamagedFilesAreErrors) {
    EXPECT_THAT(error_of([&] { read_model_file(path("missing"), {}); }),
                AllOf(HasSubstr(path("missing")), HasSubstr("No such file")));
    EXPECT_NE(error_of([&] { read_model_file(folder_.string(), {}); }), "");
    EXPECT_NE(error_of([] { read_model_file(nullptr, 8, {}); }), "");
    EXPECT_NE(error_of([] { read_model_file("", 0, {}); }), "");
    std::mt19937 random(5);
    packed(R"({"version": "1.0.0", "device": {"type": "CPU"}})");
    for (auto& [file, cipher] :
         {std::pair{path("packed"), std::string()}, {mlp, {}}, {encrypted_files[0].second, "AES_default"}}) {
        Octets good = read_file(file);
        for (int n = 0; n < 300; ++n) {
            Octets bad = good;
            for (int k = 0; k < 3; ++k) bad[random() % bad.size()] ^= std::byte(1 << random() % 8);
            if (n % 3 == 0) bad.resize(random() % bad.size());
            error_of([&] { read_model_file(bad.data(), bad.size(), with_cipher(cipher)); });
        }
    }
}

// As hostile as text of this size can be.
TEST_F(ModelFiles, InformationDoesNotExhaustMemory) {
    std::string deep(50'000, '['), wide = "[0" + std::string(400'000, ',');
    for (auto& text : {deep, wide}) {
        std::string info =
            R"({"valid": true, "name": "net", "version": "1.0.0", "extra_info": )" + text + "}";
        mge::PackedParts parts{"net", "NONE", "NONE", "LITE_default", "", false, mge::bytes_of(info),
                               {},    {},     {}};
        Octets model = read_file(mlp);
        parts.model = model;
        mge::write_packed(path("hostile"), parts);
        EXPECT_NE(error_of([&] { read_model_file(path("hostile"), {}); }), "");
    }
}

}  // namespace
}  // namespace lite
