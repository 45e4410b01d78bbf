// SPDX-License-Identifier: Apache-2.0
// NCCL by a library that writes down its calls. Each thread stands for a process.
#include "libmge/comm/nccl.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "libmge/base/error.h"
#include "libmge/device/queue.h"
#include "libmge/device/stream_sharing.h"
#include "libmge/op/backend.h"
#include "libmge/ops/collective/collective.h"
#include "tests/harness/expect_error.h"
#include "tests/harness/process_mesh.h"

namespace mge::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using Operation = Nccl::Operation;

template <class Function>
Function* stub(const char* name) {
    static void* library = ::dlopen(MGE_NCCL_STUB, RTLD_NOW);
    return reinterpret_cast<Function*>(::dlsym(library, name));
}
std::vector<std::string> take_calls() {
    std::stringstream text(stub<const char*()>("stub_take_calls")());
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
}
void set_next_result(int code) { stub<void(int)>("stub_set_next_result")(code); }
void set_background_result(int code) { stub<void(int)>("stub_set_background_result")(code); }

std::shared_ptr<const ExchangeInfo> info_of(const std::string& name, std::vector<int64_t> group) {
    return std::make_shared<const ExchangeInfo>(
        ExchangeInfo::Parts{.operation = name, .dtype = "float32", .shape = {6}, .group = std::move(group)});
}
void* at(size_t address) { return reinterpret_cast<void*>(address); }

Nccl::Call call_of(const std::shared_ptr<const ExchangeInfo>& info, int position,
                   Operation operation = Operation::all_reduce, size_t x_count = 6, size_t y_count = 6) {
    return {.info = info,
            .position = position,
            .operation = operation,
            .type = NcclType::f32,
            .x = at(1000),
            .y = at(2000),
            .x_count = x_count,
            .y_count = y_count,
            .stream = at(7)};
}

std::function<void()> done_at_once() {
    return [] {};
}

// A stream whose work ends when open() is called.
class Gate {
public:
    std::function<void()> operator()() {
        return [this] {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return is_open_; });
        };
    }
    void open() {
        std::lock_guard lock(mutex_);
        is_open_ = true;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_open_ = false;
};

// Runs `work` in two processes; returns their errors.
std::vector<std::string> in_two(
    const std::function<void(int rank, const std::shared_ptr<Communicator>&)>& work) {
    auto meshes = ProcessMesh::make(2);
    std::vector<std::string> errors(2);
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
        threads.emplace_back([&, i] {
            try {
                meshes[size_t(i)]->join({}, 20s, 20s);
                work(i, meshes[size_t(i)]);
            } catch (const UserError& e) {
                errors[size_t(i)] = e.what();
            }
        });
    for (auto& thread : threads) thread.join();
    return errors;
}

TEST(Nccl, IsNotInstalled) {
    EXPECT_THAT(error_of([] { Nccl("libnccl_that_nobody_has.so", nullptr, 1s); }),
                AllOf(HasSubstr("cannot open NCCL"), HasSubstr("nvidia-nccl-cu13")));
    EXPECT_THAT(error_of([] { Nccl("libm.so.6", nullptr, 1s); }),
                HasSubstr("has no function ncclGetUniqueId"));
}

TEST(Nccl, ConnectsOnceAndEnqueuesInOrder) {
    auto errors = in_two([](int rank, auto& mesh) {
        {
            Nccl nccl(MGE_NCCL_STUB, mesh, 20s);
            auto sum = info_of("sum", {0, 1}), all = info_of("all", {0, 1});
            nccl.enqueue(call_of(sum, rank), done_at_once);
            nccl.enqueue(call_of(all, rank, Operation::all_gather, 3, 6), done_at_once);
            nccl.enqueue(call_of(sum, rank), done_at_once);
        }
        auto calls = take_calls();
        if (rank == 0) {
            EXPECT_EQ(calls.front(), "id");
            calls.erase(calls.begin());
        }
        auto place = text(", rank ", rank, " of 2, stream 7");
        auto sum = "all_reduce 1000 to 2000, 6 of type 7 by 0" + place;
        EXPECT_THAT(calls,
                    ElementsAre(text("connect rank ", rank,
                                     " of 2 by 'the id of this test', magic cafebeef, blocking 0"),
                                sum, "all_gather 1000 to 2000, 3 of type 7" + place, sum,
                                text("end rank ", rank, " of 2"), text("destroy rank ", rank, " of 2")));
    });
    EXPECT_THAT(errors, Each(""));
}

