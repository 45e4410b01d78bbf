// SPDX-License-Identifier: Apache-2.0
// Effects of options, configurations and lists of inputs and outputs.
#include <gmock/gmock.h>

#include "libmge/device/device.h"
#include "libmge/ops/all.h"
#include "tests/lite/networks.h"

namespace lite::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

const mge::CompileOptions& options_of(Network& network) { return impl_of(network).compile_options(); }

Config with(const std::function<void(Options&)>& set) {
    Config config;
    set(config.options);
    return config;
}

// The same results as without the option, in several runs.
std::shared_ptr<Network> checked(const Config& config, float tolerance = 1e-5f) {
    auto network = load(classifier(), config);
    for (int seed = 1; seed <= 3; ++seed) {
        fill(*network, "data", seed);
        run(*network);
        expect_near(output(*network, "score"), expected(*network, "score"), tolerance);
    }
    return network;
}

struct OptionCase {
    const char* name;
    std::function<void(Options&)> set;
    std::function<bool(const mge::CompileOptions&)> is_set;
};
using O = const mge::CompileOptions&;
const OptionCase option_cases[] = {
    {"weight_preprocess", [](Options& o) { o.weight_preprocess = true; },
     [](O o) { return o.switches.pack_weights == true; }},
    {"fuse_preprocess", [](Options& o) { o.fuse_preprocess = true; },
     [](O o) { return o.switches.fuse_preprocess == true; }},
    {"var_sanity_check_first_run", [](Options& o) { o.var_sanity_check_first_run = false; },
     [](O o) { return !o.var_sanity_check_first_run; }},
    {"const_shape", [](Options& o) { o.const_shape = true; }, [](O o) { return o.const_shape; }},
    {"force_dynamic_alloc", [](Options& o) { o.force_dynamic_alloc = true; },
     [](O o) { return o.force_dynamic_alloc; }},
    {"force_output_dynamic_alloc", [](Options& o) { o.force_output_dynamic_alloc = true; },
     [](O o) { return o.force_output_dynamic_alloc; }},
    {"no_profiling_on_shape_change", [](Options& o) { o.no_profiling_on_shape_change = true; },
     [](O o) { return o.no_profiling_on_shape_change; }},
    {"jit_level", [](Options& o) { o.jit_level = 2; }, [](O o) { return o.switches.fuse_elementwise == 2; }},
    {"record_level_1", [](Options& o) { o.comp_node_seq_record_level = 1; },
     [](O o) { return o.comp_node_seq_record_level == 1; }},
    {"graph_opt_level", [](Options& o) { o.graph_opt_level = 0; }, [](O o) { return o.level == 0; }},
    {"async_exec_level", [](Options& o) { o.async_exec_level = 4; },
     [](O o) { return o.async_exec_level == 4; }},
    {"enable_nchw44", [](Options& o) { o.enable_nchw44 = true; }, [](O o) { return o.layout == "NCHW44"; }},
    {"enable_nchw44_dot", [](Options& o) { o.enable_nchw44_dot = true; },
     [](O o) { return o.layout == "NCHW44_DOT"; }},
    {"enable_nchw88", [](Options& o) { o.enable_nchw88 = true; }, [](O o) { return o.layout == "NCHW88"; }},
    {"enable_nhwcd4", [](Options& o) { o.enable_nhwcd4 = true; }, [](O o) { return o.layout == "NHWCD4"; }},
    {"enable_nchw4", [](Options& o) { o.enable_nchw4 = true; }, [](O o) { return o.layout == "NCHW4"; }},
    {"enable_nchw32", [](Options& o) { o.enable_nchw32 = true; }, [](O o) { return o.layout == "NCHW32"; }},
    {"enable_nchw64", [](Options& o) { o.enable_nchw64 = true; }, [](O o) { return o.layout == "NCHW64"; }},
};

