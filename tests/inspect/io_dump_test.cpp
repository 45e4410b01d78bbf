// SPDX-License-Identifier: Apache-2.0
// Dumps as MegEngine 1.13.0 wrote them are read; what is written reads back.

#include "libmge/inspect/io_dump/io_dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "libmge/inspect/compare.h"
#include "libmge/inspect/elements.h"
#include "libmge/inspect/io_dump/io_dump_run.h"
#include "libmge/inspect/reference.h"
#include "libmge/mge.h"
#include "tests/base/comma_locale.h"
#include "tests/harness/expect_error.h"
#include "tests/new_folder.h"

namespace mge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string recorded = MGE_TEST_DATA "/oracle/io_dump";

class IoDumpFiles : public testing::Test {
protected:
    void SetUp() override { folder_ = new_folder("mge_io_dump"); }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    std::filesystem::path folder_;
};

// y = relu(x · w), n = number of rows, as a scalar
Graph sample_graph() {
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {2, 3}, {}}, "x");
    InterpreterScope scope(builder);
    std::vector<float> w{1, 2, 3, 4, 5, 6};
    Tensor y = ops::matmul(x, tensor_from_host({DType::f32, {3, 2}, {}}, w.data()));
    builder.set_outputs({ops::relu(y), ops::sum(y)});
    return builder.take();
}

struct Sample {
    explicit Sample(int level = 2) {
        CompileOptions options;
        options.level = level;
        program = Program::compile(sample_graph(), options);
        context = Context::create(program);
        float x[] = {1, 0, -1, 0, 1, 0};
        std::memcpy(context->input(0), x, sizeof x);
    }
    void dump(IoDumpSink& sink) {
        IoDumpRun run(program, sink);
        context->observe(&run);
        context->run();
        context->observe(nullptr);
    }
    std::shared_ptr<const Program> program;
    std::unique_ptr<Context> context;
};

TEST(MegEngineDump, TextIsRead) {
    IoDump dump = read_io_dump(recorded + "/dynamic.io.txt");
    EXPECT_TRUE(dump.is_text);
    ASSERT_EQ(dump.records.size(), 16u);
    auto* y = dump.find("out03");
    ASSERT_TRUE(y);
    EXPECT_EQ(y->id, 35);
    EXPECT_EQ(y->shape, (Shape{3}));
    EXPECT_EQ(y->dtype, "Float32");
    EXPECT_EQ(y->owner_name, "axis_add_rm(Reduce[0])[34]");
    EXPECT_EQ(y->owner_type, "AxisAddRemove");
    EXPECT_THAT(y->inputs, ElementsAre(32));
    EXPECT_THAT(y->head, ElementsAre(0.4375, -1.812, -1.812));
    EXPECT_EQ(y->min, -1.81);
    EXPECT_EQ(y->rms, 1.5);
    auto* one = dump.find("const<0>[4]");
    ASSERT_TRUE(one);
    EXPECT_TRUE(std::isnan(one->deviation)) << "N/A";
}

TEST(MegEngineDump, TextIsComparedBeyondItsElements) {
    IoDump dump = read_io_dump(recorded + "/dynamic.io.txt");
    DumpRecord record = *dump.find("out03");
    auto compare = [&](std::vector<float> got) {
        return compare_with_text(tensor_from_host({DType::f32, {3}, {}}, got.data()), record, {.rtol = 1e-2});
    };
    auto passes = [&](std::vector<float> got) { return compare(std::move(got)).passed(); };
    EXPECT_TRUE(passes({0.4375f, -1.812f, -1.812f}));
    record.head = {0.4375};
    EXPECT_TRUE(passes({0.4375f, -1.812f, -1.812f}));
    for (float other : {-2.f, NAN, INFINITY}) EXPECT_FALSE(passes({0.4375f, -1.812f, other})) << other;
    EXPECT_FALSE(compare({0.4375f, -1.812f, NAN}).largest) << "the dump does not show it";
    record.rms = NAN;
    EXPECT_TRUE(passes({0.4375f, -1.812f, NAN}));
    EXPECT_FALSE(passes({0.4375f, -1.812f, INFINITY}));
    record.rms = INFINITY;
    EXPECT_TRUE(passes({0.4375f, -1.812f, -INFINITY}));
    EXPECT_FALSE(passes({0.4375f, -1.812f, -1.812f}));
    record.has_figures = false;
    record.head = {INFINITY};
    EXPECT_TRUE(passes({INFINITY, 1, 1}));
    EXPECT_FALSE(passes({1, 1, 1}));
    record.head.resize(4, 1);
    EXPECT_FALSE(passes({1, 1, 1}));
}

