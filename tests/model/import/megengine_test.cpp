// SPDX-License-Identifier: Apache-2.0
// MegEngine's own files: each must give what MegEngine gives. tests/data/megengine/README.md says what they
// are.

#include "libmge/model/import/megengine/megengine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "apps/cli/files/array_file.h"
#include "libmge/base/env.h"
#include "libmge/base/files/file.h"
#include "libmge/compile/program.h"
#include "libmge/device/default_device.h"
#include "libmge/model/open.h"
#include "libmge/op/apply.h"
#include "libmge/ops/shape/concat.h"
#include "megengine_v2_generated.h"

namespace mge {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Arrays = std::map<std::string, Tensor>;

// MGE_MEGENGINE_MODELS: another folder of the same form.
const fs::path folder = env_string("MGE_MEGENGINE_MODELS").value_or(MGE_TEST_DATA "/megengine");

// "mlp.v2" of tests/data/megengine/mlp.v2.mge.
struct File {
    std::string name;
    std::string net() const { return name.substr(0, name.find('.')); }
    std::string variant() const { return name.substr(name.find('.') + 1); }
    std::string path() const { return (folder / (name + ".mge")).string(); }
    bool has(std::string_view part) const { return name.find(part) != std::string::npos; }
};

std::vector<std::string> files() {
    std::vector<std::string> names;
    for (auto& entry : fs::directory_iterator(folder))
        if (entry.path().extension() == ".mge") names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    return names;
}

Arrays read_inputs(const File& file) {
    return cli::read_npz((folder / (file.net() + ".inputs.npz")).string());
}

// Those of the file itself when they differ from the net's.
Arrays read_outputs(const File& file) {
    fs::path own = folder / (file.name + ".outputs.npz"), common = folder / (file.net() + ".outputs.npz");
    return cli::read_npz((fs::exists(own) ? own : common).string());
}

Tensors run(const Graph& graph, const Tensors& inputs) {
    TensorSpecs specs;
    for (auto& input : inputs) specs.push_back(input.spec());
    auto program = Program::compile(infer_shapes(graph, specs), {});
    auto context = Context::create(program);
    for (size_t i = 0; i < inputs.size(); ++i)
        std::memcpy(context->input(i), inputs[i].data(), inputs[i].spec().bytes());
    context->run();
    Tensors outputs;
    for (size_t i = 0; i < program->outputs().size(); ++i) outputs.push_back(context->copy_output(i));
    return outputs;
}

Tensors in_order(const Graph& graph, const Arrays& arrays) {
    Tensors inputs;
    for (ValueId id : graph.inputs()) inputs.push_back(arrays.at(graph.value(id).name));
    return inputs;
}

// Relative to the largest magnitude of the array.
void expect_close(const Tensor& got, const Tensor& expected, double tolerance, const std::string& what) {
    EXPECT_EQ(got.dtype(), expected.dtype()) << what;
    // Dumps forget which scalars were scalars: they come back as vectors of one.
    ASSERT_EQ(got.spec().numel(), expected.spec().numel()) << what << ": " << got.spec();
    if (expected.shape().rank() > 0) {
        ASSERT_EQ(got.shape(), expected.shape()) << what;
    }
    Tensor a = convert_dtype(got, DType::f32), b = convert_dtype(expected, DType::f32);
    double largest = 1e-3;
    for (int64_t i = 0; i < b.spec().numel(); ++i)
        if (double v = std::abs(double(b.data<float>()[i])); std::isfinite(v)) largest = std::max(largest, v);
    for (int64_t i = 0; i < b.spec().numel(); ++i) {
        float x = a.data<float>()[i], y = b.data<float>()[i];
        if (x == y || (std::isnan(x) && std::isnan(y))) continue;
        ASSERT_LE(std::abs(x - y), tolerance * largest) << what << '[' << i << "]: " << x << " for " << y;
    }
}

void expect_outputs(const Tensors& got, const Arrays& expected, double tolerance) {
    ASSERT_EQ(got.size(), expected.size());
    size_t i = 0;
    for (auto& [name, tensor] : expected) expect_close(got[i++], tensor, tolerance, name);
}

class MegEngineFile : public testing::TestWithParam<std::string> {};

// Operators without a counterpart: one error names all of them.
const std::map<std::string, std::vector<std::string>> refused{
    {"chances.v1", {"has 1 operator", "operator 6 (GammaRNG)"}},
    {"chances.v2", {"has 1 operator", "operator 6 'GammaRNG' (GammaRNG)"}},
};

void expect_refusal(const File& file) {
    try {
        open_model(file.path());
        ADD_FAILURE() << "no error";
    } catch (const ModelError& e) {
        EXPECT_THAT(e.what(), HasSubstr(file.path()));
        for (auto& part : refused.at(file.name)) EXPECT_THAT(e.what(), HasSubstr(part));
    }
}

Model reopened(const Model& model) {
    std::ostringstream stream;
    write_model(stream, model);
    auto bytes = std::make_shared<std::string>(stream.str());
    return open_model({std::as_bytes(std::span(*bytes)), bytes, "test.mge"});
}

TEST_P(MegEngineFile, MatchesMegEngine) {
    File file{GetParam()};
    if (refused.contains(file.name)) return expect_refusal(file);
    Model model = open_model(file.path());
    EXPECT_THAT(model.format, HasSubstr("MegEngine V"));
    double tolerance = file.has("io16") || file.has("ioc16") ? 1e-2 : 1e-4;
    for (auto& test : model.test_cases) {
        SCOPED_TRACE(test.name);
        Tensors got = run(model.graph, test.inputs);
        for (size_t i = 0; i < test.outputs.size(); ++i)
            expect_close(got.at(i), test.outputs[i], tolerance, text("output ", i));
    }
    if (file.has("testcase")) {
        EXPECT_FALSE(model.test_cases.empty());
        return;
    }
    Tensors inputs = in_order(model.graph, read_inputs(file));
    Arrays expected = read_outputs(file);
    expect_outputs(run(model.graph, inputs), expected, tolerance);
    SCOPED_TRACE("written as .mge and read again");
    expect_outputs(run(reopened(model).graph, inputs), expected, tolerance);
}

// Twice the samples give twice the results: shapes that a model computes follow its inputs.
TEST(MegEngine, OtherBatchSizesWork) {
    const std::map<std::string, int> batch_axes{
        {"attention.v2", 0},    {"bert.v2", 0},      {"blocked.nchw44", 0}, {"cells.v2", 1},
        {"dense.plain", 0},     {"gru.v1", 0},       {"lenet.v2", 0},       {"lstm.v2", 1},
        {"mixed.v2", 0},        {"mobilenet.v1", 0}, {"resnet.nchw44", 0},  {"resnet.v1_plain", 0},
        {"interpolated.v2", 0}, {"rnn.v1", 1},       {"shuffle.v1", 0},     {"sized.v2", 0},
    };
    for (auto& [name, axis] : batch_axes) {
        SCOPED_TRACE(name);
        File file{name};
        Model model = open_model(file.path());
        Tensors inputs = in_order(model.graph, read_inputs(file)), doubled;
        for (auto& x : inputs) doubled.push_back(ops::concat({x, x}, {.axis = axis}));
        Tensors outputs = run(model.graph, inputs), twice = run(model.graph, doubled);
        int output_axis = outputs[0].shape().rank() == 3 ? axis : 0;
        for (size_t i = 0; i < outputs.size(); ++i)
            expect_close(twice[i], ops::concat({outputs[i], outputs[i]}, {.axis = output_axis}), 1e-5,
                         text("output ", i));
    }
}

// A recurrent layer is unrolled for the steps of the dump.
TEST(MegEngine, WrongStepCountIsRefused) {
    File file{"lstm.v2"};
    Model model = open_model(file.path());
    Tensor x = read_inputs(file).begin()->second;
    EXPECT_THROW(run(model.graph, {ops::concat({x, x})}), UserError);
}

std::string bytes_of(const std::string& name) {
    auto file = MappedFile::open(File{name}.path());
    return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
}

Model open_bytes(const std::string& bytes) {
    auto owner = std::make_shared<std::string>(bytes);
    return open_model({std::as_bytes(std::span(*owner)), owner, "test.mge"});
}

std::string message_of(const std::string& bytes) {
    try {
        open_bytes(bytes);
    } catch (const ModelError& e) {
        return e.what();
    }
    return "no error";
}

TEST(MegEngine, EveryPrefixIsRefused) {
    for (std::string name : {"mlp.v1", "mlp.v2", "mlp.testcase"}) {
        std::string bytes = bytes_of(name);
        for (size_t n = 0; n < bytes.size(); n += n < 64 ? 1 : 29) {
            std::string message = message_of(bytes.substr(0, n));
            ASSERT_THAT(message, HasSubstr("'test.mge")) << name << ' ' << n;
        }
    }
}

// Sizes are multiplied before the extent of 0 is reached.
TEST(MegEngine, ExtentsThatOverflowAreRefused) {
    std::string bytes = bytes_of("mobilenet.v2");
    constexpr uint32_t most = 0xffffffff;
    uint32_t shape[] = {4, 1, 3, 32, 32}, hostile[] = {4, most, most, most, 0};  // the input's, with its rank
    std::string_view wanted(reinterpret_cast<char*>(shape), sizeof shape);
    for (size_t at = bytes.find(wanted); at != std::string::npos; at = bytes.find(wanted))
        std::memcpy(bytes.data() + at, hostile, sizeof hostile);
    EXPECT_THAT(message_of(bytes), HasSubstr("has more elements than memory can hold"));
}

// The extents of a matrix in the weights of an operator are 32 bits each.
TEST(MegEngine, WidthsThatOverflowAreRefused) {
    using Attention = megengine::file::MultiHeadAttn;
    std::string bytes = bytes_of("heads.v2");
    for (auto* op : *megengine::file::v2::GetSizePrefixedModel(bytes.data())->oprs())
        if (auto* attention = op->param_as_MultiHeadAttn()) {
            auto* table = reinterpret_cast<flatbuffers::Table*>(const_cast<Attention*>(attention));
            for (auto field : {Attention::VT_EMBEDING_SIZE, Attention::VT_QPROJ_SIZE})
                table->SetField(field, uint32_t(-1), 0u);
        }
    EXPECT_THAT(message_of(bytes), HasSubstr("a matrix of 4294967295 x 4294967295"));
}

// A thousand operators that share one weight: a small file must not become a large model.
TEST(MegEngine, SharedPartsAreLimited) {
    namespace v2 = megengine::file::v2;
    flatbuffers::FlatBufferBuilder builder;
    auto data = builder.CreateVector(std::vector<uint8_t>(1 << 16));
    auto shape = builder.CreateVector(std::vector<uint32_t>{1 << 14});
    v2::TensorBuilder tensor(builder);
    tensor.add_shape(shape);
    tensor.add_data(data);
    auto tensors = builder.CreateVector(std::vector{tensor.Finish()});
    auto type = builder.CreateString("ImmutableTensor");
    v2::OperatorBuilder op(builder);
    op.add_type(type);
    op.add_tensors(tensors);
    auto operators = builder.CreateVector(std::vector(1000, op.Finish()));
    v2::ModelBuilder model(builder);
    model.add_oprs(operators);
    v2::FinishSizePrefixedModelBuffer(builder, model.Finish());
    std::string bytes(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
    EXPECT_THAT(message_of(bytes), HasSubstr("its tables refer to the same parts too often"));
}

// A quantised dtype has no counterpart whose size the decoder could compare.
TEST(MegEngine, QuantisedConstantsHaveTheirSize) {
    namespace file = megengine::file;
    namespace v2 = file::v2;
    flatbuffers::FlatBufferBuilder builder;
    auto scale = file::CreateLinearQuantizationParam(builder, 0.5f);
    auto dtype = file::CreateDType(builder, file::DTypeEnum::QuantizedS8,
                                   file::DTypeParam::LinearQuantizationParam, scale.Union());
    auto data = builder.CreateVector(std::vector<uint8_t>(16));
    auto shape = builder.CreateVector(std::vector<uint32_t>{1 << 14});
    v2::TensorBuilder tensor(builder);
    tensor.add_dtype(dtype);
    tensor.add_shape(shape);
    tensor.add_data(data);
    auto tensors = builder.CreateVector(std::vector{tensor.Finish()});
    auto type = builder.CreateString("ImmutableTensor");
    auto outputs = builder.CreateVector(std::vector<uint32_t>{0});
    v2::OperatorBuilder op(builder);
    op.add_type(type);
    op.add_tensors(tensors);
    op.add_outputs(outputs);
    auto operators = builder.CreateVector(std::vector{op.Finish()});
    auto last = builder.CreateVector(std::vector{v2::CreateOutputVar(builder, 0, 0)});
    v2::ModelBuilder model(builder);
    model.add_oprs(operators);
    model.add_output_vars_idx(last);
    v2::FinishSizePrefixedModelBuffer(builder, model.Finish());
    std::string bytes(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
    EXPECT_THAT(message_of(bytes), HasSubstr("16 bytes for a constant of shape"));
}

TEST(MegEngine, QuantisedNetsRunAsIntegers) {
    Model model = open_model(File{"quantized.v2"}.path());
    std::map<std::string_view, int> counts;
    for (auto& node : model.graph.nodes()) ++counts[node.op->name];
    EXPECT_EQ(counts["quantized_conv2d"], 2);
    EXPECT_EQ(counts["conv2d"], 0);
    for (auto& value : model.graph.values()) {
        if (value.name != "a.weight" && value.name != "fc.weight") continue;
        EXPECT_EQ(value.spec.dtype, DType::i8);
    }
}

// Operators of the given types, each reading what the one before made, the first of them an input "x" (2, 3).
std::string chain_of(const std::vector<std::string>& types) {
    namespace v2 = megengine::file::v2;
    flatbuffers::FlatBufferBuilder builder;
    auto shape = builder.CreateVector(std::vector<uint32_t>{2, 3});
    auto tensor = v2::CreateTensor(builder, builder.CreateString("x"), shape);
    std::vector<flatbuffers::Offset<v2::Operator>> operators;
    for (uint32_t i = 0; i < types.size() + 1; ++i) {
        auto type = builder.CreateString(i ? types[i - 1] : "Host2DeviceCopy");
        auto tensors = builder.CreateVector(std::vector(i ? 0 : 1, tensor));
        auto inputs = builder.CreateVector(i ? std::vector<uint32_t>{i - 1} : std::vector<uint32_t>{});
        auto outputs = builder.CreateVector(std::vector<uint32_t>{i});
        v2::OperatorBuilder op(builder);
        op.add_type(type);
        op.add_inputs(inputs);
        op.add_outputs(outputs);
        op.add_tensors(tensors);
        operators.push_back(op.Finish());
    }
    auto list = builder.CreateVector(operators);
    auto last = v2::CreateOutputVar(builder, uint32_t(types.size()), uint32_t(types.size()));
    auto outputs = builder.CreateVector(std::vector{last});
    v2::ModelBuilder model(builder);
    model.add_oprs(list);
    model.add_output_vars_idx(outputs);
    v2::FinishSizePrefixedModelBuffer(builder, model.Finish());
    return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

TEST(MegEngine, EveryOperatorWithoutCounterpartIsNamed) {
    EXPECT_EQ(message_of(chain_of({"Identity"})), "no error");
    std::string message = message_of(chain_of({"NvOf", "Identity", "Loop", "SomethingOfTomorrow"}));
    for (auto part : {"has 3 operators that are not supported", "operator 1 (NvOf); ", "operator 3 (Loop); ",
                      "operator 4 (SomethingOfTomorrow)"})
        EXPECT_THAT(message, HasSubstr(part));
}

TEST(MegEngine, InvalidFilesAreNamed) {
    EXPECT_THAT(message_of("just text"), HasSubstr("not a model this program knows: it has 9 bytes"));
    EXPECT_THAT(message_of("mgb0001 and more"), HasSubstr("its format 'mgb0001' is older"));
    EXPECT_THAT(message_of(""), HasSubstr("it has 0 bytes"));
}

TEST(MegEngine, BytesMayBeUnaligned) {
    for (std::string name : {"mlp.v1", "mlp.v2"}) {
        auto bytes = std::make_shared<std::string>("x" + bytes_of(name));
        Model model = open_model({std::as_bytes(std::span(*bytes)).subspan(1), bytes, "test.mge"});
        Arrays inputs = read_inputs(File{name});
        expect_outputs(run(model.graph, in_order(model.graph, inputs)), read_outputs(File{name}), 1e-4);
    }
}

// The shorter header of files for version 8.14.
TEST(MegEngine, CompatibleHeaderIsRead) {
    std::string bytes = bytes_of("mlp.v1"), compatible = "MGBS";
    compatible += std::string(4, '\0') + bytes.substr(16);
    Model model = open_bytes(compatible);
    Tensors inputs = in_order(model.graph, read_inputs(File{"mlp.v1"}));
    expect_outputs(run(model.graph, inputs), read_outputs(File{"mlp.v1"}), 1e-4);
}

TEST(MegEngine, MetadataIsRead) {
    auto metadata = open_model(File{"mlp.user_info"}.path()).metadata;
    EXPECT_EQ(metadata.at("megengine_version"), "1.13.0");
    EXPECT_EQ(metadata.at("user_info"), R"({"note": "hello", "labels": [1, 2, 3]})");
    EXPECT_EQ(metadata.at("optimize_options"), "fuse_grain");
    metadata = open_model(File{"resnet.nchw44"}.path()).metadata;
    EXPECT_EQ(metadata.at("optimize_options"), "fuse_grain layout=nchw44");
    EXPECT_FALSE(metadata.contains("user_info"));
    EXPECT_FALSE(open_model(File{"mlp.no_metadata"}.path()).metadata.contains("optimize_options"));
}

TEST(MegEngine, AssertionsBecomeTestCases) {
    for (std::string name : {"mlp.testcase", "mlp.v1_testcase"}) {
        Model model = open_model(File{name}.path());
        ASSERT_EQ(model.test_cases.size(), 1u);
        EXPECT_EQ(model.test_cases[0].outputs.size(), 1u);
        ASSERT_EQ(model.graph.inputs().size(), 1u);
        EXPECT_EQ(model.graph.value(model.graph.inputs()[0]).name, "data");
        EXPECT_EQ(model.graph.value(model.graph.outputs()[0]).name, "out00");
    }
    EXPECT_TRUE(open_model(File{"mlp.testcase_no_assert"}.path()).test_cases.at(0).outputs.empty());
}

TEST(MegEngine, NamesAreKept) {
    for (std::string name : {"mlp.names", "mlp.v1_names"}) {
        Model model = open_model(File{name}.path());
        std::set<std::string> constants, nodes;
        for (auto& value : model.graph.values())
            if (value.is_constant()) constants.insert(value.name);
        for (auto& node : model.graph.nodes()) nodes.insert(node.name);
        EXPECT_TRUE(constants.contains("0.weight")) << name;
        EXPECT_TRUE(nodes.contains("0.MatrixMul")) << name;
    }
}

// A net may give an input back, which has two names then.
TEST(MegEngine, InputReturnedAsOutputHasTheOutputsName) {
    for (std::string name : {"passing.v1", "passing.v2"}) {
        Graph graph = open_model(File{name}.path()).graph;
        EXPECT_EQ(graph.value(graph.inputs().at(0)).name, "x") << name;
        EXPECT_EQ(graph.value(graph.outputs().at(0)).name, "out00") << name;
        EXPECT_EQ(graph.value(graph.outputs().at(1)).name, "out01") << name;
    }
}

INSTANTIATE_TEST_SUITE_P(All, MegEngineFile, testing::ValuesIn(files()), [](auto& info) {
    std::string name = info.param;
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
});

}  // namespace
}  // namespace mge