TEST(NetworkOptions, SetCompileOptions) {
    for (auto& each : option_cases) {
        SCOPED_TRACE(each.name);
        EXPECT_FALSE(each.is_set(options_of(*load(classifier()))));
        EXPECT_TRUE(each.is_set(options_of(*checked(with(each.set)))));
    }
    auto half = checked(with([](Options& o) { o.enable_f16_io_comp = true; }), 1e-2f);
    EXPECT_TRUE(options_of(*half).switches.compute_half);
    auto fast = checked(with([](Options& o) { o.precision = 2; }), 2e-2f);
    EXPECT_EQ(options_of(*fast).precision, mge::Precision::fast);
    auto bytes = checked(with([](Options& o) { o.weight_bits = 8; }), 2e-2f);
    EXPECT_EQ(options_of(*bytes).weight_bits, 8);
}

TEST(NetworkOptions, ContradictionsAreErrorsAtLoading) {
    auto error = [](const std::function<void(Options&)>& set) {
        return error_of([&] { load(classifier(), with(set)); });
    };
    EXPECT_THAT(error([](Options& o) { o.enable_nchw88 = o.enable_nchw44 = true; }),
                testing::AllOf(HasSubstr("NCHW88"), HasSubstr("NCHW44")));
    EXPECT_THAT(error([](Options& o) {
                    o.force_output_dynamic_alloc = o.force_output_use_user_specified_memory = true;
                }),
                HasSubstr("contradicts"));
    EXPECT_THAT(error([](Options& o) { o.comp_node_seq_record_level = 2; }),
                HasSubstr("var_sanity_check_first_run"));
    EXPECT_THAT(error([](Options& o) { o.comp_node_seq_record_level = 7; }), HasSubstr("7 is not between"));
    EXPECT_THAT(error([](Options& o) { o.graph_opt_level = 254; }), HasSubstr("254"));
    EXPECT_THAT(error([](Options& o) { o.precision = 3; }), HasSubstr("no precision 3"));
    EXPECT_THAT(error([](Options& o) { o.weight_bits = 5; }), HasSubstr("0, 4 or 8"));
}

TEST(NetworkOptions, ConstShapeFixesTheShapes) {
    auto network = load(classifier(), with([](Options& o) { o.const_shape = true; }));
    network->get_io_tensor("data")->set_layout(layout({2, 3, 32, 32}));
    EXPECT_THAT(error_of([&] { network->forward(); }), HasSubstr("const_shape has fixed it to"));
    network->get_io_tensor("data")->set_layout(layout({1, 3, 32, 32}));
    fill(*network, "data");
    run(*network);
    expect_near(output(*network, "score"), expected(*network, "score"));
}

TEST(NetworkOptions, RecordLevelTwoReleasesTheGraph) {
    auto network = load(classifier(), with([](Options& o) {
                            o.comp_node_seq_record_level = 2;
                            o.var_sanity_check_first_run = false;
                            o.const_shape = true;
                        }));
    EXPECT_TRUE(impl_of(*network).program().graph().nodes().empty());
    EXPECT_TRUE(impl_of(*network).model()->graph().nodes().empty());
    auto plain = load(classifier());
    for (int seed = 1; seed <= 3; ++seed) {
        fill(*network, "data", seed);
        fill(*plain, "data", seed);
        run(*network);
        run(*plain);
        expect_near(output(*network, "score"), output(*plain, "score"));
    }
    network->get_io_tensor("data")->set_layout(layout({2, 3, 32, 32}));
    EXPECT_THAT(error_of([&] { network->forward(); }), HasSubstr("has fixed it to"));
    EXPECT_THAT(error_of([&] { Runtime::set_network_algo_workspace_limit(network, 100); }),
                HasSubstr("frees the graph"));
    network->get_io_tensor("data")->set_layout(layout({1, 3, 32, 32}));
    fill(*network, "data", 3);
    run(*network);
    expect_near(output(*network, "score"), output(*plain, "score"));
}

TEST(NetworkOptions, FakeRunComputesNothing) {
    auto network = load(classifier(), with([](Options& o) { o.fake_next_exec = true; }));
    fill(*network, "data");
    int finishes = 0;
    network->set_finish_callback([&](const IOTensors&) { ++finishes; });
    network->get_io_tensor("score")->fill_zero();
    run(*network);
    EXPECT_EQ(finishes, 0);
    EXPECT_THAT(output(*network, "score"), Each(0));
    EXPECT_GT(impl_of(*network).memory()->bytes(), 0u);
    mge::device({}).reset_peak();
    size_t allocated = mge::device({}).memory().allocated;
    run(*network);
    EXPECT_EQ(mge::device({}).memory().peak, allocated);
    EXPECT_EQ(finishes, 1);
    expect_near(output(*network, "score"), expected(*network, "score"));
}

