// SPDX-License-Identifier: Apache-2.0
// Networks: loading, names, runs, shapes that change, memory of the user's.
#include <gmock/gmock.h>

#include <thread>

#include "libmge/base/files/file.h"
#include "libmge/device/device.h"
#include "libmge/model/export/onnx/onnx.h"
#include "libmge/model/open.h"
#include "tests/lite/networks.h"

namespace lite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Network, RunsWithNewInputsEachTime) {
    auto network = load(classifier());
    for (int seed = 1; seed <= 3; ++seed) {
        fill(*network, "data", seed);
        run(*network);
        expect_near(output(*network, "score"), expected(*network, "score"));
    }
}

TEST(Network, HasNamesAndLayoutsBeforeTheFirstRun) {
    auto network = load(sum_and_difference());
    EXPECT_THAT(network->get_all_input_name(), ElementsAre("a", "b"));
    EXPECT_THAT(network->get_all_output_name(), ElementsAre("sum", "difference"));
    EXPECT_EQ(network->get_input_name(0), "a");
    EXPECT_EQ(network->get_input_name(1), "b");
    EXPECT_EQ(network->get_output_name(0), "sum");
    EXPECT_EQ(network->get_output_name(1), "difference");
    EXPECT_THAT(error_of([&] { network->get_input_name(2); }),
                HasSubstr("there is no input 2; the network has 2"));
    EXPECT_THAT(error_of([&] { network->get_output_name(2); }), HasSubstr("there is no output 2"));
    EXPECT_THAT(error_of([&] { network->get_output_tensor(7); }), HasSubstr("there is no output 7"));
    EXPECT_TRUE(network->get_output_tensor(0)->get_layout() == layout({4}));
    EXPECT_TRUE(load(classifier())->get_io_tensor("score")->get_layout() == layout({1, 10}));
}

// MegEngine counts its networks for that.
TEST(Network, DestroyedNetworksReleaseMemory) {
    auto allocated = [] { return mge::device(mge::host_device).memory().allocated; };
    auto make = [] {
        auto network = load(classifier());
        run(*network);
        return network;
    };
    make();  // objects that are made once exist now
    size_t with_none = allocated();
    auto first = make();
    size_t with_one = allocated();
    EXPECT_GT(with_one, with_none);
    auto second = make();
    EXPECT_GT(allocated(), with_one);
    second.reset();
    EXPECT_EQ(allocated(), with_one);
    first.reset();
    EXPECT_EQ(allocated(), with_none);
}

TEST(Network, LoadsOnnxModels) {
    ModelPath folder(mge::open_model(sum_and_difference()));
    std::string path = folder.beside("classifier.onnx");
    mge::write_onnx(path, mge::open_model(classifier()));
    auto plain = load(classifier()), by_path = load(path), by_memory = std::make_shared<Network>();
    auto file = mge::MappedFile::open(path);
    by_memory->load_model(const_cast<std::byte*>(file->bytes().data()), file->bytes().size());
    for (auto& network : {plain, by_path, by_memory}) {
        EXPECT_THAT(network->get_all_input_name(), ElementsAre("data"));
        EXPECT_THAT(network->get_all_output_name(), ElementsAre("score"));
        fill(*network, "data", 3);
        run(*network);
        expect_near(output(*network, "score"), output(*plain, "score"));
    }
    EXPECT_EQ(Runtime::get_model_io_info(path).inputs.at(0).name, "data");
}

TEST(Network, FindsTensorsByNameAndPhase) {
    ModelPath model(make_model({{"x", {mge::DType::f32, {2}, {}}}, {"y", {mge::DType::f32, {2}, {}}}},
                               [](const mge::Tensors& x) {
                                   return std::vector<std::pair<std::string, mge::Tensor>>{{"x", x[0]}};
                               }));
    auto network = load(model.path());
    EXPECT_EQ(network->get_io_tensor("x"), network->get_input_tensor(0));
    EXPECT_EQ(network->get_io_tensor("x", LITE_INPUT), network->get_input_tensor(0));
    EXPECT_EQ(network->get_io_tensor("x", LITE_OUTPUT), network->get_output_tensor(0));
    EXPECT_NE(network->get_input_tensor(0), network->get_output_tensor(0));
    EXPECT_THAT(error_of([&] { network->get_io_tensor("z"); }),
                HasSubstr("no input or output 'z'; inputs: x, y; outputs: x"));
    EXPECT_THAT(error_of([&] { network->get_io_tensor("y", LITE_OUTPUT); }), HasSubstr("no output 'y'"));
    fill(*network, "x", 3);
    run(*network);
    EXPECT_EQ(output(*network, "x"), values_of<float>(*network->get_input_tensor(0)));
}

