// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/model.h"

#include <flatbuffers/flatbuffers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "libmge/base/hash.h"
#include "libmge/compile/program.h"
#include "libmge/device/default_device.h"
#include "libmge/graph/origins.h"
#include "libmge/model/container.h"
#include "libmge/ops/all.h"
#include "libmge/passes/pass.h"
#include "mge_generated.h"
#include "tests/model/sample_models.h"
#include "tests/new_folder.h"

namespace mge {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Bytes at an aligned address, as a mapped file has them.
struct Image {
    explicit Image(const std::string& bytes)
        : storage(queue_of({}).allocate(bytes.size() + 1)), size(bytes.size()) {
        std::memcpy(storage->data, bytes.data(), bytes.size());
    }
    std::span<std::byte> bytes() { return {static_cast<std::byte*>(storage->data), size}; }
    Model read() { return read_model(bytes(), std::make_shared<StorageRef>(storage), "test.mge"); }
    StorageRef storage;
    size_t size;
};

std::string written(const Model& model) {
    std::ostringstream stream;
    write_model(stream, model);
    return stream.str();
}

std::string message_of(Image& image) {
    try {
        image.read();
    } catch (const ModelError& e) {
        return e.what();
    }
    return "no error";
}

// Corrects the checksums, so that a mutation reaches the data behind them.
void reseal(std::span<std::byte> bytes) {
    ModelHeader header;
    if (bytes.size() < sizeof header) return;
    std::memcpy(&header, bytes.data(), sizeof header);
    header.file_bytes = bytes.size();
    if (header.graph_bytes <= bytes.size() - sizeof header)
        header.graph_checksum = checksum(bytes.data() + sizeof header, header.graph_bytes);
    header.header_checksum = checksum(&header, offsetof(ModelHeader, header_checksum));
    std::memcpy(bytes.data(), &header, sizeof header);
}

// The file around a graph without tensors.
std::string around(const flatbuffers::FlatBufferBuilder& graph) {
    ModelHeader header;
    header.graph_offset = sizeof header;
    header.graph_bytes = graph.GetSize();
    header.data_offset = align_model_offset(sizeof header + graph.GetSize());
    std::string bytes(header.data_offset, '\0');
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, graph.GetBufferPointer(), graph.GetSize());
    reseal(std::as_writable_bytes(std::span(bytes)));
    return bytes;
}

TEST(Model, RoundTrips) {
    Model model = sample_models()[0];
    Image image(written(model));
    Model again = image.read();
    ASSERT_EQ(again.graph.nodes().size(), model.graph.nodes().size());
    for (size_t i = 0; i < model.graph.nodes().size(); ++i) {
        auto &a = model.graph.nodes()[i], &b = again.graph.nodes()[i];
        EXPECT_EQ(a.op, b.op);
        EXPECT_EQ(a.name, b.name);
        EXPECT_TRUE(a.op->params.equal(a.params.get(), b.params.get()));
    }
    EXPECT_EQ(again.metadata, model.metadata);
    ASSERT_EQ(again.test_cases.size(), model.test_cases.size());
    EXPECT_EQ(written(again).size(), written(model).size());
}

TEST(Model, KeepsTheNamesOfOpenDimensions) {
    Model model = sample_models()[0];
    auto& input = model.graph.value(model.graph.inputs()[0]);
    ASSERT_GE(input.spec.shape.rank(), 2);
    input.dimensions = {{0, "batch", {2, 64}}, {1, "", {}}};
    Image image(written(model));
    Model again = image.read();
    EXPECT_EQ(again.graph.value(again.graph.inputs()[0]).dimensions, input.dimensions);
    auto refusal = [&](OpenDimensions dimensions) {
        input.dimensions = std::move(dimensions);
        Image spoiled(written(model));
        return message_of(spoiled);
    };
    EXPECT_THAT(refusal({{1, "a", {}}, {0, "b", {}}}), HasSubstr("axis 0 of its dimensions"));
    EXPECT_THAT(refusal({{input.spec.shape.rank(), "a", {}}}), HasSubstr("out of range"));
    EXPECT_THAT(refusal({{-1, "a", {}}}), HasSubstr("out of range"));
    EXPECT_THAT(refusal({{0, "a", {5, 4}}}), HasSubstr("the bounds 5 and 4"));
}

Model optimised(Model model) {
    PassOptions options{.fixed_shapes = false};
    options.passes["choose_layout"] = false;
    model.graph = run_passes(std::move(model.graph), options);
    return model;
}