TEST(NetworkOptions, OutputsInUserMemory) {
    for (uint8_t level : {0, 1}) {
        auto network = load(classifier(), with([&](Options& o) {
                                o.force_output_use_user_specified_memory = true;
                                o.comp_node_seq_record_level = level;
                            }));
        auto score = network->get_io_tensor("score");
        EXPECT_TRUE(score->get_layout() == layout({1, 10}));
        fill(*network, "data");
        EXPECT_THAT(error_of([&] { network->forward(); }), HasSubstr("output 'score'"));
        for (int i = 0; i < 5; ++i) {
            std::vector<float> memory(10, -1.f);
            score->reset(memory.data(), memory.size() * sizeof(float));
            auto data = counting<float>(layout({1, 3, 32, 32}));
            static_cast<float*>(data.get_memory_ptr())[0] = float(i);
            network->get_io_tensor("data")->reset(data.get_memory_ptr(), 3 * 32 * 32 * sizeof(float));
            run(*network);
            EXPECT_EQ(score->get_memory_ptr(), memory.data());
            expect_near(memory, expected(*network, "score"));
        }
        network->get_io_tensor("data")->set_layout(layout({2, 3, 32, 32}));
        fill(*network, "data");
        std::vector<float> small(10), large(20);
        score->reset(small.data(), layout({1, 10}));
        EXPECT_THAT(error_of([&] { network->forward(); }), HasSubstr("not enough"));
        score->reset(large.data(), layout({2, 10}));
        run(*network);
        expect_near(large, expected(*network, "score"));
    }
    EXPECT_THAT(error_of([&] {
                    load(picker(), with([](Options& o) { o.force_output_use_user_specified_memory = true; }));
                }),
                HasSubstr("run time"));
}

TEST(NetworkOptions, OutputsInUserMemoryWithoutAPlan) {
    auto network = load(sum_and_difference(), with([](Options& o) {
                            o.force_output_use_user_specified_memory = true;
                            o.force_dynamic_alloc = true;
                        }));
    write<float>(*network->get_io_tensor("a"), {1, 2, 3, 4});
    write<float>(*network->get_io_tensor("b"), {1, 1, 1, 1});
    std::vector<float> sum(4), difference(4);
    network->get_io_tensor("sum")->reset(sum.data(), layout({4}));
    network->get_io_tensor("difference")->reset(difference.data(), layout({4}));
    run(*network);
    run(*network);
    EXPECT_THAT(sum, ElementsAre(2, 3, 4, 5));
    EXPECT_THAT(difference, ElementsAre(0, 1, 2, 3));
}

TEST(NetworkOptions, OutputsWithNewMemoryForEachRun) {
    auto network = load(classifier(), with([](Options& o) { o.force_output_dynamic_alloc = true; }));
    auto score = network->get_io_tensor("score");
    std::vector<Tensor> kept(3);
    std::vector<std::vector<float>> wanted;
    for (int i = 0; i < 3; ++i) {
        fill(*network, "data", i);
        run(*network);
        kept[size_t(i)].share_memory_with(*score);
        wanted.push_back(expected(*network, "score"));
    }
    EXPECT_NE(kept[0].get_memory_ptr(), kept[1].get_memory_ptr());
    EXPECT_NE(kept[1].get_memory_ptr(), kept[2].get_memory_ptr());
    EXPECT_EQ(kept[2].get_memory_ptr(), score->get_memory_ptr());
    for (size_t i = 0; i < 3; ++i) expect_near(values_of<float>(kept[i]), wanted[i]);
}

TEST(NetworkConfiguration, AutoOptimizeInferencePacksWeights) {
    Config config;
    config.auto_optimize_inference = true;
    auto network = checked(config);
    EXPECT_TRUE(options_of(*network).switches.pack_weights == true);
}

IO named(const std::string& name) {
    IO io;
    io.name = name;
    return io;
}

