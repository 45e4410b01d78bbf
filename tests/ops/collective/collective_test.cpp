// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <thread>

#include "libmge/base/interruption.h"
#include "libmge/mge.h"
#include "libmge/ops/collective/exchange_queue.h"
#include "libmge/ops/collective/reduction.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"
#include "tests/harness/process_mesh.h"

namespace mge::test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using Mode = ops::CollectiveMode;

constexpr Mode reductions[] = {Mode::all_reduce_sum, Mode::all_reduce_max, Mode::all_reduce_min,
                               Mode::reduce_sum, Mode::reduce_scatter_sum};
constexpr Mode moves[] = {Mode::broadcast, Mode::all_gather, Mode::gather, Mode::scatter, Mode::all_to_all};

// Runs `work` in processes of their own, connected with each other; all have to succeed.
void in_processes(int count, const std::function<void(int rank)>& work) {
    auto meshes = ProcessMesh::make(count);
    std::vector<pid_t> children;
    for (int i = 0; i < count; ++i) {
        children.push_back(::fork());
        if (children.back() != 0) continue;
        auto mesh = meshes[size_t(i)];
        meshes.clear();
        mesh->join({}, std::chrono::seconds(60), std::chrono::seconds(60));
        set_communicator(mesh);
        try {
            work(i);
        } catch (const std::exception& e) {
            ADD_FAILURE() << "process " << i << ": " << e.what();
        }
        ::_exit(testing::Test::HasFailure() ? 1 : 0);
    }
    meshes.clear();
    for (pid_t child : children) {
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
}

// Process r of three has 100 r, 100 r + 1, ….
std::vector<double> values_in(int rank, int64_t count) {
    std::vector<double> values(static_cast<size_t>(count));
    std::iota(values.begin(), values.end(), 100. * rank);
    return values;
}

TEST(Collective, OneProcessReturnsItsInput) {
    for (Mode mode : reductions) {
        check_op<ops::Collective>({.mode = mode}, {{.shape = {4, 3}}}, {.dtypes = number_types});
        check_op<ops::Collective>({.mode = mode}, {{.shape = {0, 3}}}, {.dtypes = rare_types});
    }
    for (Mode mode : moves)
        check_op<ops::Collective>({.mode = mode}, {{.shape = {4, 3}}}, {.dtypes = all_types});
}

TEST(Collective, ReducesInTheOrderOfRanks) {
    in_processes(3, [](int rank) {
        Tensor x = make_tensor(DType::f32, {6}, values_in(rank, 6));
        auto result = [&](Mode mode) {
            return values_of(ops::collective(x, {.mode = mode, .ranks = {0, 1, 2}, .rank = rank}));
        };
        EXPECT_THAT(result(Mode::all_reduce_sum), ElementsAre(300, 303, 306, 309, 312, 315));
        EXPECT_THAT(result(Mode::all_reduce_max), ElementsAreArray(values_in(2, 6)));
        EXPECT_THAT(result(Mode::all_reduce_min), ElementsAreArray(values_in(0, 6)));
        EXPECT_THAT(result(Mode::reduce_scatter_sum), ElementsAre(300 + 6 * rank, 303 + 6 * rank));
        auto sum = rank == 0 ? std::vector<double>{300, 303, 306, 309, 312, 315} : std::vector<double>{};
        EXPECT_EQ(result(Mode::reduce_sum), sum);
    });
}

TEST(Collective, Moves) {
    in_processes(3, [](int rank) {
        Tensor x = make_tensor(DType::i32, {3}, values_in(rank, 3));
        auto result = [&](Mode mode) {
            return values_of(ops::collective(x, {.mode = mode, .ranks = {0, 1, 2}, .rank = rank}));
        };
        EXPECT_THAT(result(Mode::broadcast), ElementsAre(0, 1, 2));
        EXPECT_THAT(result(Mode::all_gather), ElementsAre(0, 1, 2, 100, 101, 102, 200, 201, 202));
        EXPECT_THAT(result(Mode::gather).size(), rank == 0 ? 9u : 0u);
        EXPECT_THAT(result(Mode::all_to_all), ElementsAre(rank, 100 + rank, 200 + rank));
        // The receiver's argument has the shape of its part.
        Tensor like = rank == 0 ? x : make_tensor(DType::i32, {1}, {-1});
        EXPECT_THAT(
            values_of(ops::collective(like, {.mode = Mode::scatter, .ranks = {0, 1, 2}, .rank = rank})),
            ElementsAre(rank));
    });
}

TEST(Collective, CutsLongTensorsIntoBlocks) {
    constexpr int64_t count = (9 << 20) / 4 + 5;
    in_processes(2, [](int rank) {
        Tensor x = make_tensor(DType::f32, {count}, values_in(rank, count));
        auto sum = values_of(ops::collective(x, {.ranks = {0, 1}, .rank = rank}));
        Tensor doubled = make_tensor(DType::f32, {2 * count}, values_in(rank, 2 * count));
        auto part = values_of(
            ops::collective(doubled, {.mode = Mode::reduce_scatter_sum, .ranks = {0, 1}, .rank = rank}));
        for (int64_t i = 0; i < count; ++i) {
            ASSERT_EQ(sum[size_t(i)], 100 + 2. * double(i));
            ASSERT_EQ(part[size_t(i)], 100 + 2. * double(i + rank * count));
        }
        auto first = values_of(ops::collective(x, {.mode = Mode::reduce_sum, .ranks = {0, 1}, .rank = rank}));
        EXPECT_EQ(first, rank == 0 ? sum : std::vector<double>{});
    });
}

TEST(Collective, UsesTheOrderOfTheGroup) {
    in_processes(3, [](int rank) {
        if (rank == 1) return;
        Tensor x = make_tensor(DType::f16, {2}, values_in(rank, 2));
        ops::Collective::Params params{.mode = Mode::all_gather, .ranks = {2, 0}, .rank = rank == 2 ? 0 : 1};
        EXPECT_THAT(values_of(ops::collective(x, params)), ElementsAre(200, 201, 0, 1));
        params.mode = Mode::broadcast;
        EXPECT_THAT(values_of(ops::collective(x, params)), ElementsAre(200, 201));
    });
}

TEST(Collective, RunsInEachRunOfAProgram) {
    in_processes(2, [](int rank) {
        GraphBuilder builder;
        {
            InterpreterScope scope(builder);
            Tensor x = builder.input({DType::f32, {2}, {}}, "x");
            ops::collective(x, {.mode = Mode::all_gather, .ranks = {0, 1}, .rank = rank});  // unused result
            builder.set_outputs({ops::mul(ops::collective(x, {.ranks = {0, 1}, .rank = rank}), x)});
        }
        auto context = Context::create(Program::compile(builder.take(), {}));
        for (int round = 1; round < 4; ++round) {
            context->fill_inputs(std::array{make_tensor(DType::f32, {2}, {double(round), 2. * rank})});
            context->run();
            EXPECT_THAT(values_of(context->output(0)), ElementsAre(2 * round * round, rank == 0 ? 0 : 4));
        }
    });
}

TEST(Collective, RejectsInvalidValues) {
    Tensor x = make_tensor(DType::f32, {3}, {1, 2, 3});
    auto message = [&](const ops::Collective::Params& params, const Tensor& given) {
        return error_of<UserError>([&] { ops::collective(given, params); });
    };
    EXPECT_THAT(message({.ranks = {}}, x), HasSubstr("distinct numbers of at least 0, got ()"));
    EXPECT_THAT(message({.ranks = {1, 1}}, x), HasSubstr("got (1, 1)"));
    EXPECT_THAT(message({.ranks = {0, 1}, .rank = 2}, x), HasSubstr("a position among 2 processes, got 2"));
    EXPECT_THAT(message({.mode = Mode::all_to_all, .ranks = {0, 1}}, x),
                HasSubstr("cannot split the first axis of size 3 into 2 equal parts"));
    EXPECT_THAT(message({.mode = Mode::all_gather}, make_tensor(DType::f32, {}, {1})),
                HasSubstr("needs a first axis"));
    EXPECT_THAT(message({}, make_tensor(DType::boolean, {1}, {1})),
                HasSubstr("takes numbers, got dtype bool"));
    EXPECT_THAT(message({.ranks = {0, 1}}, x), HasSubstr("there is no process 1: this one has no others"));
    in_processes(2, [&](int rank) {
        EXPECT_THAT(message({.ranks = {0, 2}, .rank = 0}, x), HasSubstr("no process 2: the group has fewer"));
        EXPECT_THAT(message({.ranks = {0, 1}, .rank = 1 - rank}, x),
                    HasSubstr(text("this is process ", rank, ", not ", 1 - rank)));
        Tensor other = rank == 0 ? x : make_tensor(DType::f32, {4}, {1, 2, 3, 4});
        EXPECT_THAT(message({.mode = Mode::all_gather, .ranks = {0, 1}, .rank = rank}, other),
                    HasSubstr(text("all_gather of float32 (", 4 - rank, ") in processes (0, 1)")));
    });
}

ops::BeginReduction::Params reduction_of(int rank, IntList present) {
    return {.reduction = "test/0",
            .parameters = "a\nb",
            .sizes = {2, 3},
            .present = std::move(present),
            .ranks = {0, 1},
            .rank = rank,
            .first = true};
}

TEST(Reduction, SumsWhileTheCallerComputes) {
    in_processes(2, [](int rank) {
        Tensor a = make_tensor(DType::f32, {2}, values_in(rank, 2));
        Tensor b = make_tensor(DType::f32, {3, 1}, values_in(rank, 3));
        for (bool mean : {false, true}) {
            auto params = reduction_of(rank, {0, 1});
            params.mean = mean;
            Tensor begun = ops::begin_reduction({a, b}, params);
            // Another exchange waits for those that began before.
            EXPECT_THAT(values_of(ops::collective(a, {.ranks = {0, 1}, .rank = rank})),
                        ElementsAre(100, 102));
            Tensors sums = ops::end_reduction({begun, a, b}, {.reduction = "test/0"});
            double n = mean ? 2 : 1;
            EXPECT_THAT(values_of(sums[0]), ElementsAre(100 / n, 102 / n));
            EXPECT_THAT(values_of(sums[1]), ElementsAre(100 / n, 102 / n, 104 / n));
            EXPECT_EQ(sums[1].shape(), (Shape{3, 1}));
        }
    });
}

TEST(Reduction, FailsInAllProcessesIfTheirParametersDiffer) {
    in_processes(2, [](int rank) {
        Tensor a = make_tensor(DType::f32, {2}, {1, 2}), b = make_tensor(DType::f32, {3}, {1, 2, 3});
        auto failure = [&](const IntList& present) {
            Tensor grad = present[0] == 0 ? a : b;
            Tensor begun = ops::begin_reduction({grad}, reduction_of(rank, present));
            return error_of<UserError>([&] { ops::end_reduction({begun, grad}, {.reduction = "test/0"}); });
        };
        EXPECT_THAT(failure({rank}), HasSubstr("a in process 0, not in 1; b in process 1, not in 0"));
        EXPECT_EQ(failure({0}), "no error");
        if (rank == 0) {
            ops::abort_reduction(reduction_of(rank, {}));
        } else {
            EXPECT_THAT(failure({0}), HasSubstr("the backward pass has failed in process 0"));
        }
        EXPECT_EQ(failure({1}), "no error");
    });
}

TEST(Reduction, RefusesWrongArguments) {
    Tensor a = make_tensor(DType::f32, {2}, {1, 2});
    auto message = [&](const ops::BeginReduction::Params& params) {
        return error_of<UserError>([&] { ops::begin_reduction({a}, params); });
    };
    EXPECT_THAT(message(reduction_of(0, {})), HasSubstr("0 positions, but 1 gradient"));
    EXPECT_THAT(message(reduction_of(0, {2})), HasSubstr("below 2, got (2)"));
    EXPECT_THAT(message(reduction_of(0, {1})), HasSubstr("its parameter has 3 elements"));
    for (int64_t size : {int64_t(-1), int64_t(1) << 60}) {
        auto params = reduction_of(0, {0});
        params.sizes[1] = size;
        EXPECT_THAT(message(params), HasSubstr(text("sizes cannot be (2, ", size, ")")));
    }
    EXPECT_THAT(message(reduction_of(2, {0})), HasSubstr("a position among 2 processes, got 2"));
    EXPECT_THAT(error_of<UserError>([&] { ops::end_reduction({a}, {.reduction = "none"}); }),
                HasSubstr("the reduction 'none' has not begun"));
}

TEST(ExchangeQueue, RunsInOrderAndPassesErrorsOn) {
    ops::ExchangeQueue queue;
    std::vector<int> order;
    auto first = queue.push([&] { order.push_back(1); });
    auto second = queue.push([&] { throw UserError("out of luck"); });
    auto third = queue.push([&] { order.push_back(3); });
    EXPECT_THAT(error_of<UserError>([&] { queue.wait(second); }), HasSubstr("out of luck"));
    queue.wait_for_all();
    EXPECT_THAT(order, ElementsAre(1, 3));
    queue.wait(third);
}

TEST(ExchangeQueue, CancelsItsJobs) {
    ops::ExchangeQueue queue;
    std::atomic<bool> has_begun = false;
    auto endless = queue.push([&] {
        for (has_begun = true;; std::this_thread::yield()) check_interruption();
    });
    auto later = queue.push([] { ADD_FAILURE() << "a cancelled job runs"; });
    while (!has_begun) std::this_thread::yield();
    queue.cancel();
    for (auto& job : {endless, later})
        EXPECT_THAT(error_of<UserError>([&] { queue.wait(job); }), HasSubstr("was interrupted"));
    bool runs = false;
    queue.wait(queue.push([&] { runs = true; }));
    EXPECT_TRUE(runs);
}

}  // namespace
}  // namespace mge::test
