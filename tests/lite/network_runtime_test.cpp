// SPDX-License-Identifier: Apache-2.0
// How networks run: threads, algorithms, layouts.
#include <gmock/gmock.h>

#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "libmge/kernel/fastrun_cache.h"
#include "tests/lite/networks.h"

namespace lite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

struct Calls {
    std::mutex mutex;
    std::map<int, std::thread::id> threads;
    size_t count = 0;
    ThreadAffinityCallback callback() {
        return [this](int id) {
            std::lock_guard lock(mutex);
            threads[id] = std::this_thread::get_id();
            ++count;
        };
    }
};

// Which threads ask for the steps of a run.
struct StepThreads : mge::StepObserver {
    std::set<std::thread::id> threads;
    void before_step(size_t, mge::Context&) override { threads.insert(std::this_thread::get_id()); }
};

TEST(NetworkRuntime, AffinityIsSetOncePerThread) {
    auto network = std::make_shared<Network>();
    Runtime::set_cpu_threads_number(network, 4);
    network->load_model(classifier());
    EXPECT_EQ(Runtime::get_cpu_threads_number(network), 4u);
    Calls calls;
    Runtime::set_runtime_thread_affinity(network, calls.callback());
    EXPECT_EQ(calls.count, 4u);
    std::set<std::thread::id> distinct;
    for (auto& [id, thread] : calls.threads) {
        EXPECT_TRUE(id >= 0 && id < 4);
        distinct.insert(thread);
    }
    EXPECT_EQ(distinct.size(), 4u);
    EXPECT_FALSE(distinct.contains(std::this_thread::get_id()));
    // The last number is that of the thread which asks for the steps, whatever shapes come.
    StepThreads step_threads;
    for (size_t batch : {1, 2}) {
        network->get_io_tensor("data")->set_layout(layout({batch, 3, 32, 32}));
        impl_of(*network).context().attach(step_threads);
        fill(*network, "data");
        run(*network);
        expect_near(output(*network, "score"), expected(*network, "score"));
    }
    EXPECT_THAT(step_threads.threads, ElementsAre(calls.threads.at(3)));
}

TEST(NetworkRuntime, AffinityWithOneThread) {
    auto network = load(classifier());
    Calls calls;
    Runtime::set_runtime_thread_affinity(network, calls.callback());
    ASSERT_THAT(calls.threads, ElementsAre(Pair(0, testing::Not(std::this_thread::get_id()))));
    StepThreads step_threads;
    impl_of(*network).context().attach(step_threads);
    fill(*network, "data");
    run(*network);
    EXPECT_THAT(step_threads.threads, ElementsAre(calls.threads.at(0)));
    EXPECT_THROW(Runtime::set_runtime_thread_affinity(network, [](int) { throw std::domain_error("no"); }),
                 std::domain_error);
    EXPECT_THAT(error_of([&] { Runtime::set_runtime_thread_affinity(network, nullptr); }),
                HasSubstr("the callback is null"));
}

// Each of them is compiled, and of so many the oldest are forgotten.
TEST(NetworkRuntime, NewShapesAreCheckedBeforeWait) {
    auto network = load(classifier());
    auto data = network->get_io_tensor("data");
    data->set_layout(layout({2, 3, 32, 32}));
    fill(*network, "data");
    auto wanted = expected(*network, "score");
    std::weak_ptr<const mge::Program> runs = impl_of(*network).shared_program();
    network->forward();
    impl_of(*network).shared_program();  // the run has ended without a wait
    for (size_t batch = 3; batch < 22; ++batch) {
        data->set_layout(layout({batch, 3, 32, 32}));
        impl_of(*network).shared_program();
    }
    EXPECT_FALSE(runs.expired());
    network->wait();
    expect_near(output(*network, "score"), wanted);
}

TEST(NetworkRuntime, InPlaceRunsOnTheCaller) {
    for (size_t threads : {1, 2}) {
        auto network = std::make_shared<Network>();
        Runtime::set_cpu_inplace_mode(network);
        Runtime::set_cpu_threads_number(network, threads);
        network->load_model(classifier());
        Calls calls;
        Runtime::set_runtime_thread_affinity(network, calls.callback());
        EXPECT_EQ(calls.threads.size(), threads);
        EXPECT_EQ(calls.threads.at(int(threads) - 1), std::this_thread::get_id());
        StepThreads step_threads;
        impl_of(*network).context().attach(step_threads);
        fill(*network, "data");
        run(*network);
        EXPECT_THAT(step_threads.threads, ElementsAre(std::this_thread::get_id()));
        expect_near(output(*network, "score"), expected(*network, "score"));
    }
}

size_t count_measured(const std::shared_ptr<Network>& network) {
    size_t measured = 0;
    for (auto& step : impl_of(*network).program().steps())
        measured += step.source == mge::ChoiceSource::measured;
    return measured;
}

constexpr auto bits(uint32_t value) { return static_cast<LiteAlgoSelectStrategy>(value); }

