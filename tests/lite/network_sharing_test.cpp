// SPDX-License-Identifier: Apache-2.0
// Sharing between networks, and several of them at once.
#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "libmge/base/threads/first_failure.h"
#include "libmge/device/device.h"
#include "tests/lite/networks.h"

namespace lite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::set<const void*> constants_of(Network& network) {
    std::set<const void*> addresses;
    for (auto& piece : impl_of(network).program().made_constants()) addresses.insert(piece.data());
    return addresses;
}

TEST(NetworkSharing, SharedWeightsAreNotCopied) {
    auto source = load(classifier());
    fill(*source, "data", 1);
    run(*source);
    auto wanted = output(*source, "score");

    size_t before = mge::device({}).memory().allocated;
    auto shared = std::make_shared<Network>();
    Runtime::set_cpu_inplace_mode(shared);
    Runtime::shared_weight_with_network(shared, source);
    EXPECT_TRUE(Runtime::is_cpu_inplace_mode(shared));
    EXPECT_EQ(constants_of(*shared), constants_of(*source));
    EXPECT_FALSE(constants_of(*shared).empty());
    EXPECT_NE(shared->get_io_tensor("data"), source->get_io_tensor("data"));
    fill(*shared, "data", 2);
    run(*shared);
    // Its own memory: intermediate values, inputs and outputs.
    auto memory = impl_of(*shared).program().memory();
    EXPECT_LE(mge::device({}).memory().allocated, before + memory.plan + memory.inputs_outputs + 8192);
    auto other = output(*shared, "score");
    expect_near(other, expected(*shared, "score"));
    EXPECT_NE(other, wanted);
    run(*source);
    EXPECT_EQ(output(*source, "score"), wanted);

    source.reset();
    run(*shared);
    EXPECT_EQ(output(*shared, "score"), other);
    shared->get_io_tensor("data")->set_layout(layout({2, 3, 32, 32}));
    fill(*shared, "data", 1);
    run(*shared);
    auto both = output(*shared, "score");
    both.resize(10);
    expect_near(both, wanted);
}

// With another number of threads the programs differ, the weights as they came do not.
TEST(NetworkSharing, SharedWeightsKeepOwnThreads) {
    auto source = load(classifier());
    auto shared = std::make_shared<Network>();
    Runtime::set_cpu_threads_number(shared, 2);
    Runtime::shared_weight_with_network(shared, source);
    EXPECT_EQ(Runtime::get_cpu_threads_number(shared), 2u);
    EXPECT_EQ(Runtime::get_cpu_threads_number(source), 1u);
    EXPECT_EQ(impl_of(*shared).model(), impl_of(*source).model());
    // Packed weights of equal algorithms exist once.
    if (algorithms_of(*shared) == algorithms_of(*source)) {
        EXPECT_EQ(constants_of(*shared), constants_of(*source));
    }
    fill(*shared, "data", 1);
    run(*shared);
    expect_near(output(*shared, "score"), expected(*shared, "score"));
}

TEST(NetworkSharing, SharedWeightsNeedALoadedNetwork) {
    auto empty = std::make_shared<Network>(), other = std::make_shared<Network>();
    EXPECT_THAT(error_of([&] { Runtime::shared_weight_with_network(other, empty); }),
                HasSubstr("no model is loaded"));
    auto loaded = load(classifier());
    EXPECT_THAT(error_of([&] { Runtime::shared_weight_with_network(loaded, loaded); }),
                HasSubstr("already shares its weights with itself"));
}

TEST(NetworkSharing, SharedWeightsAllowConcurrentRuns) {
    auto source = load(classifier());
    auto shared = std::make_shared<Network>();
    Runtime::shared_weight_with_network(shared, source);
    fill(*source, "data", 1);
    fill(*shared, "data", 2);
    auto of_source = expected(*source, "score"), of_shared = expected(*shared, "score");
    mge::FirstFailure failure;
    auto repeat = [&](Network& network, const std::vector<float>& wanted) {
        failure.guard([&] {
            for (int i = 0; i < 20; ++i) {
                run(network);
                expect_near(output(network, "score"), wanted);
            }
        });
    };
    std::thread other([&] { repeat(*shared, of_shared); });
    repeat(*source, of_source);
    other.join();
    failure.rethrow();
}

struct CountingAllocator final : Allocator {
    std::mutex mutex;
    std::map<void*, size_t> pieces;
    size_t allocations = 0, bytes = 0;
    int device = -1;
    bool is_exhausted = false;
    void* allocate(LiteDeviceType, int device_id, size_t size, size_t align) override {
        std::lock_guard lock(mutex);
        if (is_exhausted) return nullptr;
        ++allocations;
        bytes += size;
        device = device_id;
        void* data = std::aligned_alloc(align, (size + align - 1) / align * align);
        pieces[data] = size;
        return data;
    }
    void free(LiteDeviceType, int, void* data) override {
        std::lock_guard lock(mutex);
        ASSERT_EQ(pieces.erase(data), 1u);
        std::free(data);
    }
    bool holds(const void* data) {
        auto it = pieces.upper_bound(const_cast<void*>(data));
        if (it == pieces.begin()) return false;
        --it;
        return static_cast<const char*>(data) < static_cast<const char*>(it->first) + it->second;
    }
};