TEST(NetworkIOList, UnknownNamesAreDroppedAndDuplicatesAreErrors) {
    NetworkIO io{{named("a"), named("nobody")}, {named("nothing"), named("difference")}};
    auto network = load(sum_and_difference(), {}, io);
    EXPECT_THAT(network->get_all_input_name(), ElementsAre("a", "b"));
    EXPECT_THAT(network->get_all_output_name(), ElementsAre("sum", "difference"));
    NetworkIO twice{{named("a"), named("a")}, {}};
    EXPECT_THAT(error_of([&] { load(sum_and_difference(), {}, twice); }), HasSubstr("names input 'a' twice"));
    NetworkIO outputs{{}, {named("sum"), named("sum")}};
    EXPECT_THAT(error_of([&] { load(sum_and_difference(), {}, outputs); }),
                HasSubstr("names output 'sum' twice"));
}

TEST(NetworkIOList, OnlyConfiguredOutputsAreComputed) {
    Network network(NetworkIO{{}, {named("difference")}});
    network.compute_only_configured_output();
    network.load_model(sum_and_difference());
    EXPECT_THAT(network.get_all_output_name(), ElementsAre("difference"));
    EXPECT_EQ(impl_of(network).program().steps().size(), 1u);
    write<float>(*network.get_io_tensor("a"), {1, 2, 3, 4});
    write<float>(*network.get_io_tensor("b"), {1, 1, 1, 1});
    run(network);
    EXPECT_THAT(output(network, "difference"), ElementsAre(0, 1, 2, 3));
    Network none(NetworkIO{{}, {named("nothing")}});
    none.compute_only_configured_output();
    EXPECT_THAT(error_of([&] { none.load_model(sum_and_difference()); }), HasSubstr("names no output"));
}

TEST(NetworkIOList, OutputsThatAreNotComputedDoNotRestrictTheSizes) {
    auto model = make_model({{"x", {mge::DType::f32, {2, 3}, {}}}}, [](const mge::Tensors& in) {
        return std::vector<std::pair<std::string, mge::Tensor>>{
            {"twice", mge::ops::add(in[0], in[0])}, {"fixed", mge::ops::reshape(in[0], {.shape = {3, 2}})}};
    });
    ModelPath file(model);
    Network network(NetworkIO{{}, {named("twice")}});
    network.compute_only_configured_output();
    network.load_model(file.path());
    for (size_t n : {4, 1, 5}) {
        auto x = network.get_io_tensor("x");
        x->set_layout(layout({n, 3}));
        write<float>(*x, std::vector<float>(3 * n, 1));
        run(network);
        EXPECT_THAT(output(network, "twice"), testing::Each(2));
        EXPECT_TRUE(network.get_io_tensor("twice")->get_layout() == layout({n, 3}));
    }
}

TEST(NetworkIOList, TypesWithoutLiteEquivalentAreNamed) {
    EXPECT_THAT(error_of([&] { load(comparison()); }),
                HasSubstr("output 'narrow' has elements of type bfloat16"));
    Network network(NetworkIO{{}, {named("is_positive"), named("twice")}});
    network.compute_only_configured_output();
    network.load_model(comparison());
    write<double>(*network.get_io_tensor("x"), {1, -2});
    run(network);
    EXPECT_EQ(network.get_io_tensor("twice")->get_layout(), layout({2}, LITE_DOUBLE));
    EXPECT_THAT(values_of<double>(*network.get_io_tensor("twice")), ElementsAre(2, -4));
    EXPECT_EQ(network.get_io_tensor("is_positive")->get_layout(), layout({2}, LITE_BOOL));
    EXPECT_THAT(values_of<uint8_t>(*network.get_io_tensor("is_positive")), ElementsAre(1, 0));
}

