// SPDX-License-Identifier: Apache-2.0
// Callbacks of networks, when they are called and on which thread.
#include <gmock/gmock.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "lite/global.h"
#include "tests/lite/networks.h"

namespace lite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<Network> filled(const Config& config = {}) {
    auto network = load(sum_and_difference(), config);
    write<float>(*network->get_io_tensor("a"), {1, 2, 3, 4});
    write<float>(*network->get_io_tensor("b"), {1, 1, 1, 1});
    return network;
}

TEST(NetworkCallbacks, StartGetsInputsAndFinishOutputs) {
    auto network = filled();
    int starts = 0, finishes = 0;
    auto caller = std::this_thread::get_id();
    network->set_start_callback([&](const IOTensors& tensors) {
        ++starts;
        EXPECT_EQ(std::this_thread::get_id(), caller);
        ASSERT_EQ(tensors.size(), 2u);
        auto& [io, tensor] = tensors.at("a");
        EXPECT_EQ(io.name, "a");
        EXPECT_THAT(values_of<float>(*tensor), ElementsAre(1, 2, 3, 4));
    });
    network->set_finish_callback([&](const IOTensors& tensors) {
        ++finishes;
        EXPECT_EQ(std::this_thread::get_id(), caller);
        ASSERT_EQ(tensors.size(), 2u);
        EXPECT_THAT(values_of<float>(*tensors.at("sum").second), ElementsAre(2, 3, 4, 5));
        EXPECT_THAT(values_of<float>(*tensors.at("difference").second), ElementsAre(0, 1, 2, 3));
    });
    for (int i = 1; i <= 3; ++i) {
        network->forward();
        EXPECT_EQ(starts, i);
        EXPECT_EQ(finishes, i - 1);
        network->wait();
        EXPECT_EQ(finishes, i);
        network->wait();
        EXPECT_EQ(finishes, i);
    }
    network->set_start_callback({}).set_finish_callback({});
    run(*network);
    EXPECT_EQ(starts + finishes, 6);
}

TEST(NetworkCallbacks, AreSeparatePerNetwork) {
    auto one = filled(), two = filled();
    std::string calls;
    for (auto& [network, name] : {std::pair{one, "1"}, std::pair{two, "2"}}) {
        network->set_start_callback(
            [&calls, name = name](const IOTensors&) { calls += std::string("s") + name; });
        network->set_finish_callback(
            [&calls, name = name](const IOTensors&) { calls += std::string("f") + name; });
    }
    one->forward();
    two->forward();
    two->wait();
    one->wait();
    EXPECT_EQ(calls, "s1s2f2f1");
}

// Inputs may be written in it.
TEST(NetworkCallbacks, StartMayFillInputsAndEndTheRun) {
    auto network = filled();
    network->set_start_callback([&](const IOTensors& tensors) {
        write<float>(*tensors.at("a").second, {9, 9, 9, 9});
    });
    run(*network);
    EXPECT_THAT(output(*network, "sum"), ElementsAre(10, 10, 10, 10));
    std::vector<float> elsewhere{5, 5, 5, 5};
    network->set_start_callback([&](const IOTensors& tensors) {
        tensors.at("a").second->reset(elsewhere.data(), elsewhere.size() * sizeof(float));
    });
    run(*network);
    EXPECT_THAT(output(*network, "sum"), ElementsAre(6, 6, 6, 6));
    network->set_start_callback([](const IOTensors&) { throw std::out_of_range("not today"); });
    EXPECT_THROW(network->forward(), std::out_of_range);
    network->wait();
    network->set_start_callback([&](const IOTensors&) { network->forward(); });
    EXPECT_THAT(error_of([&] { network->forward(); }), HasSubstr("inside of a run"));
    network->set_start_callback({});
    write<float>(*network->get_io_tensor("a"), {1, 2, 3, 4});
    run(*network);
    EXPECT_THAT(output(*network, "sum"), ElementsAre(2, 3, 4, 5));
}

// Lets a run go on only when the flag is up.
struct Gate : mge::StepObserver {
    std::atomic<bool> is_open{false};
    void before_step(size_t step, mge::Context&) override {
        while (step == 0 && !is_open) std::this_thread::yield();
    }
};