// Costs instead of a clock.
AlgorithmPolicy with_costs(size_t& calls) {
    AlgorithmPolicy policy;
    policy.measure = [&calls](const mge::Problem&, const mge::Algorithm&, const mge::Prepared&, double) {
        ++calls;
        return std::optional(1.0);
    };
    return policy;
}

std::shared_ptr<Network> with_policy(uint32_t strategy, size_t& calls) {
    auto network = std::make_shared<Network>();
    impl_of(*network).own_settings().policy = with_costs(calls);
    Runtime::set_network_algo_policy(network, bits(strategy));
    network->load_model(classifier());
    fill(*network, "data");
    run(*network);
    expect_near(output(*network, "score"), expected(*network, "score"));
    return network;
}

TEST(NetworkRuntime, PolicyChoosesAlgorithms) {
    size_t calls = 0;
    with_policy(LITE_ALGO_HEURISTIC, calls);
    EXPECT_EQ(calls, 0u);
    auto by_rules = with_policy(LITE_ALGO_HEURISTIC | LITE_ALGO_REPRODUCIBLE, calls);
    EXPECT_EQ(calls, 0u);
    EXPECT_TRUE(impl_of(*by_rules).compile_options().select.reproducible);
    auto wanted = output(*by_rules, "score");
    for (int i = 0; i < 20; ++i) {
        run(*by_rules);
        EXPECT_EQ(output(*by_rules, "score"), wanted);
    }
    with_policy(LITE_ALGO_HEURISTIC | LITE_ALGO_PROFILE, calls);  // known times, without a measurement
    EXPECT_EQ(calls, 0u);
    auto measured = with_policy(LITE_ALGO_PROFILE | LITE_ALGO_OPTIMIZED, calls);
    EXPECT_GT(calls, 0u);
    EXPECT_TRUE(impl_of(*measured).compile_options().select.optimized);
    EXPECT_FALSE(impl_of(*measured).compile_options().select.heuristic);
}

TEST(NetworkRuntime, PolicyMayChangeAfterLoading) {
    auto network = load(classifier());
    fill(*network, "data");
    run(*network);
    auto before = output(*network, "score");
    auto tensor = network->get_io_tensor("score");
    EXPECT_EQ(count_measured(network), 0u);
    Runtime::set_network_algo_policy(network, LITE_ALGO_HEURISTIC | LITE_ALGO_REPRODUCIBLE, 4, true);
    auto& select = impl_of(*network).compile_options().select;
    EXPECT_TRUE(select.heuristic && select.reproducible && select.same_between_batches);
    EXPECT_EQ(select.shared_batch_size, 4);
    run(*network);
    EXPECT_EQ(network->get_io_tensor("score"), tensor);
    expect_near(output(*network, "score"), before);
    // The strategy stays when none is given.
    Runtime::set_network_algo_policy(network, bits(0), 2, false);
    EXPECT_TRUE(impl_of(*network).compile_options().select.reproducible);
    EXPECT_EQ(impl_of(*network).compile_options().select.shared_batch_size, 2);
    EXPECT_THAT(error_of([&] { Runtime::set_network_algo_policy(network, LITE_ALGO_REPRODUCIBLE); }),
                HasSubstr("neither LITE_ALGO_HEURISTIC nor LITE_ALGO_PROFILE"));
    EXPECT_THAT(error_of([&] { Runtime::set_network_algo_policy(network, bits(17)); }),
                HasSubstr("no algorithm strategy 17"));
}

// Row i of a batch of three has the bits of the run with that row alone.
TEST(NetworkRuntime, EqualBetweenBatches) {
    auto network = std::make_shared<Network>();
    Runtime::set_network_algo_policy(network, LITE_ALGO_HEURISTIC, 1, true);
    network->load_model(classifier());
    network->get_io_tensor("data")->set_layout(layout({3, 3, 32, 32}));
    fill(*network, "data");
    auto images = values_of<float>(*network->get_io_tensor("data"));
    run(*network);
    auto all = output(*network, "score");
    size_t image = images.size() / 3;
    for (size_t i = 0; i < 3; ++i) {
        network->get_io_tensor("data")->set_layout(layout({1, 3, 32, 32}));
        write(*network->get_io_tensor("data"),
              std::vector(images.begin() + long(i * image), images.begin() + long((i + 1) * image)));
        run(*network);
        EXPECT_EQ(output(*network, "score"),
                  std::vector(all.begin() + long(i * 10), all.begin() + long(i * 10 + 10)));
    }
}

TEST(NetworkRuntime, WorkspacesRespectTheLimit) {
    auto network = load(classifier());
    fill(*network, "data");
    for (size_t limit : {size_t(0), size_t(1000), size_t(1) << 30}) {
        Runtime::set_network_algo_workspace_limit(network, limit);
        for (auto& step : impl_of(*network).program().steps()) EXPECT_LE(step.workspace, limit);
        run(*network);
        expect_near(output(*network, "score"), expected(*network, "score"));
    }
}

}  // namespace
}  // namespace lite::test
