// SPDX-License-Identifier: Apache-2.0
// Networks of models that generate: their inputs are longer in each run.
#include <gmock/gmock.h>

#include "libmge/mge.h"
#include "libmge/ops/all.h"
#include "tests/lite/networks.h"

namespace lite::test {
namespace {

namespace ops = mge::ops;

constexpr int64_t width = 128;
constexpr size_t columns = width;

mge::TensorSpec f32(const mge::Shape& shape) { return {mge::DType::f32, shape, {}}; }

mge::Tensor weight(int seed) {
    std::vector<float> values(size_t(width * width));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(int((i + size_t(seed)) * 7 % 23) - 11) / 40;
    return mge::tensor_from_host(f32({width, width}), values.data(), mge::host_device);
}

// "x" {1, 128}, which extends "past" {any, 128} to "present"; and "y" {1, 128}, from the sum of all.
const std::string& decoder() {
    auto make = [] {
        auto model =
            make_model({{"x", f32({1, width})}, {"past", f32({3, width})}}, [](const mge::Tensors& x) {
                auto present = ops::concat({x[1], ops::matmul(x[0], weight(1))}, {.axis = 0});
                auto sum = ops::sum(present, {.axes = {0}, .keepdims = true});
                return std::vector<std::pair<std::string, mge::Tensor>>{
                    {"y", ops::matmul(ops::relu(sum), weight(2))}, {"present", present}};
            });
        auto& past = model.graph.value(model.graph.inputs()[1]);
        past.dimensions = {{.axis = 0, .name = "past", .bounds = {}}};
        return model;
    };
    static const ModelPath model(make());
    return model.path();
}

void set_length(Network& network, size_t length) {
    network.get_io_tensor("past")->set_layout(layout({length, columns}));
    fill(network, "past", int(length));
    fill(network, "x", int(length) + 1);
}

void expect_right(Network& network) {
    run(network);
    for (auto* name : {"y", "present"}) expect_near(output(network, name), expected(network, name), 1e-4F);
}

TEST(NetworkLengths, CompileNothingAfterTheSecond) {
    auto network = load(decoder());
    for (size_t length : {3, 4, 40, 2, 3, 4}) {
        set_length(*network, length);
        expect_right(*network);
        EXPECT_TRUE(network->get_io_tensor("present")->get_layout() == layout({length + 1, columns}));
    }
    const uint64_t before = mge::next_graph_id();
    for (size_t length = 5; length < 200; ++length) {
        set_length(*network, length);
        run(*network);
    }
    EXPECT_EQ(mge::next_graph_id() - before - 1, 0U);
}

TEST(NetworkLengths, ExtendTheirOwnOutputs) {
    auto network = load(decoder());
    set_length(*network, 3);
    fill(*network, "x", 1);
    std::vector<float> all = values_of<float>(*network->get_io_tensor("past"));
    for (int step = 0; step < 6; ++step) {
        expect_right(*network);
        auto present = network->get_io_tensor("present");
        auto values = values_of<float>(*present);
        ASSERT_EQ(values.size(), all.size() + width);
        EXPECT_TRUE(std::equal(all.begin(), all.end(), values.begin()));
        all = values;
        network->get_io_tensor("past")->share_memory_with(*present);
    }
}

TEST(NetworkLengths, KeepTheMemoryOfOutputs) {
    auto network = load(decoder());
    for (size_t length : {3, 4, 5}) {
        set_length(*network, length);
        run(*network);
    }
    auto y = network->get_io_tensor("y"), present = network->get_io_tensor("present");
    void *of_y = y->get_memory_ptr(), *of_present = present->get_memory_ptr();
    fill(*network, "x", 9);
    expect_right(*network);
    EXPECT_EQ(y->get_memory_ptr(), of_y);
    EXPECT_EQ(present->get_memory_ptr(), of_present);
    std::vector<float> own(100 * width);
    present->reset(own.data(), own.size() * sizeof(float));
    for (size_t length : {5, 6, 90}) {
        set_length(*network, length);
        expect_right(*network);
        EXPECT_EQ(present->get_memory_ptr(), own.data());
    }
}

TEST(NetworkLengths, RefuseInputsThatTheModelDoes) {
    auto network = load(decoder());
    for (size_t length : {3, 4, 5}) {
        set_length(*network, length);
        run(*network);
    }
    network->get_io_tensor("past")->set_layout(layout({6, columns - 1}));
    EXPECT_THAT(error_of([&] { network->forward(); }), testing::HasSubstr("concat"));
    set_length(*network, 7);
    expect_right(*network);
}

}  // namespace
}  // namespace lite::test