TEST(Model, KeepsOriginsOfOperators) {
    for (auto& model : sample_models()) {
        Model before = optimised(model);
        Image image(written(before));
        Model again = image.read();
        if (is_own_source(before.graph)) {
            EXPECT_FALSE(again.graph.source_nodes()) << "nothing was done to it";
            continue;
        }
        ASSERT_TRUE(again.graph.source_nodes());
        EXPECT_EQ(*again.graph.source_nodes(), *before.graph.source_nodes());
        ASSERT_EQ(again.graph.nodes().size(), before.graph.nodes().size());
        for (size_t i = 0; i < before.graph.nodes().size(); ++i) {
            auto &a = before.graph.nodes()[i], &b = again.graph.nodes()[i];
            EXPECT_EQ(a.origins, b.origins);
            EXPECT_EQ(node_label(before.graph, a), node_label(again.graph, b));
            for (size_t k = 0; k < a.outputs.size(); ++k)
                EXPECT_EQ(before.graph.value(a.outputs[k]).origins, again.graph.value(b.outputs[k]).origins);
        }
        Image third(written(again));
        EXPECT_EQ(*third.read().graph.source_nodes(), *before.graph.source_nodes());
    }
}

TEST(Model, UnoptimisedFileHasNoOrigins) {
    Model model = sample_models()[0], noted = model;
    note_origins(noted.graph);
    EXPECT_EQ(written(noted), written(model));
}

TEST(Model, WrongOriginsAreRefused) {
    auto refusal = [](const std::function<void(Graph&)>& spoil) {
        Model model = optimised(sample_models()[0]);
        // Not its own source any more, whatever the passes did.
        auto table = std::make_shared<std::vector<SourceNode>>(*model.graph.source_nodes());
        table->push_back({NodeId(table->size()), "relu", "gone", 1, 7});
        model.graph.set_source_nodes(table);
        spoil(model.graph);
        Image image(written(model));
        return message_of(image);
    };
    EXPECT_EQ(refusal([](Graph&) {}), "no error");
    EXPECT_THAT(refusal([](Graph& g) { g.node(0).origins = {1000}; }), HasSubstr("source operator 1000 of"));
    EXPECT_THAT(refusal([](Graph& g) { g.node(0).origins = {-1}; }), HasSubstr("source operator -1 of"));
    EXPECT_THAT(refusal([](Graph& g) { g.node(0).origins = {1, 1}; }), HasSubstr("not in order"));
    EXPECT_THAT(refusal([](Graph& g) {
                    g.value(g.node(0).outputs[0]).origins = {{0, 99}};
                }),
                HasSubstr("has no output 99"));
    EXPECT_THAT(refusal([](Graph& g) { g.node(0).origins.resize(1000); }), HasSubstr("not in order"));
}

TEST(Model, UsesWeightsInPlace) {
    Image image(written(sample_models()[0]));
    Model model = image.read();
    for (auto& value : model.graph.values())
        if (value.is_constant()) {
            auto* data = static_cast<const std::byte*>(value.constant.data());
            EXPECT_TRUE(data >= image.bytes().data() && data <= image.bytes().data() + image.size);
        }
}

TEST(Model, WritesAtomically) {
    auto path = new_folder("mge_model") / "a.mge";
    write_model(path.string(), sample_models()[0]);
    EXPECT_EQ(read_model(path.string()).metadata.at("author"), "test");
    std::filesystem::remove_all(path.parent_path());
    EXPECT_THROW(write_model("/proc/nonexistent/x.mge", sample_models()[0]), UserError);
}

TEST(Model, MissingFileIsNamed) {
    try {
        read_model("/proc/nonexistent/x.mge");
        FAIL();
    } catch (const UserError& e) {
        EXPECT_THAT(e.what(), HasSubstr("/proc/nonexistent/x.mge"));
    }
}

TEST(Model, EveryPrefixIsRefused) {
    std::string bytes = written(sample_models()[0]);
    for (size_t n = 0; n < bytes.size(); ++n) {
        Image image(bytes.substr(0, n));
        EXPECT_THROW(image.read(), ModelError) << n;
    }
}

TEST(Model, DamageIsNamed) {
    std::string good = written(sample_models()[0]);
    auto damaged = [&](size_t at) {
        Image image(good);
        image.bytes()[at] ^= std::byte{0x10};
        return message_of(image);
    };
    EXPECT_THAT(damaged(0), HasSubstr("has no .mge signature"));
    EXPECT_THAT(damaged(8), HasSubstr("format version"));
    EXPECT_THAT(damaged(20), HasSubstr("header is damaged"));
    EXPECT_THAT(damaged(100), HasSubstr("graph is damaged"));
    EXPECT_THAT(damaged(good.size() - 1), HasSubstr("is damaged (checksum)"));
}