TEST(Nccl, SendsParts) {
    auto errors = in_two([](int rank, auto& mesh) {
        Nccl nccl(MGE_NCCL_STUB, mesh, 20s);
        auto place = text(", rank ", rank, " of 2, stream 7");
        auto calls_of = [&](const char* name, Operation operation, size_t x_count, size_t y_count) {
            auto info = info_of(name, {0, 1});
            nccl.enqueue(call_of(info, rank, operation, x_count, y_count), done_at_once);
            auto calls = take_calls();
            auto begin = std::ranges::find(calls, "group");
            for (auto& line : calls)
                if (line.ends_with(place)) line.resize(line.size() - place.size());
            return std::vector(begin, calls.end());
        };
        EXPECT_THAT(
            calls_of("mixed", Operation::all_to_all, 6, 6),
            ElementsAre("group", "send 1000, 3 of type 7 to 0", "receive 2000, 3 of type 7 from 0",
                        "send 1012, 3 of type 7 to 1", "receive 2012, 3 of type 7 from 1", "group end"));
        auto gathered = calls_of("gathered", Operation::gather, 6, rank == 0 ? 12 : 0);
        auto scattered = calls_of("scattered", Operation::scatter, rank == 0 ? 12 : 6, 6);
        if (rank == 0) {
            EXPECT_THAT(gathered, ElementsAre("group", "send 1000, 6 of type 7 to 0",
                                              "receive 2000, 6 of type 7 from 0",
                                              "receive 2024, 6 of type 7 from 1", "group end"));
            EXPECT_THAT(scattered, ElementsAre("group", "send 1000, 6 of type 7 to 0",
                                               "receive 2000, 6 of type 7 from 0",
                                               "send 1024, 6 of type 7 to 1", "group end"));
        } else {
            EXPECT_THAT(gathered, ElementsAre("group", "send 1000, 6 of type 7 to 0", "group end"));
            EXPECT_THAT(scattered, ElementsAre("group", "receive 2000, 6 of type 7 from 0", "group end"));
        }
    });
    EXPECT_THAT(errors, Each(""));
}

TEST(Nccl, ComparesEachKindOfExchangeOnce) {
    auto errors = in_two([](int rank, auto& mesh) {
        Nccl nccl(MGE_NCCL_STUB, mesh, 20s);
        nccl.enqueue(call_of(info_of("sum", {0, 1}), rank), done_at_once);
        nccl.enqueue(call_of(info_of(rank == 0 ? "first" : "second", {0, 1}), rank), done_at_once);
    });
    EXPECT_THAT(errors, Each(AllOf(HasSubstr("first of float32"), HasSubstr("second of float32"))));
}

TEST(Nccl, AbortsWhenACallIsRefused) {
    auto errors = in_two([](int rank, auto& mesh) {
        Nccl nccl(MGE_NCCL_STUB, mesh, 20s);
        if (rank == 1) return;
        auto call = call_of(info_of("sum", {0}), 0);
        nccl.enqueue(call, done_at_once);
        int before = stub<int()>("stub_aborted")();
        set_next_result(4);
        EXPECT_THAT(error_of([&] { nccl.enqueue(call, done_at_once); }),
                    HasSubstr("NCCL cannot exchange: bad call"));
        EXPECT_EQ(stub<int()>("stub_aborted")(), before + 1);
        nccl.enqueue(call, done_at_once);
    });
    EXPECT_THAT(errors, ElementsAre(HasSubstr("has failed before: NCCL cannot exchange"), ""));
}

std::string error_after_watching(Nccl& nccl, const Nccl::Call& call) {
    for (int i = 0; i < 100; ++i) {
        std::this_thread::sleep_for(50ms);
        try {
            nccl.enqueue(call, done_at_once);
        } catch (const UserError& e) {
            return e.what();
        }
    }
    return "no error";
}

TEST(Nccl, AbortsAfterAnErrorInTheBackground) {
    Gate gate;
    {
        Nccl nccl(MGE_NCCL_STUB, nullptr, 20s);
        auto call = call_of(info_of("sum", {0}), 0);
        nccl.enqueue(call, [&] { return gate(); });
        set_background_result(6);
        EXPECT_THAT(error_after_watching(nccl, call),
                    HasSubstr("[sum of float32 (6) in processes (0)] remote error"));
        set_background_result(0);
        gate.open();
    }
}

TEST(Nccl, AbortsAfterItsTimeLimit) {
    Gate gate;
    Nccl nccl(MGE_NCCL_STUB, nullptr, 300ms);
    auto call = call_of(info_of("sum", {0}), 0);
    nccl.enqueue(call, [&] { return gate(); });
    EXPECT_THAT(error_after_watching(nccl, call), HasSubstr("no answer for 0.3 s"));
    gate.open();
}

