// SPDX-License-Identifier: Apache-2.0
// Networks through the C interface: errors of C programs, and ownership of memory. all_functions.c tests the
// functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <vector>

#include "lite-c/global_c.h"
#include "tests/lite/c_models.h"

namespace {

using testing::HasSubstr;
using testing::StartsWith;

class LiteNetworkInC : public testing::Test {
protected:
    static void SetUpTestSuite() {
        ASSERT_EQ(make_folder(folder_, sizeof folder_), 0);
        ASSERT_EQ(write_classifier(path("classifier.mge").c_str(), 1), 0);
        ASSERT_EQ(write_sum_and_difference(path("sum.mge").c_str()), 0);
    }
    static void TearDownTestSuite() { remove_folder(folder_); }
    static std::string path(const std::string& name) { return std::string(folder_) + "/" + name; }

    static LiteNetwork make() {
        LiteNetwork network = nullptr;
        EXPECT_EQ(LITE_make_default_network(&network), 0) << LITE_get_last_error();
        return network;
    }
    static LiteNetwork load(const std::string& name) {
        LiteNetwork network = make();
        EXPECT_EQ(LITE_load_model_from_path(network, path(name).c_str()), 0) << LITE_get_last_error();
        return network;
    }
    static void run(LiteNetwork network) {
        EXPECT_EQ(LITE_forward(network), 0) << LITE_get_last_error();
        EXPECT_EQ(LITE_wait(network), 0) << LITE_get_last_error();
    }

private:
    inline static char folder_[256];
};

LiteTensor tensor_of(LiteNetwork network, const char* name) {
    LiteTensor tensor = nullptr;
    EXPECT_EQ(LITE_get_io_tensor(network, name, LITE_IO, &tensor), 0) << LITE_get_last_error();
    return tensor;
}

float* floats_of(LiteTensor tensor) {
    void* data = nullptr;
    EXPECT_EQ(LITE_get_tensor_memory(tensor, &data), 0) << LITE_get_last_error();
    return static_cast<float*>(data);
}

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(LiteNetworkInC, ReadsCallerMemory) {
    LiteNetwork network = load("sum.mge");
    std::array<float, 4> a{1, 2, 3, 4}, sum{};
    LiteTensor input = tensor_of(network, "a"), output = tensor_of(network, "sum");
    EXPECT_EQ(LITE_reset_tensor_memory(input, a.data(), sizeof a), 0);
    EXPECT_EQ(LITE_tensor_fill_zero(tensor_of(network, "b")), 0);
    EXPECT_EQ(LITE_reset_tensor_memory(output, sum.data(), sizeof sum), 0);
    run(network);
    EXPECT_EQ(sum, a);
    a[2] = -3;
    run(network);
    EXPECT_EQ(sum[2], -3);
    EXPECT_EQ(floats_of(output), sum.data());
    EXPECT_EQ(LITE_destroy_network(network), 0);
}

TEST_F(LiteNetworkInC, LoadsOnnxModels) {
    ASSERT_EQ(write_as_onnx(path("sum.onnx").c_str(), path("sum.mge").c_str()), 0);
    LiteNetwork by_path = load("sum.onnx"), by_memory = make();
    std::string model = content_of(path("sum.onnx"));
    ASSERT_EQ(LITE_load_model_from_mem(by_memory, model.data(), model.size()), 0) << LITE_get_last_error();
    for (auto network : {by_path, by_memory}) {
        // The first axis is open there.
        floats_of(tensor_of(network, "a"))[0] = 3;
        floats_of(tensor_of(network, "b"))[0] = 10;
        run(network);
        EXPECT_FLOAT_EQ(floats_of(tensor_of(network, "sum"))[0], 13);
        EXPECT_FLOAT_EQ(floats_of(tensor_of(network, "difference"))[0], -7);
        LITE_destroy_network(network);
    }
}

TEST_F(LiteNetworkInC, TensorsEndWithTheirNetwork) {
    LiteNetwork network = load("sum.mge");
    LiteTensor input = tensor_of(network, "a"), slice = nullptr;
    size_t start = 1, end = 3;
    ASSERT_EQ(LITE_tensor_slice(input, &start, &end, nullptr, 1, &slice), 0);
    floats_of(input)[2] = 7;
    EXPECT_EQ(LITE_destroy_tensor(input), 0);
    EXPECT_EQ(tensor_of(network, "a"), input);
    EXPECT_EQ(LITE_destroy_network(network), 0);
    EXPECT_EQ(LITE_tensor_fill_zero(input), -1);
    EXPECT_THAT(LITE_get_last_error(), HasSubstr("not a handle of a tensor"));
    EXPECT_EQ(floats_of(slice)[1], 7);  // the caller's own, with the memory
    EXPECT_EQ(LITE_destroy_tensor(slice), 0);
}

TEST_F(LiteNetworkInC, InvalidHandles) {
    LiteNetwork network = make();
    LiteTensor tensor = nullptr;
    ASSERT_EQ(LITE_make_tensor(default_desc, &tensor), 0);
    int number = 0;
    for (LiteNetwork wrong : {static_cast<void*>(&number), tensor, reinterpret_cast<void*>(~uintptr_t{0})}) {
        EXPECT_EQ(LITE_forward(wrong), -1);
        EXPECT_THAT(LITE_get_last_error(),
                    HasSubstr("LITE_forward: the argument 'network' is not a handle of a network"));
        EXPECT_EQ(LITE_destroy_network(wrong), 0);
    }
    EXPECT_EQ(LITE_tensor_fill_zero(network), -1);
    EXPECT_EQ(LITE_destroy_tensor(network), 0);
    EXPECT_EQ(LITE_set_device_id(network, 1), 0);
    EXPECT_EQ(LITE_destroy_network(network), 0);
    EXPECT_EQ(LITE_destroy_network(network), 0);
    EXPECT_EQ(LITE_set_device_id(network, 1), -1);
    EXPECT_EQ(LITE_destroy_tensor(tensor), 0);
}

TEST_F(LiteNetworkInC, TextsLiveAsLongAsTheNetwork) {
    LiteNetwork network = load("sum.mge");
    const char *first = nullptr, *again = nullptr, *names[2] = {};
    ASSERT_EQ(LITE_get_input_name(network, 0, &first), 0);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(LITE_get_output_name(network, 1, &again), 0);
    EXPECT_STREQ(first, "a");
    EXPECT_STREQ(again, "difference");
    ASSERT_EQ(LITE_get_all_input_name(network, nullptr, names), 0);
    EXPECT_EQ(names[0], first);
    EXPECT_EQ(LITE_get_all_input_name(network, nullptr, nullptr), 0);
    EXPECT_EQ(LITE_load_model_from_path(network, path("classifier.mge").c_str()), 0) << LITE_get_last_error();
    EXPECT_STREQ(first, "a");
    const char* info = nullptr;
    int size = -1;
    EXPECT_EQ(LITE_get_model_extra_info(network, &info, &size), 0);
    EXPECT_STREQ(info, "");
    EXPECT_EQ(size, 0);
    EXPECT_EQ(LITE_get_model_extra_info(network, &info, nullptr), 0);
    EXPECT_EQ(LITE_destroy_network(network), 0);
}

TEST_F(LiteNetworkInC, FailedLoadsLeaveANetworkThatLoads) {
    LiteNetwork network = make();
    std::string model = content_of(path("sum.mge"));
    EXPECT_EQ(LITE_load_model_from_path(network, path("none.mge").c_str()), -1);
    EXPECT_THAT(LITE_get_last_error(), HasSubstr("none.mge"));
    EXPECT_EQ(LITE_load_model_from_mem(network, model.data(), 0), -1);
    EXPECT_EQ(LITE_load_model_from_mem(network, model.data(), model.size() / 2), -1);
    EXPECT_EQ(LITE_forward(network), -1);
    EXPECT_EQ(LITE_load_model_from_mem(network, model.data(), model.size()), 0) << LITE_get_last_error();
    EXPECT_EQ(LITE_tensor_fill_zero(tensor_of(network, "a")), 0);
    EXPECT_EQ(LITE_tensor_fill_zero(tensor_of(network, "b")), 0);
    run(network);
    EXPECT_EQ(floats_of(tensor_of(network, "sum"))[0], 0);
    EXPECT_EQ(LITE_destroy_network(network), 0);
}

TEST_F(LiteNetworkInC, InvalidConfigurations) {
    LiteNetwork network = nullptr;
    LiteIO nameless = default_io;
    LiteNetworkIO io{};
    io.inputs = &nameless;
    io.input_size = 1;
    EXPECT_EQ(LITE_make_network(&network, *default_config(), io), -1);
    EXPECT_THAT(LITE_get_last_error(), HasSubstr("number 0 of the network_io's inputs has no name"));
    io = {};
    io.output_size = 3;
    EXPECT_EQ(LITE_make_network(&network, *default_config(), io), -1);
    EXPECT_THAT(LITE_get_last_error(), HasSubstr("3 outputs, and null for their array"));
    for (int LiteOptions::*level :
         {&LiteOptions::jit_level, &LiteOptions::comp_node_seq_record_level, &LiteOptions::graph_opt_level,
          &LiteOptions::async_exec_level, &LiteOptions::precision, &LiteOptions::weight_bits}) {
        for (int value : {-1, 1 << 20}) {
            LiteConfig config = *default_config();
            config.options.*level = value;
            EXPECT_EQ(LITE_make_network_config(&network, config), -1);
            EXPECT_THAT(LITE_get_last_error(), HasSubstr(std::to_string(value)));
        }
    }
    LiteConfig config = *default_config();
    config.backend = static_cast<LiteBackend>(1);
    EXPECT_EQ(LITE_make_network_config(&network, config), -1);
    EXPECT_EQ(network, nullptr);
}

TEST(LiteConstantsInC, AreMegEngineLites) {
    EXPECT_EQ(default_config()->device_id, -1);
    EXPECT_EQ(default_config()->device_type, LITE_CPU);
    EXPECT_EQ(default_config()->bare_model_cryption_name, nullptr);
    EXPECT_EQ(default_config()->options.graph_opt_level, 2);
    EXPECT_EQ(default_config()->options.async_exec_level, 1);
    EXPECT_EQ(default_config()->options.var_sanity_check_first_run, 1);
    EXPECT_EQ(default_config()->options.jit_level, 0);
    EXPECT_EQ(default_config(), default_config());
    EXPECT_EQ(default_option.graph_opt_level, 2);
    EXPECT_EQ(default_io.is_host, 1);
    EXPECT_EQ(default_io.name, nullptr);
    EXPECT_EQ(default_network_io()->input_size, 0u);
    EXPECT_EQ(default_layout.ndim, 0u);
    EXPECT_EQ(default_desc.device_type, LITE_CPU);
}

struct Seen {
    std::thread::id thread;
    std::atomic<int> calls{0};
    std::vector<std::string> names;
    LiteTensor first = nullptr;
};

int note(const LiteIO* ios, const LiteTensor* tensors, size_t size, void* data) {
    auto& seen = *static_cast<Seen*>(data);
    seen.thread = std::this_thread::get_id();
    seen.names.clear();
    for (size_t i = 0; i < size; ++i) seen.names.push_back(ios[i].name);
    seen.first = tensors[0];
    ++seen.calls;
    return 0;
}

TEST_F(LiteNetworkInC, CallbacksGetTheHandlesOfTheCaller) {
    LiteNetwork network = load("sum.mge");
    Seen start, finish;
    ASSERT_EQ(LITE_set_start_callback_with_userdata(network, note, &start), 0);
    ASSERT_EQ(LITE_set_finish_callback_with_userdata(network, note, &finish), 0);
    EXPECT_EQ(LITE_tensor_fill_zero(tensor_of(network, "a")), 0);
    EXPECT_EQ(LITE_tensor_fill_zero(tensor_of(network, "b")), 0);
    for (int i = 0; i < 3; ++i) run(network);
    EXPECT_EQ(start.calls, 3);
    EXPECT_EQ(finish.calls, 3);
    EXPECT_EQ(start.thread, std::this_thread::get_id());
    EXPECT_THAT(start.names, testing::ElementsAre("a", "b"));
    EXPECT_THAT(finish.names, testing::ElementsAre("sum", "difference"));
    EXPECT_EQ(start.first, tensor_of(network, "a"));
    EXPECT_EQ(finish.first, tensor_of(network, "sum"));
    EXPECT_EQ(LITE_destroy_network(network), 0);
}

TEST_F(LiteNetworkInC, TwoNetworksHaveTheirOwnCallbacks) {
    LiteNetwork networks[] = {load("sum.mge"), load("classifier.mge")};
    Seen starts[2], finishes[2];
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(LITE_set_start_callback_with_userdata(networks[i], note, &starts[i]), 0);
        ASSERT_EQ(LITE_set_finish_callback_with_userdata(networks[i], note, &finishes[i]), 0);
    }
    for (auto* name : {"a", "b"}) LITE_tensor_fill_zero(tensor_of(networks[0], name));
    LITE_tensor_fill_zero(tensor_of(networks[1], "data"));
    for (auto network : networks) EXPECT_EQ(LITE_forward(network), 0);
    for (auto network : networks) EXPECT_EQ(LITE_wait(network), 0);
    EXPECT_THAT(starts[1].names, testing::ElementsAre("data"));
    EXPECT_THAT(finishes[0].names, testing::ElementsAre("sum", "difference"));
    EXPECT_EQ(starts[0].calls + starts[1].calls + finishes[0].calls + finishes[1].calls, 4);
    for (auto network : networks) EXPECT_EQ(LITE_destroy_network(network), 0);
}

