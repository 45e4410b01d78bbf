// SPDX-License-Identifier: Apache-2.0
// 24 networks of Lite that eight threads load, run and destroy for a time, each on any thread: some in place,
// some with a team, some with a source's weights, some measured into one cache. It runs for MGE_SOAK_SECONDS,
// ten minutes with MGE_NIGHTLY=1. At each sample all threads and networks are destroyed, and the remaining
// resources must be constant.

#include <gtest/gtest.h>
#include <malloc.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <thread>

#include "libmge/base/env.h"
#include "libmge/base/threads/first_failure.h"
#include "lite/global.h"
#include "tests/harness/nightly.h"
#include "tests/lite/networks.h"
#include "tests/new_folder.h"
#include "tests/soak/steady_figures.h"

namespace lite::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t slots = 24, worker_count = 8;
constexpr int uses_of_one = 6;

double seconds() {
    if (auto given = mge::env_string("MGE_SOAK_SECONDS")) return std::stod(*given);
    return mge::test::is_nightly() ? 600 : 4;
}

struct Kind {
    std::string model;
    std::vector<std::string> inputs;
    std::string output;
    bool has_batches = false;
    std::vector<float> wanted = {};  // for the inputs as fill() leaves them
};

// In which of the ways the next network is made and used; every combination comes.
struct Ways {
    size_t number;
    bool one_in(size_t n) const { return number % n == 0; }
    bool in_place() const { return one_in(3); }
    bool has_team() const { return one_in(4); }
    bool shares_weights() const { return one_in(5); }
    bool calls_back() const { return one_in(7) && !in_place(); }
    bool measures() const { return one_in(11); }
    bool ends_in_a_run() const { return one_in(2); }
    bool changes_batch() const { return number / slots % 2 == 1; }
};

// The slot of a network for a few uses; the owner of the mutex is its only user.
struct Slot {
    std::mutex mutex;
    std::shared_ptr<Network> network;
    const Kind* kind = nullptr;
    std::atomic<int> calls{0};
    bool counts_calls = false;
    int uses_left = 0;
};

class LiteSoak : public testing::Test {
protected:
    void SetUp() override {
        ::mallopt(M_ARENA_MAX, 1);  // how full the C library leaves one arena per thread is chance
        folder_ = mge::new_folder("mge_lite_soak");
        set_persistent_cache((folder_ / "times.cache").string());
        for (auto& kind : kinds_) {
            auto network = load(kind.model);
            for (auto& name : kind.inputs) fill(*network, name);
            kind.wanted = expected(*network, kind.output);
        }
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    void load_into(Slot& slot, Ways ways) {
        slot.kind = &kinds_[ways.number % kinds_.size()];
        auto network = std::make_shared<Network>();
        if (ways.in_place()) Runtime::set_cpu_inplace_mode(network);
        if (ways.has_team()) Runtime::set_cpu_threads_number(network, 2);
        if (ways.measures()) Runtime::set_network_algo_policy(network, LITE_ALGO_PROFILE);
        if (ways.shares_weights()) {
            slot.kind = &kinds_.front();
            Runtime::shared_weight_with_network(network, source_);
        } else {
            network->load_model(slot.kind->model);
        }
        slot.counts_calls = ways.calls_back();
        slot.calls = 0;
        if (slot.counts_calls) network->set_async_callback([&slot] { ++slot.calls; });
        slot.network = std::move(network);
        slot.uses_left = uses_of_one;
    }

    void run_once(Slot& slot, Ways ways) {
        auto& network = *slot.network;
        if (slot.kind->has_batches)
            network.get_io_tensor("data")->set_layout(layout({ways.changes_batch() ? 2u : 1u, 3, 32, 32}));
        for (auto& name : slot.kind->inputs) fill(network, name);
        int calls = slot.calls;
        run(network);
        if (slot.counts_calls && slot.calls != calls + 1) throw std::runtime_error("not called back");
        auto got = output(network, slot.kind->output);
        if (got.size() < slot.kind->wanted.size()) throw std::runtime_error("too few results");
        for (size_t i = 0; i < slot.kind->wanted.size(); ++i)
            if (!(std::abs(got[i] - slot.kind->wanted[i]) <= 1e-5f))
                throw std::runtime_error("a wrong result");
    }

    void use_one(size_t number) {
        Ways ways{number};
        auto& slot = slots_[number * 7 % slots];
        std::lock_guard lock(slot.mutex);
        if (!slot.network) load_into(slot, ways);
        run_once(slot, ways);
        if (--slot.uses_left == 0) {
            if (ways.ends_in_a_run()) slot.network->forward();
            slot.network.reset();
        }
        ++uses_;
    }

    // A crew of threads for as long, then nothing.
    void use_all(Clock::duration time) {
        source_ = load(kinds_.front().model);
        auto end = Clock::now() + time;
        mge::FirstFailure failure;
        std::vector<std::thread> workers;
        for (size_t i = 0; i < worker_count; ++i)
            workers.emplace_back([&] {
                failure.guard([&] {
                    while (Clock::now() < end && !failure.exists()) use_one(next_++);
                });
            });
        for (auto& thread : workers) thread.join();
        for (auto& slot : slots_) slot.network.reset();
        source_.reset();
        try_coalesce_all_free_memory();
        failure.rethrow();
    }

    long uses() const { return uses_; }

private:
    std::filesystem::path folder_;
    std::array<Kind, 3> kinds_{{{classifier(), {"data"}, "score", true},
                                {sum_and_difference(), {"a", "b"}, "sum"},
                                {picker(), {"x"}, "positive"}}};
    std::array<Slot, slots> slots_;
    std::shared_ptr<Network> source_;
    std::atomic<size_t> next_{1};
    std::atomic<long> uses_{0};
};

TEST_F(LiteSoak, NetworksComeAndGo) {
    auto part = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(seconds() / mge::test::soak_samples));
    mge::test::SteadyFigures figures;
    for (int sample = 0; sample < mge::test::soak_samples; ++sample) {
        use_all(part);
        figures.sample();
    }
    EXPECT_GT(uses(), long(slots));
    figures.expect("uses of networks", uses());
}

}  // namespace
}  // namespace lite::test