TEST(NetworkIOList, ShapeQueriesComputeNothing) {
    auto sum = named("sum");
    sum.io_type = LITE_IO_SHAPE;
    auto network = load(sum_and_difference(), {}, {{}, {sum}});
    EXPECT_TRUE(network->get_io_tensor("sum")->get_layout() == layout({4}));
    EXPECT_EQ(impl_of(*network).program().steps().size(), 1u);
    fill(*network, "a");
    fill(*network, "b");
    run(*network);
    EXPECT_EQ(network->get_io_tensor("sum")->get_tensor_total_size_in_byte(), 4 * sizeof(float));
    EXPECT_EQ(TensorHelper::impl(*network->get_io_tensor("sum")).current_address(), nullptr);
    auto positive = named("positive");
    positive.io_type = LITE_IO_SHAPE;
    auto picking = load(picker(), {}, {{}, {positive}});
    write<float>(*picking->get_io_tensor("x"), {1, -2, 3, -4, 5, -6});
    run(*picking);
    EXPECT_TRUE(picking->get_io_tensor("positive")->get_layout() == layout({3}));
    EXPECT_EQ(TensorHelper::impl(*picking->get_io_tensor("positive")).current_address(), nullptr);
    sum.name = "score";
    auto alone = load(classifier(), {}, {{}, {sum}});
    run(*alone);
    EXPECT_TRUE(alone->get_io_tensor("score")->get_layout() == layout({1, 10}));
}

TEST(NetworkIOList, InputLayoutComesFromModelOrConfiguration) {
    auto data = named("data");
    data.config_layout = layout({2, 3, 32, 32});
    auto network = load(classifier(), {}, {{data}, {}});
    EXPECT_TRUE(network->get_io_tensor("data")->get_layout() == layout({2, 3, 32, 32}));
    EXPECT_TRUE(network->get_io_tensor("score")->get_layout() == layout({2, 10}));
    data.config_layout = layout({2, 3, 32, 32}, LITE_INT);
    EXPECT_THAT(error_of([&] { load(classifier(), {}, {{data}, {}}); }), HasSubstr("configured as int32"));
}

TEST(NetworkIOList, CpuDeviceIsTheHost) {
    auto a = named("a"), sum = named("sum");
    a.is_host = sum.is_host = false;
    auto network = load(sum_and_difference(), {}, {{a}, {sum}});
    write<float>(*network->get_io_tensor("a"), {1, 2, 3, 4});
    network->get_io_tensor("b")->fill_zero();
    run(*network);
    EXPECT_THAT(output(*network, "sum"), ElementsAre(1, 2, 3, 4));
}

TEST(NetworkIOList, DiscreteImagesFormOneBatch) {
    Config config;
    config.discrete_input_name = "data";
    auto data = named("data");
    data.config_layout = layout({3, 3, 32, 32});
    auto network = load(classifier(), config, {{data}, {}});
    auto whole = load(classifier(), {}, {{data}, {}});
    fill(*whole, "data");
    EXPECT_THAT(error_of([&] { network->get_io_tensor("data"); }), HasSubstr("get_discrete_tensors"));
    EXPECT_THAT(error_of([&] { network->get_input_tensor(0); }), HasSubstr("get_discrete_tensors"));
    EXPECT_THAT(error_of([&] { whole->get_discrete_tensors("data"); }),
                HasSubstr("no discrete input 'data'"));
    auto images = network->get_discrete_tensors("data");
    ASSERT_EQ(images.size(), 3u);
    EXPECT_EQ(network->get_input_tensors(0), images);
    EXPECT_EQ(whole->get_input_tensors(0).size(), 1u);
    EXPECT_TRUE(images[0]->get_layout() == layout({1, 3, 32, 32}));
    auto all = whole->get_io_tensor("data");
    for (size_t i = 0; i < 3; ++i) images[i]->share_memory_with(*all->slice({i}, {i + 1}));
    EXPECT_TRUE(network->get_io_tensor("score")->get_layout() == layout({3, 10}));
    run(*network);
    run(*whole);
    expect_near(output(*network, "score"), output(*whole, "score"));
    images[1]->set_layout(layout({1, 3, 16, 16}));
    EXPECT_THAT(error_of([&] { network->forward(); }), HasSubstr("all must be equal"));
    for (auto& image : images) {
        image->set_layout(layout({1, 3, 16, 24}));
        image->fill_zero();
    }
    run(*network);
    EXPECT_TRUE(network->get_io_tensor("score")->get_layout() == layout({3, 10}));
    config.discrete_input_name = "dada";
    EXPECT_THAT(error_of([&] { load(classifier(), config); }), HasSubstr("no input 'dada'"));
}

}  // namespace
}  // namespace lite::test