int never(void*) { throw std::logic_error("a callback that was removed"); }

TEST_F(LiteNetworkInC, CallbacksAreRemoved) {
    LiteNetwork network = load("sum.mge");
    Seen start, finish;
    for (auto* name : {"a", "b"}) LITE_tensor_fill_zero(tensor_of(network, name));
    ASSERT_EQ(LITE_set_start_callback_with_userdata(network, note, &start), 0);
    ASSERT_EQ(LITE_set_finish_callback_with_userdata(network, note, &finish), 0);
    run(network);
    EXPECT_EQ(LITE_set_start_callback(network, nullptr), 0);
    run(network);
    EXPECT_EQ(LITE_set_finish_callback_with_userdata(network, nullptr, &finish), 0);
    run(network);
    EXPECT_EQ(start.calls, 1);
    EXPECT_EQ(finish.calls, 2);
    for (auto remove :
         {+[](LiteNetwork n) { return LITE_set_async_callback(n, nullptr); },
          +[](LiteNetwork n) { return LITE_set_async_callback_with_userdata(n, nullptr, n); }}) {
        ASSERT_EQ(LITE_set_async_callback_with_userdata(network, never, nullptr), 0);
        EXPECT_EQ(remove(network), 0);
        run(network);
    }
    EXPECT_EQ(LITE_set_start_callback_with_userdata(network, nullptr, nullptr), 0);
    EXPECT_EQ(LITE_set_finish_callback(network, nullptr), 0);
    run(network);
    EXPECT_EQ(LITE_destroy_network(network), 0);
}