TEST(Model, OverflowingExtentsAreRefused) {
    constexpr int64_t large = int64_t(1) << 32;
    for (Shape shape : {Shape{large, large, 0}, Shape{0, large, large}, Shape{large, large}}) {
        Model model;
        ValueId x = model.graph.add_input({DType::f32, shape, {}}, "x");
        model.graph.set_outputs({x});
        Image image(written(model));
        EXPECT_THAT(message_of(image), HasSubstr("more elements than memory can hold")) << shape;
    }
    Model model;
    ValueId x = model.graph.add_input({DType::f32, {large, 0}, {}}, "x");
    model.graph.set_outputs({x});
    Image image(written(model));
    EXPECT_EQ(image.read().graph.value(x).spec.numel(), 0);
}

TEST(Model, TestCasesKeepTheirLargestError) {
    Model model = sample_models()[0];
    ASSERT_FALSE(model.test_cases.empty());
    auto read_again = [&](std::optional<double> error) {
        model.test_cases[0].max_error = error;
        return Image(written(model)).read().test_cases[0].max_error;
    };
    EXPECT_EQ(read_again({}), std::nullopt);
    EXPECT_EQ(read_again(0.0), 0.0);
    EXPECT_EQ(read_again(1e-3), 1e-3);
    for (double wrong : {HUGE_VAL, std::nan("")}) {
        model.test_cases[0].max_error = wrong;
        Image image(written(model));
        EXPECT_THAT(message_of(image), HasSubstr("largest error")) << wrong;
    }
}