TEST(Network, ReadsInputsInPlace) {
    auto network = load(sum_and_difference());
    std::vector<float> a{1, 2, 3, 4};
    network->get_io_tensor("a")->reset(a.data(), a.size() * sizeof(float));
    write<float>(*network->get_io_tensor("b"), {10, 20, 30, 40});
    run(*network);
    EXPECT_THAT(output(*network, "sum"), ElementsAre(11, 22, 33, 44));
    a[0] = 5;
    run(*network);
    EXPECT_THAT(output(*network, "sum"), ElementsAre(15, 22, 33, 44));
    auto other = counting<float>(layout({4}));
    network->get_io_tensor("a")->share_memory_with(other);
    run(*network);
    EXPECT_THAT(output(*network, "difference"), ElementsAre(-10, -19, -28, -37));
}

TEST(Network, ReadsSlicesWithGaps) {
    auto network = load(sum_and_difference());
    auto whole = counting<float>(layout({8}));
    network->get_io_tensor("a")->share_memory_with(*whole.slice({0}, {8}, {2}));
    network->get_io_tensor("b")->fill_zero();
    run(*network);
    EXPECT_THAT(output(*network, "sum"), ElementsAre(0, 2, 4, 6));
    static_cast<float*>(whole.get_memory_ptr())[2] = 7;
    run(*network);
    EXPECT_THAT(output(*network, "sum"), ElementsAre(0, 7, 4, 6));
}

TEST(Network, WritesOutputsIntoUserMemory) {
    auto network = load(sum_and_difference());
    write<float>(*network->get_io_tensor("a"), {1, 2, 3, 4});
    write<float>(*network->get_io_tensor("b"), {1, 1, 1, 1});
    std::vector<float> sum(4);
    network->get_io_tensor("sum")->reset(sum.data(), layout({4}));
    run(*network);
    EXPECT_THAT(sum, ElementsAre(2, 3, 4, 5));
    // Every second element of other memory.
    auto whole = counting<float>(layout({8}));
    network->get_io_tensor("sum")->share_memory_with(*whole.slice({0}, {8}, {2}));
    run(*network);
    EXPECT_THAT(values_of<float>(whole), ElementsAre(2, 1, 3, 3, 4, 5, 5, 7));
}

// The output of one run is the input of the next.
TEST(Network, WritesAnInputReturnedAsOutput) {
    auto fibonacci = load(product());
    write<float>(*fibonacci->get_io_tensor("x"), {1, 1, 0, 1});
    fibonacci->get_io_tensor("y")->share_memory_with(*fibonacci->get_io_tensor("x"));
    for (int i = 0; i < 5; ++i) run(*fibonacci);
    EXPECT_THAT(output(*fibonacci, "y"), ElementsAre(8, 13, 5, 8));
}

TEST(Network, FollowsChangesOfInputShapes) {
    auto network = load(classifier());
    auto data = network->get_io_tensor("data");
    fill(*network, "data");
    run(*network);
    auto score = network->get_io_tensor("score");
    data->set_layout(layout({2, 3, 40, 24}));
    fill(*network, "data");
    run(*network);
    EXPECT_TRUE(score->get_layout() == layout({2, 10}));
    expect_near(output(*network, "score"), expected(*network, "score"));
    auto* program = &impl_of(*network).program();
    data->set_layout(layout({1, 3, 32, 32}));
    fill(*network, "data", 2);
    mge::device({}).reset_peak();
    size_t allocated = mge::device({}).memory().allocated;
    run(*network);
    EXPECT_EQ(mge::device({}).memory().peak, allocated);
    EXPECT_NE(&impl_of(*network).program(), program);
    EXPECT_TRUE(score->get_layout() == layout({1, 10}));
    expect_near(output(*network, "score"), expected(*network, "score"));
}