void* no_memory(LiteDeviceType, int, size_t, size_t) { return nullptr; }
void free_nothing(LiteDeviceType, int, void*) {}

TEST_F(LiteNetworkInC, AllocatorFailureIsAnError) {
    LiteNetwork network = make();
    ASSERT_EQ(LITE_set_memory_allocator(network, no_memory, free_nothing), 0);
    int code = LITE_load_model_from_path(network, path("classifier.mge").c_str());
    if (code == 0) {
        LiteTensor input = nullptr;
        code = LITE_get_io_tensor(network, "data", LITE_IO, &input);
        if (code == 0) code = LITE_tensor_fill_zero(input);
        if (code == 0) code = LITE_forward(network);
        if (code == 0) code = LITE_wait(network);
    }
    EXPECT_EQ(code, -1);
    EXPECT_THAT(LITE_get_last_error(), HasSubstr("did not provide"));
    EXPECT_EQ(LITE_destroy_network(network), 0);
}

TEST_F(LiteNetworkInC, ErrorsOfThreadsDoNotMix) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([i] {
            LiteNetwork network = make();
            for (int round = 0; round < 200; ++round) {
                std::string missing = "/missing" + std::to_string(i) + "." + std::to_string(round);
                EXPECT_EQ(LITE_load_model_from_path(network, missing.c_str()), -1);
                EXPECT_THAT(LITE_get_last_error(), HasSubstr(missing));
            }
            EXPECT_EQ(LITE_destroy_network(network), 0);
        });
    for (auto& thread : threads) thread.join();
}