TEST(NetworkCallbacks, AsynchronousRunNeedsNoWait) {
    auto network = load(classifier());
    Gate gate;
    impl_of(*network).context().attach(gate);
    fill(*network, "data");
    auto wanted = expected(*network, "score");
    std::atomic<bool> is_done{false};
    std::string calls;
    auto caller = std::this_thread::get_id();
    network->set_finish_callback([&](const IOTensors& tensors) {
        calls += "f";
        expect_near(values_of<float>(*tensors.at("score").second), wanted);
        is_done = true;
    });
    network->set_async_callback([&] {
        calls += "a";
        EXPECT_NE(std::this_thread::get_id(), caller);
        expect_near(output(*network, "score"), wanted);
    });
    for (int i = 0; i < 3; ++i) {
        is_done = gate.is_open = false;
        network->forward();
        EXPECT_FALSE(is_done);
        gate.is_open = true;
        while (!is_done) std::this_thread::yield();
        expect_near(output(*network, "score"), wanted);
    }
    network->wait();
    EXPECT_EQ(calls, "afafaf");
}

// With such a callback no wait is needed, so the failure is reported immediately, at Lite's default level.
TEST(NetworkCallbacks, AsynchronousFailureIsReported) {
    auto level = get_log_level();
    set_log_level(LiteLogLevel::ERROR);
    auto network = filled();
    network->set_async_callback([] { throw std::domain_error("no room on the screen"); });
    testing::internal::CaptureStderr();
    for (int i = 0; i < 2; ++i) {
        network->forward();
        EXPECT_THROW(network->wait(), std::domain_error);
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "mge: error: a run failed: no room on the screen\n"
              "mge: error: a run failed: no room on the screen\n");
    set_log_level(level);
}

TEST(NetworkCallbacks, AsynchronousExceptionIsKeptForWait) {
    auto network = filled();
    int finishes = 0;
    network->set_finish_callback([&](const IOTensors&) { ++finishes; });
    network->set_async_callback([] { throw std::domain_error("no room on the screen"); });
    network->forward();
    EXPECT_THROW(network->wait(), std::domain_error);
    EXPECT_EQ(finishes, 0);
    network->wait();
    EXPECT_THAT(output(*network, "sum"), ElementsAre(2, 3, 4, 5));
    // A run inside of a run.
    network->set_async_callback([&] { network->forward(); });
    network->forward();
    EXPECT_THAT(error_of([&] { network->wait(); }), HasSubstr("inside of a run"));
    network->set_async_callback([&] { network->wait(); });
    network->forward();
    network->wait();
    EXPECT_EQ(finishes, 1);
}

TEST(NetworkCallbacks, DoNotChangeTheirNetwork) {
    auto network = filled();
    int calls = 0;
    auto interfere = [&] {
        ++calls;
        const std::function<void()> changes[] = {
            [&] { network->load_model(sum_and_difference()); },
            [&] { network->set_finish_callback({}); },
            [&] { network->enable_profile_performance("profile.json"); },
            [&] { network->get_static_memory_alloc_info("plan"); },
            [&] { Runtime::set_network_algo_policy(network, LITE_ALGO_HEURISTIC); },
            [&] { Runtime::set_runtime_thread_affinity(network, [](int) {}); },
            [&] { Runtime::enable_io_bin_dump(network, "values"); }};
        for (auto& change : changes) EXPECT_THAT(error_of(change), HasSubstr("inside of a callback"));
        network->wait();
    };
    network->set_start_callback([&](const IOTensors&) { interfere(); });
    network->set_finish_callback([&](const IOTensors&) { interfere(); });
    run(*network);
    network->set_async_callback(interfere);
    run(*network);
    Runtime::set_runtime_thread_affinity(network, [&](int) { interfere(); });
    EXPECT_EQ(calls, 6);
    EXPECT_THAT(output(*network, "sum"), ElementsAre(2, 3, 4, 5));
}

// As programs do that have the next input by then.
TEST(NetworkCallbacks, FinishMayStartTheNextRun) {
    auto network = filled();
    int finishes = 0;
    network->set_finish_callback([&](const IOTensors& tensors) {
        if (++finishes > 1) return;
        EXPECT_THAT(values_of<float>(*tensors.at("sum").second), ElementsAre(2, 3, 4, 5));
        write<float>(*network->get_io_tensor("a"), {0, 0, 0, 0});
        network->forward();
        EXPECT_THAT(error_of([&] { network->forward(); }), HasSubstr("inside of a run"));
    });
    run(*network);
    EXPECT_EQ(finishes, 1);
    network->wait();
    EXPECT_EQ(finishes, 2);
    EXPECT_THAT(output(*network, "sum"), ElementsAre(1, 1, 1, 1));
}