TEST(Network, RefusesInputsOfAnotherType) {
    auto network = load(sum_and_difference());
    network->get_io_tensor("a")->set_layout(layout({4}, LITE_INT));
    EXPECT_THAT(error_of([&] { network->forward(); }),
                HasSubstr("input 'a' is int32 {4}; the model reads float32"));
    network->get_io_tensor("a")->set_layout(layout({3}));
    EXPECT_THAT(error_of([&] { network->forward(); }), HasSubstr("(3,)"));
    network->get_io_tensor("a")->set_layout(layout({4}));
    network->get_io_tensor("a")->fill_zero();
    network->get_io_tensor("b")->fill_zero();
    run(*network);
    EXPECT_THAT(output(*network, "sum"), ElementsAre(0, 0, 0, 0));
}

TEST(Network, ReportsRunTimeShapes) {
    auto network = load(picker());
    auto positive = network->get_io_tensor("positive");
    EXPECT_EQ(positive->get_layout().ndim, 0u);
    EXPECT_TRUE(network->get_io_tensor("twice")->get_layout() == layout({6}));
    write<float>(*network->get_io_tensor("x"), {1, -2, 3, -4, 5, -6});
    run(*network);
    EXPECT_TRUE(positive->get_layout() == layout({3}));
    EXPECT_THAT(output(*network, "positive"), ElementsAre(1, 3, 5));
    EXPECT_THAT(output(*network, "twice"), ElementsAre(2, -4, 6, -8, 10, -12));
    write<float>(*network->get_io_tensor("x"), {-1, -2, -3, -4, -5, 6});
    run(*network);
    EXPECT_THAT(output(*network, "positive"), ElementsAre(6));
}

TEST(Network, ReportsRunErrorsInWait) {
    auto network = load(reshaper());
    write<int>(*network->get_io_tensor("shape"), {2, 4});
    fill(*network, "x");
    network->forward();
    EXPECT_THAT(error_of([&] { network->wait(); }), HasSubstr("reshape"));
    network->wait();
    write<int>(*network->get_io_tensor("shape"), {2, 3});
    run(*network);
    EXPECT_TRUE(network->get_io_tensor("reshaped")->get_layout() == layout({2, 3}));
    // In place they come out of forward().
    auto in_place = std::make_shared<Network>();
    Runtime::set_cpu_inplace_mode(in_place);
    in_place->load_model(reshaper());
    write<int>(*in_place->get_io_tensor("shape"), {2, 4});
    EXPECT_THAT(error_of([&] { in_place->forward(); }), HasSubstr("reshape"));
    in_place->wait();
    write<int>(*in_place->get_io_tensor("shape"), {3, 2});
    run(*in_place);
    EXPECT_TRUE(in_place->get_io_tensor("reshaped")->get_layout() == layout({3, 2}));
}

TEST(Network, WaitsForTheRunBefore) {
    auto network = load(classifier());
    network->wait();
    fill(*network, "data");
    network->forward();
    network->forward();
    network->wait();
    network->wait();
    expect_near(output(*network, "score"), expected(*network, "score"));
    network->forward();  // goes with the network
}