// Each pointer of each function, null by itself.
class NullArguments : public LiteNetworkInC {
protected:
    static void refused(int code, const char* what) {
        EXPECT_EQ(code, -1) << what;
        EXPECT_THAT(LITE_get_last_error(), StartsWith("Error: LITE_")) << what;
        EXPECT_THAT(LITE_get_last_error(), HasSubstr(std::string("'") + what + "' is null"));
    }
};

int any_affinity(int) { return 0; }
int any_async() { return 0; }
int any_async_with(void*) { return 0; }
int any_io(const LiteIO*, const LiteTensor*, size_t) { return 0; }
TEST_F(NullArguments, Networks) {
    LiteNetwork n = load("sum.mge"), none = nullptr;
    LiteConfig config = *default_config();
    LiteNetworkIO io{};
    LiteTensor tensor = nullptr;
    const char* name = nullptr;
    int number = 0;
    size_t size = 0;
    char model[8] = {};
    LiteDeviceType type;
    refused(LITE_make_default_network(nullptr), "network");
    refused(LITE_make_network(nullptr, config, io), "network");
    refused(LITE_make_network_config(nullptr, config), "network");
    refused(LITE_destroy_network(none), "network");
    refused(LITE_load_model_from_mem(none, model, 8), "network");
    refused(LITE_load_model_from_mem(n, nullptr, 8), "model_mem");
    refused(LITE_load_model_from_path(none, "x"), "network");
    refused(LITE_load_model_from_path(n, nullptr), "model_path");
    refused(LITE_compute_only_configured_output(none), "network");
    refused(LITE_shared_weight_with_network(none, n), "dst_network");
    refused(LITE_shared_weight_with_network(n, none), "src_network");
    refused(LITE_forward(none), "network");
    refused(LITE_wait(none), "network");
    refused(LITE_get_io_tensor(none, "a", LITE_IO, &tensor), "network");
    refused(LITE_get_io_tensor(n, nullptr, LITE_IO, &tensor), "io_name");
    refused(LITE_get_io_tensor(n, "a", LITE_IO, nullptr), "tensor");
    refused(LITE_get_discrete_tensor(none, "a", 0, LITE_INPUT, &tensor), "network");
    refused(LITE_get_discrete_tensor(n, nullptr, 0, LITE_INPUT, &tensor), "io_name");
    refused(LITE_get_discrete_tensor(n, "a", 0, LITE_INPUT, nullptr), "tensor");
    refused(LITE_get_input_name(none, 0, &name), "network");
    refused(LITE_get_input_name(n, 0, nullptr), "name");
    refused(LITE_get_input_dimension_name(none, 0, 0, &name), "network");
    refused(LITE_get_input_dimension_name(n, 0, 0, nullptr), "name");
    refused(LITE_get_output_name(none, 0, &name), "network");
    refused(LITE_get_output_name(n, 0, nullptr), "name");
    refused(LITE_get_all_input_name(none, &size, nullptr), "network");
    refused(LITE_get_all_output_name(none, &size, nullptr), "network");
    refused(LITE_get_device_id(none, &number), "network");
    refused(LITE_get_device_id(n, nullptr), "device_id");
    refused(LITE_get_stream_id(none, &number), "network");
    refused(LITE_get_stream_id(n, nullptr), "stream_id");
    refused(LITE_get_device_type(none, &type), "network");
    refused(LITE_get_device_type(n, nullptr), "device_type");
    refused(LITE_get_model_extra_info(none, &name, &number), "network");
    refused(LITE_get_model_extra_info(n, nullptr, &number), "info");
    refused(LITE_is_cpu_inplace_mode(none, &number), "network");
    refused(LITE_is_cpu_inplace_mode(n, nullptr), "is_cpu_inplace_mode");
    refused(LITE_get_cpu_threads_number(none, &size), "network");
    refused(LITE_get_cpu_threads_number(n, nullptr), "nr_threads");
    EXPECT_EQ(LITE_destroy_network(n), 0);
}