TEST(Nccl, AbortsWhenAnotherProcessHasFailed) {
    auto errors = in_two([](int rank, auto& mesh) {
        Gate gate;
        Nccl nccl(MGE_NCCL_STUB, mesh, 20s);
        auto call = call_of(info_of("sum", {0, 1}), rank);
        nccl.enqueue(call, done_at_once);
        if (rank == 1) return mesh->close("out of luck");
        nccl.enqueue(call, [&] { return gate(); });
        EXPECT_THAT(error_after_watching(nccl, call), HasSubstr("another process has failed"));
        gate.open();
    });
    EXPECT_THAT(errors, Each(""));
}

// A queue of a device that has a stream.
class StreamQueue final : public Queue, public StreamSharingQueue {
public:
    StorageRef allocate(size_t) override { return {}; }
    void copy_from_host(void*, const void*, size_t) override { FAIL(); }
    void copy_to_host(void*, const void*, size_t) override { FAIL(); }
    void copy(void*, const void*, size_t) override { FAIL(); }
    void fill(void*, int, size_t) override { FAIL(); }
    std::shared_ptr<const Event> record() override { return {}; }
    void wait_for(const Event&) override {}
    void wait() override {}
    uintptr_t stream_address() override { return 9; }
    void let_wait(uintptr_t) override {}
    void wait_for_stream(uintptr_t) override {}
    void finish() noexcept override {}
    void finish_device() noexcept override {}
};

// The first algorithm that runs this problem on a device, and the library's calls.
std::string calls_of_operator(ops::CollectiveMode mode, DType dtype, bool is_reproducible = false) {
    ops::Collective::Params params{.mode = mode};
    TensorSpec spec{dtype, {4, 3}, {}};
    Problem problem = make_problem(ops::Collective::info, &params, {&spec, 1}, {&spec, 1});
    problem.device = DeviceId{.kind = 1};
    for (auto& algorithm : find_kernels(ops::Collective::info, host_device)) {
        if (!algorithm.supports(problem) || (is_reproducible && !algorithm.attributes.reproducible)) continue;
        if (std::string_view(algorithm.name) == "through_the_host") return "through_the_host";
        Candidate candidate{.name = std::string(algorithm.name)};
        auto prepared = algorithm.prepare({.problem = problem, .candidate = candidate, .constants = {}});
        StreamQueue queue;
        const void* x = at(1000);
        void* y = at(2000);
        algorithm.run(prepared, {.inputs = {&x, 1}, .outputs = {&y, 1}, .queue = &queue});
        auto calls = take_calls();
        for (auto& line : calls)
            if (line.find("stream 9") != line.npos) return line;
    }
    return "none";
}

TEST(Nccl, RunsTheOperatorOnTheQueueOfTheDevice) {
    using enum ops::CollectiveMode;
    EXPECT_EQ(calls_of_operator(all_reduce_sum, DType::f32), "through_the_host");
    set_nccl(std::make_shared<Nccl>(MGE_NCCL_STUB, nullptr, 20s));
    auto place = std::string(", rank 0 of 1, stream 9");
    EXPECT_EQ(calls_of_operator(all_reduce_sum, DType::f32),
              "all_reduce 1000 to 2000, 12 of type 7 by 0" + place);
    EXPECT_EQ(calls_of_operator(all_reduce_max, DType::f16),
              "all_reduce 1000 to 2000, 12 of type 6 by 2" + place);
    EXPECT_EQ(calls_of_operator(all_reduce_min, DType::bf16),
              "all_reduce 1000 to 2000, 12 of type 9 by 3" + place);
    EXPECT_EQ(calls_of_operator(reduce_sum, DType::i32),
              "reduce 1000 to 2000, 12 of type 2 by 0, root 0" + place);
    EXPECT_EQ(calls_of_operator(broadcast, DType::i16),
              "broadcast 1000 to 2000, 24 of type 1, root 0" + place);
    EXPECT_EQ(calls_of_operator(all_gather, DType::i8), "all_gather 1000 to 2000, 12 of type 0" + place);
    EXPECT_EQ(calls_of_operator(reduce_scatter_sum, DType::u8),
              "reduce_scatter 1000 to 2000, 12 of type 1 by 0" + place);
    for (auto mode : {gather, scatter, all_to_all})
        EXPECT_EQ(calls_of_operator(mode, DType::f64), "send 1000, 12 of type 8 to 0" + place);
    EXPECT_EQ(calls_of_operator(all_reduce_sum, DType::i16), "through_the_host");
    EXPECT_EQ(calls_of_operator(all_reduce_sum, DType::f32, true), "through_the_host");
    EXPECT_EQ(calls_of_operator(all_reduce_max, DType::f32, true),
              "all_reduce 1000 to 2000, 12 of type 7 by 2" + place);
    set_nccl(nullptr);
}

}  // namespace
}  // namespace mge::test