TEST(MegEngineDump, BinaryIsRead) {
    IoDump dump = read_io_dump(recorded + "/dynamic.io_bin");
    EXPECT_FALSE(dump.is_text);
    ASSERT_EQ(dump.records.size(), 16u);
    auto* product = dump.find("out00");
    ASSERT_TRUE(product);
    EXPECT_EQ(product->file, "00000f");
    EXPECT_EQ(product->id, 15);
    EXPECT_EQ(product->owner_type, "Elemwise");
    EXPECT_THAT(product->inputs, ElementsAre(1, 11));
    ASSERT_EQ(product->value.shape(), (Shape{7}));
    EXPECT_EQ(product->value.data<float>()[0], 1.1875f);
    EXPECT_EQ(dump.find("idx")->value.dtype(), DType::i32);
    EXPECT_EQ(dump.find("asBool(LT[50])[52]")->value.dtype(), DType::boolean);
    // Both dumps are of the same run.
    for (auto& record : read_io_dump(recorded + "/dynamic.io.txt").records) {
        auto* binary = dump.find(record.name);
        ASSERT_TRUE(binary) << record.name;
        EXPECT_EQ(binary->shape, record.shape);
        for (size_t i = 0; i < record.head.size(); ++i)
            EXPECT_NEAR(element_at(binary->value, int64_t(i)), record.head[i],
                        1e-3 * std::abs(record.head[i]))
                << record.name;
    }
}

TEST_F(IoDumpFiles, BinaryReadsBack) {
    Sample sample(0);
    auto sink = binary_dump(folder_.string());
    sample.dump(*sink);
    IoDump dump = read_io_dump(folder_.string());
    ASSERT_EQ(dump.records.size(), 5u) << "x, the weights, and three results";
    for (auto& record : dump.records) {
        EXPECT_EQ(record.file.size(), 6u);
        EXPECT_EQ(record.id, std::stoi(record.file, nullptr, 16));
    }
    auto* x = dump.find("x");
    ASSERT_TRUE(x);
    EXPECT_EQ(x->owner_type, "Host2DeviceCopy");
    EXPECT_EQ(x->value.data<float>()[2], -1);
    auto relu = std::find_if(dump.records.begin(), dump.records.end(),
                             [](auto& r) { return r.owner_type == "relu"; });
    ASSERT_NE(relu, dump.records.end());
    EXPECT_TRUE(compare_tensors(relu->value, sample.context->copy_output(0), {.rtol = 0.0}).passed());
    ASSERT_EQ(relu->inputs.size(), 1u);
    auto sum =
        std::find_if(dump.records.begin(), dump.records.end(), [](auto& r) { return r.owner_type == "sum"; });
    ASSERT_NE(sum, dump.records.end());
    EXPECT_EQ(sum->shape.numel(), 1) << "a scalar is one element";
    EXPECT_EQ(sum->inputs, relu->inputs);
}

TEST_F(IoDumpFiles, TextReadsBack) {
    Sample sample(0);
    {
        std::ofstream file(path("dump.txt"));
        auto sink = text_dump(file);
        sample.dump(*sink);
    }
    IoDump dump = read_io_dump(path("dump.txt"));
    ASSERT_EQ(dump.records.size(), 5u);
    auto& x = dump.records[0];
    EXPECT_EQ(x.name, "x");
    EXPECT_THAT(x.head, ElementsAre(1, 0, -1, 0, 1));
    EXPECT_EQ(x.min, -1);
    auto& product = dump.records[2];
    EXPECT_EQ(product.owner_type, "matmul");
    EXPECT_EQ(product.shape, (Shape{2, 2}));
    EXPECT_THAT(product.inputs, ElementsAre(x.id, dump.records[1].id));
    EXPECT_THAT(product.head, ElementsAre(-4, -4, 3, 4));
    EXPECT_NEAR(product.rms, std::sqrt(57.0 / 4), 0.01);
}

TEST_F(IoDumpFiles, ATextIsTheSameInEveryLanguage) {
    Sample sample(0);
    auto written = [&] {
        std::ostringstream stream;
        auto sink = text_dump(stream);
        sample.dump(*sink);
        DumpedValue value;
        value.self.id = value.self.owner_id = 12345;
        value.value = sample.context->copy_output(1);
        value.self.spec = value.value.spec();
        sink->write(value);
        return stream.str();
    };
    std::string before = written();
    EXPECT_THAT(before, HasSubstr("var12345 "));
    CommaLocale scope;
    EXPECT_EQ(written(), before);
}

TEST_F(IoDumpFiles, OriginsReadBack) {
    Sample sample;
    auto sink = binary_dump(folder_.string());
    sample.dump(*sink);
    std::ofstream file(path("dump.txt"));
    auto texts = text_dump(file);
    sample.dump(*texts);
    file.close();
    std::filesystem::create_directory(folder_ / "text");
    std::filesystem::rename(path("dump.txt"), folder_ / "text/dump.txt");
    for (auto& dump : {read_io_dump(folder_.string()), read_io_dump(path("text/dump.txt"))}) {
        auto relu = std::ranges::find(dump.records, "relu#1", &DumpRecord::name);
        ASSERT_NE(relu, dump.records.end());
        EXPECT_THAT(relu->origin.values, ElementsAre(ValueOrigin{1, 0}));
        EXPECT_THAT(relu->origin.operators, ElementsAre(sample.program->sources()[1]));
        auto* x = dump.find("x");
        ASSERT_TRUE(x);
        EXPECT_TRUE(x->origin.values.empty());
    }
}