TEST_F(NullArguments, Settings) {
    LiteNetwork n = load("sum.mge"), none = nullptr;
    refused(LITE_set_device_id(none, 0), "network");
    refused(LITE_set_stream_id(none, 0), "network");
    refused(LITE_set_cpu_inplace_mode(none), "network");
    refused(LITE_set_cpu_threads_number(none, 2), "network");
    refused(LITE_use_tensorrt(none), "network");
    refused(LITE_set_network_algo_policy(none, LITE_ALGO_HEURISTIC), "network");
    refused(LITE_set_network_algo_fastrun_config(none, 0, 0), "network");
    refused(LITE_set_network_algo_workspace_limit(none, 0), "network");
    refused(LITE_set_memory_allocator(none, no_memory, free_nothing), "network");
    refused(LITE_set_memory_allocator(n, nullptr, free_nothing), "allocate_fun");
    refused(LITE_set_memory_allocator(n, no_memory, nullptr), "free_fun");
    refused(LITE_share_runtime_memroy(none, n), "dst_network");
    refused(LITE_share_runtime_memroy(n, none), "src_network");
    refused(LITE_share_runtime_memory(none, n), "dst_network");
    refused(LITE_share_runtime_memory(n, none), "src_network");
    refused(LITE_extra_configure(none, {}), "network");
    refused(LITE_set_runtime_thread_affinity(none, any_affinity), "network");
    refused(LITE_set_runtime_thread_affinity(n, nullptr), "thread_affinity_callback");
    refused(LITE_set_async_callback(none, any_async), "network");
    refused(LITE_set_async_callback_with_userdata(none, any_async_with, nullptr), "network");
    refused(LITE_set_start_callback(none, any_io), "network");
    refused(LITE_set_start_callback_with_userdata(none, note, nullptr), "network");
    refused(LITE_set_finish_callback(none, any_io), "network");
    refused(LITE_set_finish_callback_with_userdata(none, note, nullptr), "network");
    refused(LITE_enable_profile_performance(none, "x"), "network");
    refused(LITE_enable_profile_performance(n, nullptr), "profile_file_path");
    refused(LITE_enable_io_txt_dump(none, "x"), "network");
    refused(LITE_enable_io_txt_dump(n, nullptr), "io_txt_out_file");
    refused(LITE_enable_io_bin_dump(none, "x"), "network");
    refused(LITE_enable_io_bin_dump(n, nullptr), "io_bin_out_dir");
    refused(LITE_get_static_memory_alloc_info(none, "x"), "network");
    refused(LITE_get_static_memory_alloc_info(n, nullptr), "log_dir");
    refused(LITE_enable_global_layout_transform(none), "network");
    refused(LITE_dump_layout_transform_model(none, "x"), "network");
    refused(LITE_dump_layout_transform_model(n, nullptr), "dump_file_path");
    EXPECT_EQ(LITE_destroy_network(n), 0);
}

TEST_F(LiteNetworkInC, HandlesOfTensorsEndWithTheirModel) {
    LiteNetwork network = load("sum.mge");
    LiteTensor before = tensor_of(network, "a");
    EXPECT_EQ(LITE_load_model_from_path(network, path("absent.mge").c_str()), -1);
    EXPECT_NE(floats_of(before), nullptr);  // nothing was loaded
    ASSERT_EQ(LITE_load_model_from_path(network, path("sum.mge").c_str()), 0) << LITE_get_last_error();
    void* data = nullptr;
    EXPECT_EQ(LITE_get_tensor_memory(before, &data), -1);
    EXPECT_THAT(LITE_get_last_error(), HasSubstr("destroyed"));
    EXPECT_NE(floats_of(tensor_of(network, "a")), nullptr);
    EXPECT_EQ(LITE_destroy_network(network), 0);
}

}  // namespace