TEST(NetworkCallbacks, FailedRunCallsNoCallback) {
    auto network = load(reshaper());
    int calls = 0;
    network->set_async_callback([&] { ++calls; });
    network->set_finish_callback([&](const IOTensors&) { ++calls; });
    write<int>(*network->get_io_tensor("shape"), {4, 4});
    network->forward();
    EXPECT_THAT(error_of([&] { network->wait(); }), HasSubstr("reshape"));
    network->set_async_callback({});
    network->forward();
    EXPECT_THAT(error_of([&] { network->wait(); }), HasSubstr("reshape"));
    EXPECT_EQ(calls, 0);
}

TEST(NetworkCallbacks, RefuseAsynchronousCallbackForSynchronousRuns) {
    auto network = std::make_shared<Network>();
    Runtime::set_cpu_inplace_mode(network);
    EXPECT_THAT(error_of([&] { network->set_async_callback([] {}); }), HasSubstr("in-place"));
    auto later = std::make_shared<Network>();
    later->set_async_callback([] {});
    Runtime::set_cpu_inplace_mode(later);
    EXPECT_THAT(error_of([&] { later->load_model(sum_and_difference()); }), HasSubstr("in-place"));
    Config config;
    config.options.force_output_use_user_specified_memory = true;
    Network given(config);
    EXPECT_THAT(error_of([&] { given.set_async_callback([] {}); }),
                HasSubstr("force_output_use_user_specified_memory"));
    given.set_async_callback({});
}

TEST(NetworkCallbacks, InPlaceRunOnTheCallingThread) {
    auto network = std::make_shared<Network>();
    Runtime::set_cpu_inplace_mode(network);
    EXPECT_TRUE(Runtime::is_cpu_inplace_mode(network));
    network->load_model(sum_and_difference());
    network->get_io_tensor("a")->fill_zero();
    network->get_io_tensor("b")->fill_zero();
    int finishes = 0;
    network->set_finish_callback([&](const IOTensors&) { ++finishes; });
    network->forward();
    EXPECT_EQ(finishes, 0);
    EXPECT_THAT(output(*network, "sum"), ElementsAre(0, 0, 0, 0));
    network->wait();
    EXPECT_EQ(finishes, 1);
}

// In all four places from which a network calls: its run goes on, and the network ends behind it.
TEST(NetworkCallbacks, MayDestroyTheirNetwork) {
    auto use = [](const Config& config, auto&& set, bool waits_here) {
        std::atomic<int> ends = 0;
        auto network = filled(config);
        // An object held only by the network's callbacks lives until they are destroyed.
        auto counted = std::shared_ptr<int>(nullptr, [&](auto) { ++ends; });
        set(network, counted);
        counted.reset();
        EXPECT_EQ(ends, 0);
        Network& raw = *network;
        raw.forward();
        if (waits_here && network) raw.wait();
        while (ends == 0) std::this_thread::yield();
        EXPECT_FALSE(network);
    };
    auto in_start = [](auto& network, auto& counted) {
        network->set_start_callback([&network, counted](const IOTensors&) { network.reset(); });
    };
    auto in_finish = [](auto& network, auto& counted) {
        network->set_finish_callback([&network, counted](const IOTensors& tensors) {
            network.reset();
            EXPECT_THAT(values_of<float>(*tensors.at("sum").second), ElementsAre(2, 3, 4, 5));
        });
    };
    auto in_async = [](auto& network, auto& counted) {
        network->set_async_callback([&network, counted] { network.reset(); });
    };
    use({}, in_start, true);
    use({}, in_finish, true);
    use({}, in_async, false);
    auto in_place = [&](auto&& set) {
        return [&](auto& network, auto& counted) {
            network = std::make_shared<Network>();
            Runtime::set_cpu_inplace_mode(network);
            network->load_model(sum_and_difference());
            write<float>(*network->get_io_tensor("a"), {1, 2, 3, 4});
            write<float>(*network->get_io_tensor("b"), {1, 1, 1, 1});
            set(network, counted);
        };
    };
    use({}, in_place(in_start), true);
    use({}, in_place(in_finish), true);
}

}  // namespace
}  // namespace lite::test