TEST(Model, LargeTensorsAreCheckedToTheirLastByte) {
    Model model;
    std::vector<float> values(200'000, 1.0f);
    Tensor large = tensor_from_host({DType::f32, {int64_t(values.size())}, {}}, values.data());
    model.graph.set_outputs({model.graph.add_constant(large, "large")});
    std::string bytes = written(model);
    Image good(bytes);
    EXPECT_NO_THROW(good.read());
    for (size_t from_end : {1, 1000, 700'000}) {
        Image image(bytes);
        image.bytes()[bytes.size() - from_end] ^= std::byte{1};
        EXPECT_THAT(message_of(image), HasSubstr("is damaged (checksum)")) << from_end;
    }
}

// Several threads check at once, but the first damaged one is named.
TEST(Model, FirstDamagedTensorIsNamed) {
    Model model;
    std::vector<float> values(3 << 20, 1.0f);
    std::vector<ValueId> outputs;
    for (float first : {1.0f, 2.0f, 3.0f}) {
        values[0] = first;
        Tensor tensor = tensor_from_host({DType::f32, {int64_t(values.size())}, {}}, values.data());
        outputs.push_back(model.graph.add_constant(tensor, text("w", first)));
    }
    model.graph.set_outputs(outputs);
    Image image(written(model));
    ASSERT_GT(image.size, size_t(32) << 20);
    EXPECT_NO_THROW(image.read());
    image.bytes()[image.size - 1] ^= std::byte{1};
    EXPECT_THAT(message_of(image), HasSubstr("tensor 2 "));
    image.bytes()[image.size - 1 - (13 << 20)] ^= std::byte{1};
    EXPECT_THAT(message_of(image), HasSubstr("tensor 1 "));
}

// A small file must not make the reader read the same bytes over and over.
TEST(Model, TensorsThatOverlapAreRefused) {
    Image image(written(sample_models()[0]));
    auto bytes = image.bytes();
    int patched = 0;
    for (size_t at = sizeof(ModelHeader); at + 8 <= bytes.size(); at += 8) {
        uint64_t value;
        std::memcpy(&value, bytes.data() + at, 8);
        if (value != model_alignment) continue;  // start of the second tensor
        std::memset(bytes.data() + at, 0, 8);
        ++patched;
    }
    ASSERT_EQ(patched, 1);
    reseal(bytes);
    EXPECT_THAT(message_of(image), HasSubstr("overlaps the tensor before it"));
}

TEST(Model, PaddingIsZero) {
    std::string good = written(sample_models()[0]);
    ModelHeader header;
    std::memcpy(&header, good.data(), sizeof header);
    int refused = 0;
    for (size_t at = sizeof header; at < good.size(); ++at) {
        std::string bytes = good;
        bytes[at] ^= 1;
        Image image(bytes);
        std::string message = message_of(image);
        EXPECT_NE(message, "no error") << "byte " << at;
        refused += message.find(text("byte ", at, ", between its parts, is not zero")) != message.npos;
    }
    EXPECT_GT(refused, 0);
    Image longer(good + std::string("\0\0x", 3));
    reseal(longer.bytes());
    EXPECT_THAT(message_of(longer), HasSubstr("between its parts"));
}

TEST(Model, TextIsUtf8) {
    Model model = sample_models()[0];
    std::string name = "w\u00e4chter\u4e16";
    model.graph.value(model.graph.inputs()[0]).name = name;
    std::string good = written(model);
    Model again = Image(good).read();
    EXPECT_EQ(again.graph.value(again.graph.inputs()[0]).name, name);
    for (auto& bad : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80"}) {
        std::string bytes = good;
        size_t at = bytes.find(name);
        ASSERT_NE(at, bytes.npos);
        bytes.replace(at, std::strlen(bad), bad);
        Image image(bytes);
        reseal(image.bytes());
        EXPECT_THAT(message_of(image), HasSubstr("is not UTF-8: '\\x"));
        model.graph.value(model.graph.inputs()[0]).name = bad;
        EXPECT_THROW(written(model), UserError);
    }
}

// Every node by the same long name, which the file holds once.
TEST(Model, SharedNamesAreCounted) {
    constexpr int nodes = 20'000;
    constexpr size_t name_bytes = 200'000;
    namespace fb = flatbuffers;
    fb::FlatBufferBuilder b;
    auto name = b.CreateString(std::string(name_bytes, 'x'));
    auto dtype = b.CreateString("float32");
    std::vector<int64_t> dims{1};
    std::vector<fb::Offset<file::Value>> values;
    auto shape = b.CreateVector(dims);
    for (int i = 0; i <= nodes; ++i) values.push_back(file::CreateValue(b, name, dtype, shape, true, -1));
    std::vector<fb::Offset<file::Node>> list;
    auto copy = b.CreateString("copy");
    for (int i = 0; i < nodes; ++i)
        list.push_back(file::CreateNode(b, copy, 1, 0, b.CreateVector(std::vector<int>{i}),
                                        b.CreateVector(std::vector<int>{i + 1}), name));
    b.Finish(file::CreateModel(b, 0, b.CreateVector(values), b.CreateVector(list),
                               b.CreateVector(std::vector<int>{0}), b.CreateVector(std::vector<int>{nodes})));
    std::string bytes = around(b);
    ASSERT_LT(bytes.size(), size_t(8) << 20);
    Image image(bytes);
    EXPECT_THAT(message_of(image), AllOf(HasSubstr("'test.mge' requests 1 GiB of memory"),
                                         HasSubstr("--file-limit (MGE_FILE_LIMIT) raises that")));
}

// Malicious variants of a parameter.
std::vector<ParamValue> hostile_values(const ParamValue& value) {
    constexpr int64_t extremes[] = {0, -1, 7, INT32_MAX, int64_t(1) << 40, INT64_MIN, INT64_MAX};
    std::vector<ParamValue> result;
    for (int64_t extreme : extremes) {
        if (std::holds_alternative<int64_t>(value)) result.push_back(extreme);
        if (auto* list = std::get_if<IntList>(&value))
            for (size_t i = 0; i <= list->size(); ++i) {
                IntList changed = *list;
                i < changed.size() ? void(changed[i] = extreme) : changed.push_back(extreme);
                result.push_back(changed);
            }
    }
    if (std::holds_alternative<double>(value)) result.insert(result.end(), {-1e300, 1e300, double(NAN)});
    if (std::holds_alternative<std::string>(value))
        result.insert(result.end(), {std::string(), std::string("x\0y", 3)});
    return result;
}

// The model with one parameter changed; its other parts stay, so that the reader meets exactly this fault.
Model with_param(const Model& model, NodeId id, const std::string& name, const ParamValue& value) {
    Model changed = model;
    Node& node = changed.graph.node(id);
    auto params = node.op->params.make();
    load_params("test", node.op->fields, params.get(), save_params(node.op->fields, node.params.get()));
    load_params("test", node.op->fields, params.get(), {{name, value}});
    node.params = params;
    return changed;
}

// Every parameter of every node at its extremes: refused when read, or read and then refused or run. Memory
// is limited, so that a giant tensor is a typed error as well.
TEST(Model, HostileParametersNeverCrash) {
    device({}).set_memory_limit(device({}).memory().allocated + (size_t(256) << 20));
    int read = 0, refused = 0;
    for (auto& model : sample_models())
        for (size_t id = 0; id < model.graph.nodes().size(); ++id) {
            auto& node = model.graph.nodes()[id];
            for (auto& [name, value] : save_params(node.op->fields, node.params.get()))
                for (auto& hostile : hostile_values(value)) {
                    SCOPED_TRACE(text(node.op->name, '.', name, " = ", to_text(hostile)));
                    try {
                        Image image(written(with_param(model, NodeId(id), name, hostile)));
                        Model again = image.read();
                        ++read;
                        Context::create(Program::compile(again.graph, {}))->run();
                    } catch (const InternalError& e) {
                        ADD_FAILURE() << e.what();
                    } catch (const Error&) {
                        ++refused;
                    }
                }
        }
    device({}).set_memory_limit(0);
    EXPECT_GT(read, 10);
    EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace mge