TEST_F(IoDumpFiles, AnyNameOfAnOperatorReadsBack) {
    DumpedValue value;
    value.self.id = 3;
    float zero = 0;
    value.value = tensor_from_host({DType::f32, {1}, {}}, &zero);
    value.self.spec = value.value.spec();
    value.origin.values = {{7, 2}, {9, 0}};
    value.origin.operators = {{7, "split", "a/b;c,d {id:3, \\x from=\n", 3, 0xfedcba9876543210},
                              {9, "relu", "", 1, 0}};
    binary_dump(folder_.string())->write(value);
    auto record = read_binary_record(path("000003"));
    EXPECT_EQ(record.origin.values, value.origin.values);
    EXPECT_EQ(record.origin.operators, value.origin.operators);
    EXPECT_TRUE(record.inputs.empty());
}

TEST_F(IoDumpFiles, ADamagedOriginIsAModelError) {
    Sample sample(0);
    std::ostringstream stream;
    auto sink = text_dump(stream);
    sample.dump(*sink);
    for (std::string damage : {"x", "1:", "-1:0", "1:0;relu", "0:0;0/relu/0/1/", "0:0;0/relu/1/g/",
                               "0:0;0//1/1/", "0:0;0/relu/1/1/\\x4", "99999999999:0"}) {
        std::string dump = stream.str();
        size_t at = dump.find(" from: "), end = dump.find('\n', at);
        ASSERT_NE(at, std::string::npos);
        dump.replace(at + 7, end - at - 7, damage);
        std::ofstream(path("dump.txt")) << dump;
        EXPECT_THROW(read_io_dump(path("dump.txt")), ModelError) << damage;
    }
}

TEST_F(IoDumpFiles, EachRunDumpsAgain) {
    Sample sample;
    std::ostringstream stream;
    auto sink = text_dump(stream);
    sample.dump(*sink);
    size_t once = stream.str().size();
    sample.dump(*sink);
    EXPECT_EQ(stream.str().size(), 2 * once);
}

TEST_F(IoDumpFiles, OutputsOfEveryRun) {
    Sample sample;
    OutputDump dump(sample.program, folder_.string());
    sample.context->observe(&dump);
    for (int run = 0; run < 2; ++run) sample.context->run();
    std::vector<std::string> files;
    for (auto& record : read_io_dump(folder_.string()).records) files.push_back(record.file);
    ASSERT_EQ(files.size(), 4u);
    EXPECT_THAT(files[0], testing::StartsWith("run0-var"));
    EXPECT_THAT(files[3], testing::StartsWith("run1-var"));
}

TEST_F(IoDumpFiles, OutputsOfAProgramWithoutSteps) {
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {2, 3}, {}}, "x");
    InterpreterScope scope(builder);
    builder.set_outputs({ops::reshape(x, {.shape = {6}})});
    auto program = Program::compile(builder.take(), CompileOptions{});
    ASSERT_TRUE(program->steps().empty());
    auto context = Context::create(program);
    OutputDump dump(program, folder_.string());
    context->observe(&dump);
    context->run();
    EXPECT_EQ(read_io_dump(folder_.string()).records.size(), 1u);
}

TEST_F(IoDumpFiles, DtypesThatMegEngineCannotReadAreWidened) {
    auto sink = binary_dump(folder_.string());
    bool flags[] = {true, false};
    DumpedValue value;
    value.self.id = 3;
    value.self.name = "na\xc3\xafve";
    value.value = tensor_from_host({DType::boolean, {2}, {}}, flags);
    value.self.spec = value.value.spec();
    sink->write(value);
    DumpRecord record = read_binary_record(path("000003"));
    EXPECT_EQ(record.value.dtype(), DType::u8);
    EXPECT_EQ(record.value.data<uint8_t>()[0], 1);
    EXPECT_EQ(record.name, "na\\xc3\\xafve");
}

TEST_F(IoDumpFiles, DamageIsAModelError) {
    auto bytes = [&](const std::string& name) {
        std::ifstream file(recorded + "/dynamic.io_bin/" + name, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    std::string whole = bytes("00000f");
    // Every prefix, and every header byte changed.
    for (size_t n = 0; n < whole.size(); ++n) {
        std::ofstream(path("cut"), std::ios::binary) << whole.substr(0, n);
        EXPECT_THROW(read_binary_record(path("cut")), ModelError) << n;
    }
    for (size_t i = 0; i < 40; ++i) {
        std::string changed = whole;
        changed[i] = char(changed[i] ^ 0x55);
        std::ofstream(path("changed"), std::ios::binary) << changed;
        EXPECT_THROW(read_binary_record(path("changed")), ModelError) << i;
    }
    std::ofstream(path("text"))
        << "var1 produced: name=x layout={999999999999(1) Float32} owner_opr=a{b} opr0\n";
    EXPECT_THROW(read_io_dump(path("text")), ModelError);
    std::ofstream(path("other")) << "hello";
    EXPECT_FALSE(is_io_dump(path("other")));
    EXPECT_TRUE(is_io_dump(recorded + "/mlp.io.txt"));
}

}  // namespace
}  // namespace mge