TEST(NetworkSharing, SharedRuntimeMemoryHasTheLargestSize) {
    auto first = std::make_shared<Network>(), second = std::make_shared<Network>();
    Runtime::share_runtime_memory_with(second, first);
    first->load_model(classifier());
    second->load_model(classifier());
    EXPECT_EQ(impl_of(*first).memory(), impl_of(*second).memory());
    size_t plan = impl_of(*first).program().memory().plan;
    EXPECT_GE(impl_of(*first).memory()->bytes(), plan);
    EXPECT_LT(impl_of(*first).memory()->bytes(), plan + 4096);
    for (int i = 0; i < 3; ++i)
        for (auto& network : {first, second}) {
            fill(*network, "data", i);
            run(*network);
            expect_near(output(*network, "score"), expected(*network, "score"));
        }
    first.reset();
    run(*second);
    expect_near(output(*second, "score"), expected(*second, "score"));
}

TEST(NetworkSharing, SharedRuntimeMemoryUsesOneAllocator) {
    auto first = std::make_shared<Network>(), second = std::make_shared<Network>();
    auto allocator = std::make_shared<CountingAllocator>();
    Runtime::set_memory_allocator(first, allocator);
    EXPECT_THAT(error_of([&] { Runtime::share_runtime_memory_with(first, second); }),
                HasSubstr("its own allocator"));
    Runtime::share_runtime_memory_with(second, first);
    EXPECT_THAT(error_of([&] { Runtime::set_memory_allocator(second, allocator); }),
                HasSubstr("the memory of another one"));
    second->load_model(classifier());
    EXPECT_GE(allocator->bytes, impl_of(*second).program().memory().plan);
}

TEST(NetworkSharing, SharedRuntimeMemoryRefusesConcurrentRuns) {
    auto first = std::make_shared<Network>(), second = std::make_shared<Network>();
    Runtime::set_cpu_inplace_mode(second);
    Runtime::share_runtime_memory_with(second, first);
    first->load_model(classifier());
    second->load_model(sum_and_difference());
    // The first network is inside of its run as long as it waits here.
    std::mutex held;
    std::atomic<bool> is_inside{false};
    struct Hold : mge::StepObserver {
        std::mutex& held;
        std::atomic<bool>& is_inside;
        Hold(std::mutex& mutex, std::atomic<bool>& flag) : held(mutex), is_inside(flag) {}
        void before_step(size_t, mge::Context&) override {
            is_inside = true;
            std::lock_guard lock(held);
        }
    } hold(held, is_inside);
    impl_of(*first).context().attach(hold);
    held.lock();
    first->forward();
    while (!is_inside) std::this_thread::yield();
    EXPECT_THAT(error_of([&] { second->forward(); }), HasSubstr("same memory is running"));
    held.unlock();
    first->wait();
    run(*second);
}

TEST(NetworkSharing, UserAllocatorProvidesAllMemory) {
    auto allocator = std::make_shared<CountingAllocator>();
    for (auto& model : {classifier(), picker()})
        for (bool is_dynamic : {false, true}) {
            Config config;
            config.options.force_dynamic_alloc = is_dynamic;
            auto network = std::make_shared<Network>(config);
            network->set_device_id(3);
            Runtime::set_memory_allocator(network, allocator);
            network->load_model(model);
            auto name = network->get_input_name(0), result = network->get_output_name(0);
            fill(*network, name);
            size_t before = mge::device(mge::DeviceId{0, 3, 0, false}).memory().allocated;
            run(*network);
            run(*network);
            EXPECT_EQ(mge::device(mge::DeviceId{0, 3, 0, false}).memory().allocated, before);
            EXPECT_TRUE(allocator->holds(network->get_io_tensor(name)->get_memory_ptr()));
            EXPECT_TRUE(allocator->holds(network->get_io_tensor(result)->get_memory_ptr()));
            EXPECT_EQ(allocator->device, 3);
            expect_near(output(*network, result), expected(*network, result));
            EXPECT_GT(allocator->allocations, 2u);
        }
    EXPECT_TRUE(allocator->pieces.empty());
    allocator->is_exhausted = true;
    auto network = std::make_shared<Network>();
    Runtime::set_memory_allocator(network, allocator);
    EXPECT_THAT(error_of([&] { network->load_model(classifier()); }), HasSubstr("allocator did not provide"));
    EXPECT_THAT(error_of([&] { Runtime::set_memory_allocator(network, nullptr); }),
                HasSubstr("the allocator is null"));
}

// 24 networks that 8 threads take turns with.
TEST(NetworkSharing, ManyNetworksRunInManyThreads) {
    constexpr size_t networks = 24, threads = 8, rounds = 3;
    struct Each {
        std::mutex mutex;
        std::shared_ptr<Network> network;
        std::vector<float> wanted;
    };
    std::vector<Each> all(networks);
    mge::FirstFailure failure;
    std::atomic<size_t> next{0};
    auto work = [&] {
        for (size_t i = next++; i < networks * rounds && !failure.exists(); i = next++)
            failure.guard([&] {
                auto& each = all[i % networks];
                std::lock_guard lock(each.mutex);
                if (!each.network) {
                    each.network = std::make_shared<Network>();
                    if (i % 3 == 0) Runtime::set_cpu_inplace_mode(each.network);
                    if (i % 4 == 0) Runtime::set_cpu_threads_number(each.network, 2);
                    each.network->load_model(classifier());
                    fill(*each.network, "data", int(i));
                    each.wanted = expected(*each.network, "score");
                }
                run(*each.network);
                auto got = output(*each.network, "score");
                for (size_t k = 0; k < got.size(); ++k)
                    if (std::abs(got[k] - each.wanted[k]) > 1e-5f) throw std::runtime_error("a wrong result");
            });
    };
    std::vector<std::thread> workers;
    for (size_t i = 0; i < threads; ++i) workers.emplace_back(work);
    for (auto& thread : workers) thread.join();
    failure.rethrow();
}

}  // namespace
}  // namespace lite::test
