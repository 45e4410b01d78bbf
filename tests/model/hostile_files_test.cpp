// SPDX-License-Identifier: Apache-2.0
// Small files that ask for much, and likenesses of what was found in other engines' loaders. Each is made
// with checksums that fit, so that nothing but the check in question refuses it; and each has to be refused
// at once and with little memory.

#include <flatbuffers/flatbuffers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <numeric>
#include <sstream>

#include "libmge/base/files/file_limit.h"
#include "libmge/base/hash.h"
#include "libmge/compile/program.h"
#include "libmge/device/default_device.h"
#include "libmge/model/container.h"
#include "libmge/model/model.h"
#include "libmge/model/open.h"
#include "libmge/ops/all.h"
#include "mge_generated.h"
#include "tests/model/sample_models.h"

namespace mge {
namespace {

using flatbuffers::FlatBufferBuilder;
using testing::HasSubstr;
template <class T>
using Offset = flatbuffers::Offset<T>;

constexpr size_t largest_rise = size_t(64) << 20;

size_t peak_resident() {
#ifdef __SANITIZE_THREAD__
    return 0;  // it would include the sanitizer's shadow of the memory
#else
    rusage usage;
    ::getrusage(RUSAGE_SELF, &usage);
    return size_t(usage.ru_maxrss) << 10;
#endif
}

std::string message_of(const std::string& bytes) {
    auto storage = std::make_shared<StorageRef>(queue_of({}).allocate(bytes.size() + 1));
    std::memcpy((*storage)->data, bytes.data(), bytes.size());
    std::span image(static_cast<const std::byte*>((*storage)->data), bytes.size());
    try {
        open_model({image, storage, "test.mge"});
    } catch (const ModelError& e) {
        return e.what();
    }
    return "no error";
}

// The reason, after a look at what the refusal cost.
std::string refusal_of(const std::string& bytes) {
    size_t before = peak_resident();
    std::string message = message_of(bytes);
    EXPECT_LT(peak_resident() - before, largest_rise + 2 * bytes.size());
    return message;
}

// The parts of a graph, as offsets in the builder; unset ones are missing.
struct Parts {
    std::vector<Offset<file::Value>> values;
    std::vector<Offset<file::Node>> nodes;
    std::vector<Offset<file::Tensor>> tensors;
    std::vector<Offset<file::TestCase>> test_cases;
    std::vector<Offset<file::Entry>> metadata;
    std::vector<int> inputs, outputs;
};

std::string image_of(FlatBufferBuilder& b, const Parts& parts, const std::string& data) {
    auto values = b.CreateVector(parts.values);
    auto nodes = b.CreateVector(parts.nodes);
    auto inputs = b.CreateVector(parts.inputs), outputs = b.CreateVector(parts.outputs);
    auto tensors = b.CreateVector(parts.tensors);
    auto test_cases = b.CreateVector(parts.test_cases);
    auto metadata = b.CreateVector(parts.metadata);
    b.Finish(file::CreateModel(b, 0, values, nodes, inputs, outputs, tensors, test_cases, metadata));
    ModelHeader header;
    header.graph_offset = sizeof header;
    header.graph_bytes = b.GetSize();
    header.graph_checksum = checksum(b.GetBufferPointer(), b.GetSize());
    header.data_offset = align_model_offset(sizeof header + header.graph_bytes);
    header.file_bytes = header.data_offset + data.size();
    header.header_checksum = checksum(&header, offsetof(ModelHeader, header_checksum));
    std::string image(header.data_offset, '\0');
    std::memcpy(image.data(), &header, sizeof header);
    std::memcpy(image.data() + sizeof header, b.GetBufferPointer(), b.GetSize());
    return image + data;
}

struct TensorClaim {
    std::vector<int64_t> shape;
    uint64_t offset = 0, bytes = 0;
    const char* dtype = "float32";
};

// One constant, which is the output, with 64 bytes of data behind it.
std::string claims(const TensorClaim& claim) {
    FlatBufferBuilder b;
    std::string data(64, 'x');
    auto dtype = b.CreateString(claim.dtype);
    auto shape = b.CreateVector(claim.shape);
    uint64_t sum = checksum(data.data(), std::min<uint64_t>(claim.bytes, data.size()));
    Parts parts;
    parts.tensors = {file::CreateTensor(b, dtype, shape, claim.offset, claim.bytes, sum)};
    parts.values = {file::CreateValue(b, b.CreateString("w"), dtype, shape, true, 0)};
    parts.outputs = {0};
    return image_of(b, parts, data);
}

TEST(HostileFiles, BuiltFileIsReadable) { EXPECT_EQ(message_of(claims({{16}, 0, 64})), "no error"); }

// GGUF, CVE-2025-53630 and CVE-2026-27940: sums of offset and size that wrap. CVE-2026-33298: products that
// wrap to something small. Ollama, CVE-2026-7482: data that ends before the tensor does.
TEST(HostileFiles, OverflowingSizes) {
    constexpr int64_t p60 = int64_t(1) << 60, p62 = int64_t(1) << 62, p32 = int64_t(1) << 32;
    for (auto& [claim, reason] : std::vector<std::pair<TensorClaim, const char*>>{
             {{{16}, ~uint64_t(63), 64}, "beyond the end of the file"},
             {{{16}, uint64_t(0) - 64, 64}, "beyond the end of the file"},
             {{{16}, uint64_t(1) << 63, 64}, "beyond the end of the file"},
             {{{16}, 64, 64}, "beyond the end of the file"},
             {{{17}, 0, 68}, "beyond the end of the file"},
             {{{1 << 28}, 0, uint64_t(1) << 30}, "beyond the end of the file"},
             {{{16}, 4, 64}, "not aligned"},
             {{{16}, 0, 60}, "60 bytes for"},
             {{{16}, 0, 0}, "0 bytes for"},
             {{{p60}, 0, 64}, "more elements than memory can hold"},
             {{{p62}, 0, 0}, "more elements than memory can hold"},
             {{{p62, 4}, 0, 0}, "more elements than memory can hold"},
             {{{p32, p32}, 0, 0}, "more elements than memory can hold"},
             {{{p32, p32, 0}, 0, 0}, "more elements than memory can hold"},
             {{{0, p32, p32}, 0, 0}, "more elements than memory can hold"},
             {{{INT64_MAX, 2}, 0, 0}, "more elements than memory can hold"},
             {{{-1}, 0, 64}, "is negative"},
             {{{-4, -4}, 0, 64}, "is negative"},
             {{{INT64_MIN}, 0, 0}, "is negative"},
             {{{1, 1, 1, 1, 1, 1, 1, 16}, 0, 64}, "rank 8 is above 7"},
             {{{16}, 0, 64, "float33"}, "unknown dtype"},
             {{{16}, 0, 64, ""}, "unknown dtype"},
             {{{16}, 0, 64, "none"}, "unknown dtype"},
         })
        EXPECT_THAT(refusal_of(claims(claim)), HasSubstr(reason)) << claim.offset << ' ' << claim.bytes;
}

// Kernels may do anything with other bytes.
TEST(HostileFiles, BoolsAreZeroOrOne) {
    EXPECT_THAT(refusal_of(claims({{64}, 0, 64, "bool"})),
                HasSubstr("tensor 0: byte 0 is 120, but a bool must be 0 or 1"));
}

// safetensors, audit of 2023: a file that is also one of another kind.
TEST(HostileFiles, TrailingOrLeadingBytesAreRefused) {
    std::string good = claims({{16}, 0, 64});
    EXPECT_THAT(refusal_of(good + "PK\5\6"), HasSubstr("its header says"));
    EXPECT_THAT(refusal_of("PK\3\4" + good), HasSubstr("not a model this program knows"));
    EXPECT_THAT(refusal_of(good + good), HasSubstr("its header says"));
}

// Users often pass weights or modules that Python saved where a model is expected.
TEST(HostileFiles, PicklesAreNamed) {
    EXPECT_THAT(message_of("\x80\4\x95\x9c\3."), HasSubstr("looks like a pickle of megengine.save"));
    EXPECT_THAT(message_of("\x80\x9\x95\x9c\3."), HasSubstr("name its cipher"));
    EXPECT_THAT(message_of("\x80\4\x95\x9c\3"), HasSubstr("name its cipher"));
}

// A part of the file that many tables point to is read as often, into memory of its own each time.
class SharedParts : public testing::Test {
protected:
    static constexpr size_t name_bytes = 64 << 10,
                            references = 32'000;  // 2 GiB of copies in a file of 200 KiB
    FlatBufferBuilder b;
    Offset<flatbuffers::String> long_name = b.CreateString(std::string(name_bytes, 'n'));
    Offset<flatbuffers::String> f32 = b.CreateString("float32");
    Offset<flatbuffers::Vector<int64_t>> no_extents = b.CreateVector(std::vector<int64_t>{});
    Parts parts;
    uint64_t usual_ = file_limit();
    void SetUp() override {
        set_file_limit(32 << 20);
        parts.tensors = {file::CreateTensor(b, f32, no_extents, 0, 4, checksum("\0\0\0\0", 4))};
        parts.outputs = {0};
    }
    void TearDown() override { set_file_limit(usual_); }
    void expect_refused() {
        EXPECT_THAT(refusal_of(image_of(b, parts, std::string(4, '\0'))),
                    HasSubstr(" of memory; a file of its size may take 32"));
    }
};

TEST_F(SharedParts, ValueNames) {
    parts.values.assign(references, file::CreateValue(b, long_name, f32, no_extents, true, 0));
    expect_refused();
}

TEST_F(SharedParts, TestCaseNames) {
    parts.values = {file::CreateValue(b, 0, f32, no_extents, true, 0)};
    parts.test_cases.assign(references, file::CreateTestCase(b, long_name));
    expect_refused();
}

TEST_F(SharedParts, NodeParameters) {
    parts.values = {file::CreateValue(b, 0, f32, no_extents, true, 0),
                    file::CreateValue(b, 0, f32, no_extents, true, -1)};
    auto axes = b.CreateString("axes");
    auto list = b.CreateVector(std::vector<int64_t>(name_bytes / 8, 0));
    auto axis = file::CreateAttribute(b, axes, file::AttributeKind::integers, 0, 0, 0, list);
    auto attributes = b.CreateVector(std::vector(references, axis));
    parts.nodes = {file::CreateNode(b, b.CreateString("sum"), 1, attributes, b.CreateVector(std::vector{0}),
                                    b.CreateVector(std::vector{1}))};
    expect_refused();
}

TEST_F(SharedParts, Metadata) {
    parts.values = {file::CreateValue(b, 0, f32, no_extents, true, 0)};
    // A map keeps one of them, each is copied first.
    parts.metadata.assign(references * 4, file::CreateEntry(b, long_name, long_name));
    expect_refused();
}

// As many values as fit, each with a name of its own: a large file may become a large model.
TEST(HostileFiles, MillionTensorsAreReadOrRefused) {
    FlatBufferBuilder b;
    auto f32 = b.CreateString("float32");
    auto none = b.CreateVector(std::vector<int64_t>{0});
    Parts parts;
    auto empty = file::CreateTensor(b, f32, none, 0, 0, checksum("", 0));
    parts.tensors.assign(1'000'000, empty);
    parts.values = {file::CreateValue(b, b.CreateString("w"), f32, none, true, 999'999)};
    parts.outputs = {0};
    std::string image = image_of(b, parts, "");
    size_t before = peak_resident();
    EXPECT_EQ(message_of(image), "no error");
    EXPECT_LT(peak_resident() - before, size_t(512) << 20);
}

// Cycles, ids that do not exist, values made twice.
TEST(HostileFiles, InvalidGraphs) {
    auto graph = [](std::vector<int> reads, std::vector<int> makes, std::vector<int> inputs,
                    std::vector<int> outputs) {
        FlatBufferBuilder b;
        auto f32 = b.CreateString("float32");
        auto shape = b.CreateVector(std::vector<int64_t>{2});
        Parts parts;
        for (int i = 0; i < 3; ++i) parts.values.push_back(file::CreateValue(b, 0, f32, shape, true, -1));
        parts.nodes = {
            file::CreateNode(b, b.CreateString("relu"), 1, 0, b.CreateVector(reads), b.CreateVector(makes))};
        parts.inputs = inputs;
        parts.outputs = outputs;
        return image_of(b, parts, "");
    };
    EXPECT_EQ(message_of(graph({0}, {1}, {0}, {1})), "no error");
    EXPECT_THAT(refusal_of(graph({1}, {1}, {0}, {1})), HasSubstr("before it is computed"));
    EXPECT_THAT(refusal_of(graph({2}, {1}, {0}, {1})), HasSubstr("before it is computed"));
    EXPECT_THAT(refusal_of(graph({0}, {0}, {0}, {0})), HasSubstr("exists already"));
    EXPECT_THAT(refusal_of(graph({0}, {1}, {0, 0}, {1})), HasSubstr("listed twice as an input"));
    EXPECT_THAT(refusal_of(graph({3}, {1}, {0}, {1})), HasSubstr("does not exist"));
    EXPECT_THAT(refusal_of(graph({-2}, {1}, {0}, {1})), HasSubstr("does not exist"));
    EXPECT_THAT(refusal_of(graph({0}, {INT32_MAX}, {0}, {1})), HasSubstr("does not exist"));
    EXPECT_THAT(refusal_of(graph({0}, {1}, {0}, {2})), HasSubstr("never computed"));
    EXPECT_THAT(refusal_of(graph({0}, {1}, {0}, {})), HasSubstr("no outputs"));
    EXPECT_THAT(refusal_of(graph({}, {1}, {0}, {1})), HasSubstr("is missing"));
    EXPECT_THAT(refusal_of(graph({0, 0, 0}, {1}, {0}, {1})), HasSubstr("takes at most"));
    EXPECT_THAT(refusal_of(graph({0}, {1, 2}, {0}, {1})), HasSubstr("outputs"));
}

Model read_again(const Graph& graph) {
    Model model;
    model.graph = graph;
    std::ostringstream stream;
    write_model(stream, model);
    std::string bytes = stream.str();
    auto storage = std::make_shared<StorageRef>(queue_of({}).allocate(bytes.size()));
    std::memcpy((*storage)->data, bytes.data(), bytes.size());
    return read_model({static_cast<const std::byte*>((*storage)->data), bytes.size()}, storage, "test.mge");
}

// A file applies operators to dtypes without promotion: every dtype accepted by inference has kernels.
TEST(HostileFiles, EveryOperatorRefusesOrComputesEveryDtype) {
    constexpr DType dtypes[] = {DType::boolean, DType::u8,  DType::i8,  DType::i16,  DType::u16,
                                DType::i32,     DType::i64, DType::f16, DType::bf16, DType::f32};
    int computed = 0;
    auto compute = [&](const OpInfo& op, const Shape& shape, DType dtype, DType last) {
        Graph graph;
        std::vector<ValueId> inputs;
        size_t count = op.fixed_inputs() + (op.is_variadic() ? 2 : 0);
        for (size_t i = 0; i < count; ++i)
            inputs.push_back(graph.add_input({i + 1 == count ? last : dtype, shape, {}}, text("x", i)));
        NodeId node = graph.add_node(op, op.params.make(), inputs, "y");
        graph.set_outputs(graph.node(node).outputs);
        auto program = Program::compile(read_again(graph).graph, {.level = 0, .threads = 1});
        auto context = Context::create(program);
        for (size_t i = 0; i < program->inputs().size(); ++i)
            std::memset(context->input(i), 0, program->inputs()[i].spec.bytes());
        context->run();
        ++computed;
    };
    for (auto* op : all_ops())
        for (Shape shape : {Shape{4}, Shape{4, 4}, Shape{4, 4, 4, 4}})
            for (DType dtype : dtypes)
                for (DType last : {dtype, DType::i32, DType::boolean}) {
                    try {
                        compute(*op, shape, dtype, last);
                    } catch (const InternalError& e) {
                        ADD_FAILURE()
                            << op->name << shape << ' ' << dtype << ", " << last << ": " << e.what();
                    } catch (const Error&) {
                    }
                }
    EXPECT_GT(computed, 1000);
}

// Kernels read all inputs by one dtype: those of another would be read beyond their end.
TEST(HostileFiles, InputsOfSeveralDtypesAreRefused) {
    Graph graph;
    ValueId x = graph.add_input({DType::f32, {4, 2}, {}}, "x");
    ValueId mask = graph.add_input({DType::boolean, {4, 2}, {}}, "mask");
    NodeId node = graph.add_node(ops::Concat::info, ops::Concat::info.params.make(), {x, mask}, "y");
    graph.set_outputs(graph.node(node).outputs);
    EXPECT_THAT([&] { read_again(graph); },
                testing::ThrowsMessage<ModelError>(HasSubstr("is bool, but those before it are float32")));
}

// Values that depend on a shape known only at run time cannot be inferred: a file may contain any spec of
// them.
class Unforeseen : public testing::Test {
protected:
    Unforeseen() {
        ValueId x = graph.add_input({DType::f32, {6}, {}}, "x");
        ValueId mask = graph.add_input({DType::boolean, {6}, {}}, "mask");
        taken = graph.node(add<ops::CondTake>({}, {x, mask}, nullptr)).outputs[0];
    }
    template <class O>
    NodeId add(typename O::Params params, std::vector<ValueId> inputs, const TensorSpecs* declared) {
        return graph.add_node(O::info, std::make_shared<typename O::Params>(std::move(params)),
                              std::move(inputs), "lie", declared);
    }
    // The model as it comes out of its file, compiled and run.
    std::string outcome() {
        auto& last = graph.nodes().back();
        graph.set_outputs(last.outputs);
        try {
            auto program = Program::compile(read_again(graph).graph, {});
            auto context = Context::create(program);
            std::memset(context->input(0), 0, 24);
            std::memset(context->input(1), 1, 6);
            context->run();
        } catch (const ModelError& e) {
            return e.what();
        }
        return "no error";
    }
    const TensorSpec f32{DType::f32, Shape::unknown(), {}}, i32{DType::i32, Shape::unknown(), {}};
    Graph graph;
    ValueId taken = no_value;
};

TEST_F(Unforeseen, CorrectDeclarationRuns) {
    TensorSpecs declared{f32};
    add<ops::Clip>({}, {taken}, &declared);
    EXPECT_EQ(outcome(), "no error");
}

TEST_F(Unforeseen, WrongDtypeIsDetectedAtRunTime) {
    TensorSpecs declared{i32};
    add<ops::Clip>({}, {taken}, &declared);
    EXPECT_THAT(outcome(), HasSubstr("[clip] 'lie': output 0 is declared as int32(?), but it is float32"));
}

TEST_F(Unforeseen, WrongOutputCountIsRefused) {
    TensorSpecs one{f32}, three{f32, i32, i32};
    for (auto* declared : {&one, &three}) {
        Graph before = graph;
        add<ops::Sort>({}, {taken}, declared);
        EXPECT_THAT(outcome(), HasSubstr(declared == &one ? "1 output, but the operator has 2"
                                                          : "3 outputs, but the operator has 2"));
        graph = before;
    }
}

TEST_F(Unforeseen, NodesWithoutOutputsAreRefused) {
    TensorSpecs none;
    add<ops::Split>({.axis = 0, .sizes = {2, 4}}, {taken}, &none);
    graph.set_outputs({taken});
    EXPECT_THAT([&] { read_again(graph); },
                testing::ThrowsMessage<ModelError>(HasSubstr("it has no outputs")));
}

TEST_F(Unforeseen, WrongPartCountIsDetectedAtRunTime) {
    TensorSpecs one{f32}, two{f32, f32}, three{f32, f32, f32};
    for (auto* declared : {&one, &two, &three}) {
        Graph before = graph;
        add<ops::Split>({.axis = 0, .sizes = {2, 4}}, {taken}, declared);
        EXPECT_THAT(outcome(), HasSubstr(declared == &two ? "no error" : "the operator gives 2"));
        graph = before;
    }
}

// Every prefix of a file of 64 KiB, as it is cut and with a header that fits what is left.
TEST(HostileFiles, EveryPrefixOfALargeModel) {
    std::vector<float> values(15'000, 0.5f);
    Model model;
    ValueId w = model.graph.add_constant(tensor_from_host({DType::f32, {15'000}, {}}, values.data()), "w");
    model.graph.set_outputs({w});
    std::ostringstream stream;
    write_model(stream, model);
    std::string good = stream.str();
    ASSERT_GT(good.size(), 60'000u);
    auto storage = std::make_shared<StorageRef>(queue_of({}).allocate(good.size()));
    auto* data = static_cast<std::byte*>((*storage)->data);
    for (bool is_mended : {false, true})
        for (size_t n = good.size() - 1; n > 0; --n) {
            std::memcpy(data, good.data(), sizeof(ModelHeader));
            if (n == good.size() - 1) std::memcpy(data, good.data(), n);
            if (is_mended && n >= sizeof(ModelHeader)) {
                ModelHeader header;
                std::memcpy(&header, data, sizeof header);
                header.file_bytes = n;
                header.header_checksum = checksum(&header, offsetof(ModelHeader, header_checksum));
                std::memcpy(data, &header, sizeof header);
            }
            ASSERT_THROW(read_model({data, n}, storage, "test.mge"), ModelError) << n;
        }
}

}  // namespace
}  // namespace mge
