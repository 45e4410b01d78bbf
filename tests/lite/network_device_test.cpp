// SPDX-License-Identifier: Apache-2.0
// Networks on a device whose memory the host cannot read: the shadow device stands for a GPU.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "libmge/lite/device.h"
#include "tests/lite/networks.h"
#include "tests/shadow/shadow_device.h"

namespace lite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DeviceNetwork : public testing::Test {
protected:
    DeviceNetwork() {
        mge::test::shadow_device();
        let_cuda_mean("shadow");
        config_.device_type = LITE_CUDA;
    }
    ~DeviceNetwork() override { let_cuda_mean("gpu"); }
    std::shared_ptr<Network> filled(const NetworkIO& io = {}) {
        auto network = load(sum_and_difference(), config_, io);
        auto tensor = [&](const char* name) { return network->get_io_tensor(name, LITE_INPUT); };
        Tensor a(LITE_CPU, layout({4})), b(LITE_CPU, layout({4}));
        write<float>(a, {1, 2, 3, 4});
        write<float>(b, {1, 1, 1, 1});
        tensor("a")->copy_from(a);
        tensor("b")->copy_from(b);
        return network;
    }
    Config config_;
};

IO on_device(const std::string& name) {
    IO io;
    io.name = name;
    io.is_host = false;
    return io;
}

TEST_F(DeviceNetwork, CopiesFromAndToTheHost) {
    auto network = filled();
    EXPECT_EQ(network->get_device_type(), LITE_CUDA);
    for (int i = 0; i < 3; ++i) {
        run(*network);
        EXPECT_THAT(output(*network, "sum"), ElementsAre(2, 3, 4, 5));
        EXPECT_THAT(output(*network, "difference"), ElementsAre(0, 1, 2, 3));
    }
    EXPECT_TRUE(network->get_io_tensor("sum")->is_pinned_host());
}

TEST_F(DeviceNetwork, ReadsAndWritesOnTheDevice) {
    auto network = filled({{on_device("a")}, {on_device("sum")}});
    auto sum = network->get_io_tensor("sum");
    EXPECT_EQ(network->get_io_tensor("a")->get_device_type(), LITE_CUDA);
    EXPECT_EQ(sum->get_device_type(), LITE_CUDA);
    EXPECT_FALSE(sum->is_pinned_host());
    run(*network);
    EXPECT_THAT(values_of<float>(*sum), ElementsAre(2, 3, 4, 5));
    EXPECT_THAT(output(*network, "difference"), ElementsAre(0, 1, 2, 3));
}

TEST_F(DeviceNetwork, CallsBackWhenTheOutputsAreThere) {
    auto network = filled();
    std::atomic<bool> is_done{false};
    network->set_async_callback([&] {
        EXPECT_THAT(output(*network, "sum"), ElementsAre(2, 3, 4, 5));
        is_done = true;
    });
    network->forward();
    while (!is_done) std::this_thread::yield();
    network->wait();
}

TEST_F(DeviceNetwork, ReportsDeviceErrors) {
    auto network = filled();
    mge::test::fail_next_work(mge::test::shadow_device(), "the device is gone");
    EXPECT_THAT(error_of([&] { run(*network); }), HasSubstr("the device is gone"));
    run(*network);
    EXPECT_THAT(output(*network, "sum"), ElementsAre(2, 3, 4, 5));
}

TEST_F(DeviceNetwork, RunsWithoutAPlanAndWithDiscreteImages) {
    config_.options.force_dynamic_alloc = true;
    run(*filled());
    config_.options.force_dynamic_alloc = false;
    config_.discrete_input_name = "data";
    auto network = load(classifier(), config_);
    auto whole = load(classifier());
    fill(*whole, "data");
    network->get_discrete_tensors("data")[0]->copy_from(*whole->get_io_tensor("data"));
    run(*network);
    run(*whole);
    expect_near(output(*network, "score"), output(*whole, "score"));
}

TEST_F(DeviceNetwork, SharesWeightsAndRefusesCpuSettings) {
    auto source = load(classifier(), config_);
    auto shared = std::make_shared<Network>(config_);
    Runtime::shared_weight_with_network(shared, source);
    EXPECT_EQ(&impl_of(*shared).program(), &impl_of(*source).program());
    auto other = std::make_shared<Network>(config_);
    EXPECT_THAT(error_of([&] { Runtime::set_cpu_inplace_mode(other); }), HasSubstr("does not run on a CPU"));
    EXPECT_THAT(error_of([&] { Runtime::set_cpu_threads_number(other, 2); }),
                HasSubstr("does not run on a CPU"));
    EXPECT_THAT(error_of([&] { Runtime::set_runtime_thread_affinity(source, [](int) {}); }),
                HasSubstr("does not run on a CPU"));
}

}  // namespace
}  // namespace lite::test