TEST(Network, RejectsCallsInTheWrongPhase) {
    auto network = std::make_shared<Network>();
    EXPECT_THAT(error_of([&] { network->forward(); }), HasSubstr("forward: no model is loaded"));
    EXPECT_THAT(error_of([&] { network->wait(); }), HasSubstr("no model is loaded"));
    EXPECT_THAT(error_of([&] { network->get_io_tensor("a"); }), HasSubstr("no model is loaded"));
    EXPECT_THAT(error_of([&] { network->get_all_output_name(); }), HasSubstr("no model is loaded"));
    EXPECT_THAT(error_of([&] { Runtime::set_runtime_thread_affinity(network, [](int) {}); }),
                HasSubstr("no model is loaded"));
    EXPECT_THAT(error_of([&] { Runtime::set_network_algo_workspace_limit(network, 1000); }),
                HasSubstr("no model is loaded"));
    EXPECT_THAT(error_of([&] { Runtime::dump_layout_transform_model(network, "x.mge"); }),
                HasSubstr("no model is loaded"));
    EXPECT_THAT(error_of([&] { Runtime::use_tensorrt(network); }), HasSubstr("TensorRT"));
    EXPECT_THAT(error_of([&] { Runtime::set_cpu_inplace_mode(nullptr); }), HasSubstr("the network is null"));
    network->load_model(sum_and_difference());
    auto source = load(sum_and_difference());
    std::vector<std::function<void()>> too_late{[&] { network->set_device_id(1); },
                                                [&] { network->set_stream_id(1); },
                                                [&] { network->compute_only_configured_output(); },
                                                [&] { network->extra_configure({}); },
                                                [&] { Runtime::set_cpu_inplace_mode(network); },
                                                [&] { Runtime::set_cpu_threads_number(network, 2); },
                                                [&] { Runtime::set_memory_allocator(network, nullptr); },
                                                [&] { Runtime::share_runtime_memory_with(network, source); },
                                                [&] { Runtime::enable_global_layout_transform(network); },
                                                [&] { Runtime::use_tensorrt(network); }};
    for (auto& call : too_late) EXPECT_THAT(error_of(call), HasSubstr("is already loaded"));
}

TEST(Network, LoadsAgainAfterAFailure) {
    Network network;
    EXPECT_THAT(error_of([&] { network.load_model("/no/such/model.mge"); }), HasSubstr("/no/such/model.mge"));
    EXPECT_THAT(error_of([&] { network.forward(); }), HasSubstr("no model is loaded"));
    network.load_model(sum_and_difference());
    write<float>(*network.get_io_tensor("a"), {1, 2, 3, 4});
    write<float>(*network.get_io_tensor("b"), {1, 2, 3, 4});
    run(network);
    EXPECT_THAT(output(network, "sum"), ElementsAre(2, 4, 6, 8));
    // A failure leaves what is loaded, and another model takes its place.
    EXPECT_THAT(error_of([&] { network.load_model("/no/such/model.mge"); }), HasSubstr("/no/such/model.mge"));
    run(network);
    network.load_model(classifier());
    fill(network, "data");
    run(network);
    expect_near(output(network, "score"), expected(network, "score"));
}

TEST(Network, HasItsDeviceOnAllTensors) {
    auto network = std::make_shared<Network>();
    EXPECT_EQ(network->get_device_id(), 0);
    EXPECT_EQ(network->get_device_type(), LITE_CPU);
    network->set_device_id(4).set_stream_id(2);
    network->load_model(sum_and_difference());
    EXPECT_EQ(network->get_device_id(), 4);
    EXPECT_EQ(network->get_stream_id(), 2);
    EXPECT_EQ(network->get_io_tensor("a")->get_device_id(), 4);
    EXPECT_EQ(network->get_io_tensor("sum")->get_device_id(), 4);
    write<float>(*network->get_io_tensor("a"), {1, 2, 3, 4});
    write<float>(*network->get_io_tensor("b"), {1, 2, 3, 4});
    run(*network);
    EXPECT_EQ(network->get_io_tensor("sum")->get_device_id(), 4);
    EXPECT_THAT(output(*network, "sum"), ElementsAre(2, 4, 6, 8));
    Config config;
    config.device_id = -1;
    EXPECT_EQ(load(sum_and_difference(), config)->get_io_tensor("a")->get_device_id(), 0);
    config.device_type = LITE_DEVICE_DEFAULT;
    EXPECT_EQ(load(sum_and_difference(), config)->get_device_type(), LITE_CPU);
    config.device_type = LITE_NPU;
    EXPECT_THAT(error_of([&] { load(sum_and_difference(), config); }), HasSubstr("NPU"));
    config.backend = static_cast<LiteBackend>(3);
    EXPECT_THAT(error_of([&] { load(sum_and_difference(), config); }), HasSubstr("backend"));
}

}  // namespace
}  // namespace lite::test
