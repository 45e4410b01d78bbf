// SPDX-License-Identifier: Apache-2.0
// fork() while another thread is anywhere in the library: the child must not wait for a lock of a thread that
// it does not have.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "libmge/base/log.h"
#include "libmge/base/threads/per_process.h"
#include "libmge/eager/tape.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/mge.h"
#include "tests/child_alarm.h"
#include "tests/new_folder.h"

namespace mge {
namespace {

// Uses objects with locks repeatedly. Any of the locks may be held by a thread when another forks.
class Busy {
public:
    explicit Busy(const std::string& cache) : cache_(FastrunCache::open(cache)), executable_(doubled(), {}) {}

    bool everything() {
        static std::atomic<int> line{0};
        log_warning("a test warns, line " + std::to_string(line++ % 4));
        if (physical_name(parse_device("cpu0")) != "cpu0:0") return false;
        if (find_kernels(ops::Add::info, default_device()).empty()) return false;
        TensorSpecs specs{{DType::f32, {2}, {}}};
        NoParams params;
        Problem problem{"fork", &params, {}, specs, specs, 0, default_device(), 1};
        FastrunCache::in_memory();
        cache_->store(problem, {{"one", 1.0, 0, {}}});
        auto found = cache_->find(problem);
        if (!found || found->size() != 1) return false;
        Tensor x = ops::full({.shape = {3}, .value = 2});
        return executable_.run(std::array{x})[0].data<float>()[2] == 4 && gradient_is_right(x);
    }

private:
    static Graph doubled() {
        Graph graph;
        ValueId x = graph.add_input({DType::f32, {3}, {}}, "x");
        NodeId node = graph.add_node(ops::Add::info, std::make_shared<NoParams>(), {x, x}, "node");
        graph.set_outputs(graph.node(node).outputs);
        return graph;
    }
    static bool gradient_is_right(const Tensor& x) {
        Tape tape;
        Tensor watched = tape.attach(x);
        tape.start();
        Tensor y = ops::mul(watched, watched);
        tape.stop();
        Tensor ones = ops::full({.shape = {3}, .value = 1});
        return tape.backward(std::array{y}, std::array{ones})[0].data<float>()[0] == 4;
    }

    std::unique_ptr<FastrunCache> cache_;
    Executable executable_;
};

// True when the child ended well; one that hangs is killed by its alarm.
template <class Fn>
bool child_succeeds(Fn&& fn) {
    pid_t child = fork();
    if (child == 0) {
        alarm(child_seconds);
        _exit(fn() ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class Fork : public testing::Test {
protected:
    void SetUp() override { folder_ = new_folder("mge_fork"); }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::filesystem::path folder_;
};

TEST_F(Fork, ChildrenWorkWhileOtherThreadsHoldLocks) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers keep locks of other threads in the child";
#endif
    set_default_threads(1);
    Busy busy(folder_ / "cache.sqlite");
    ASSERT_TRUE(busy.everything());
    std::atomic<bool> stop{false}, is_wrong{false};
    std::thread worker([&] {
        while (!stop)
            if (!busy.everything()) is_wrong = true;
    });
    // Recorders come and go with their threads.
    std::thread starter([&] {
        while (!stop) std::thread([&] { Tape(); }).join();
    });
    for (int round = 0; round < 200; ++round)
        EXPECT_TRUE(child_succeeds([&] {
            bool is_right = busy.everything();
            std::thread([&] { is_right = is_right && busy.everything(); }).join();
            return is_right;
        })) << "round "
            << round;
    stop = true;
    worker.join();
    starter.join();
    EXPECT_FALSE(is_wrong);
}

TEST_F(Fork, ChildForkedInsideAValueCreatesItsOwn) {
    struct Counted {
        std::mutex mutex;
        int value = 0;
    };
    PerProcess<Counted> counted([](Counted* of_parent) {
        auto made = std::make_unique<Counted>();
        made->value = of_parent ? of_parent->value + 1 : 0;
        return made;
    });
    std::lock_guard lock(counted.get().mutex);  // as another thread might have it
    auto child = [&](int expected) {
        std::lock_guard own(counted.get().mutex);
        return counted.get().value == expected;
    };
    EXPECT_TRUE(
        child_succeeds([&] { return child(1) && child(1) && child_succeeds([&] { return child(2); }); }));
    EXPECT_EQ(counted.get().value, 0);
}

TEST_F(Fork, MeasurementsOfAChildAreStored) {
    auto cache = FastrunCache::open(folder_ / "cache.sqlite");
    TensorSpecs specs{{DType::f32, {2}, {}}};
    NoParams params;
    Problem problem{"fork", &params, {}, specs, specs, 0, default_device(), 1};
    EXPECT_TRUE(child_succeeds([&] {
        cache->store(problem, {{"one", 1.0, 0, {}}});
        return true;
    }));
    ASSERT_TRUE(cache->find(problem));
    EXPECT_EQ(cache->find(problem)->at(0).name, "one");
}

}  // namespace
}  // namespace mge
