// SPDX-License-Identifier: Apache-2.0
// Each thread stands for a process.
#include "libmge/comm/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <memory>
#include <numeric>
#include <thread>

#include "libmge/base/error.h"
#include "libmge/base/interruption.h"
#include "tests/harness/expect_error.h"
#include "tests/harness/process_mesh.h"

namespace mge::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Clock = std::chrono::steady_clock;

template <class T>
std::span<const std::byte> sent(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}
template <class T>
std::span<std::byte> received(std::vector<T>& values) {
    return std::as_writable_bytes(std::span(values));
}

// Runs `work` with the communicator of each of `size` processes; returns their errors.
std::vector<std::string> in_processes(int size, const std::function<void(ProcessMesh&)>& work,
                                      std::chrono::milliseconds limit = 20s, const std::string& record = {}) {
    auto meshes = ProcessMesh::make(size);
    std::vector<std::string> errors{size_t(size)};
    std::vector<std::thread> threads;
    for (size_t i = 0; i < meshes.size(); ++i)
        threads.emplace_back([&, i] {
            try {
                meshes[i]->set_record_path(record);
                meshes[i]->join({}, 20s, limit);
                work(*meshes[i]);
            } catch (const UserError& e) {
                errors[i] = e.what();
            }
            meshes[i].reset();
        });
    for (auto& thread : threads) thread.join();
    return errors;
}

std::shared_ptr<const ExchangeInfo> named(const std::string& operation, std::vector<int64_t> group = {0, 1},
                                          std::vector<int64_t> shape = {4}) {
    return std::make_shared<const ExchangeInfo>(ExchangeInfo::Parts{
        .operation = operation, .dtype = "int32", .shape = std::move(shape), .group = std::move(group)});
}

// Sends numbers to all others of a group and receives theirs.
void swap_numbers(Communicator& processes, const std::shared_ptr<const ExchangeInfo>& info,
                  size_t count = 4) {
    std::vector<int> mine(count, processes.rank());
    std::vector<std::vector<int>> theirs;
    std::vector<Transfer> transfers;
    theirs.reserve(info->parts().group.size());
    for (int64_t other : info->parts().group)
        if (other != processes.rank())
            transfers.push_back({int(other), sent(mine), received(theirs.emplace_back(count))});
    processes.exchange(info, transfers);
    for (size_t i = 0; i < transfers.size(); ++i)
        EXPECT_EQ(theirs[i], std::vector<int>(count, transfers[i].rank));
}

TEST(Communicator, ExchangesMoreThanSocketsHold) {
    auto errors = in_processes(3, [&](ProcessMesh& mesh) {
        for (int round = 0; round < 3; ++round) swap_numbers(mesh, named("numbers", {0, 1, 2}), 3 << 20);
    });
    EXPECT_THAT(errors, Each(""));
}

TEST(Communicator, GoesOneWayAndWithoutBytes) {
    auto errors = in_processes(2, [&](ProcessMesh& mesh) {
        std::vector<int> given{1, 2, 3}, taken(3);
        int other = 1 - mesh.rank();
        if (mesh.rank() == 0)
            mesh.exchange(named("numbers"), std::array{Transfer{other, sent(given), {}}});
        else
            mesh.exchange(named("numbers"), std::array{Transfer{other, {}, received(taken)}});
        mesh.exchange(named("nothing"), std::array{Transfer{other, {}, {}}});
        EXPECT_EQ(taken, mesh.rank() == 1 ? given : std::vector<int>(3));
    });
    EXPECT_THAT(errors, Each(""));
}

TEST(Communicator, MovesSeveralTimesInOneExchange) {
    auto errors = in_processes(2, [&](ProcessMesh& mesh) {
        std::vector<int> value{mesh.rank() + 1}, theirs(1);
        mesh.exchange(named("numbers"), [&](const Communicator::Move& move) {
            for (int round = 0; round < 3; ++round) {
                move(std::array{Transfer{1 - mesh.rank(), sent(value), received(theirs)}});
                value[0] += theirs[0];
            }
        });
        EXPECT_EQ(value[0], 12);
    });
    EXPECT_THAT(errors, Each(""));
}

TEST(Communicator, NamesBothExchangesWhereTheyDiffer) {
    struct Case {
        std::shared_ptr<const ExchangeInfo> first, others;
    } cases[] = {
        {named("sums", {0, 1, 2}), named("parts", {0, 1, 2})},
        {named("sums", {0, 1, 2}, {2, 3}), named("sums", {0, 1, 2}, {3, 2})},
        {named("sums", {0, 2, 1}), named("sums", {0, 1, 2})},
    };
    for (auto& [first, others] : cases) {
        auto errors = in_processes(
            3, [&](ProcessMesh& mesh) { swap_numbers(mesh, mesh.rank() == 0 ? first : others, 1000); });
        EXPECT_THAT(errors, Each(AllOf(HasSubstr("is at another exchange"), HasSubstr(first->label()),
                                       HasSubstr(others->label()))));
    }
}

TEST(Communicator, ReportsToAProcessOutsideASmallerGroup) {
    auto errors = in_processes(3, [&](ProcessMesh& mesh) {
        swap_numbers(mesh, mesh.rank() == 0 ? named("sums") : named("sums", {0, 1, 2}));
    });
    EXPECT_THAT(errors, Each(AllOf(HasSubstr("in processes (0, 1)'"), HasSubstr("in processes (0, 1, 2)'"))));
}

TEST(Communicator, ReportsAnEarlierFailure) {
    auto errors = in_processes(2, [&](ProcessMesh& mesh) {
        auto info = named(mesh.rank() == 0 ? "sums" : "parts");
        EXPECT_THAT(error_of([&] { swap_numbers(mesh, info); }), HasSubstr("another exchange"));
        swap_numbers(mesh, info);
    });
    EXPECT_THAT(errors, Each(AllOf(HasSubstr("has failed before"), HasSubstr("is at another exchange"))));
}

TEST(Communicator, ReportsAProcessThatHasEnded) {
    auto errors = in_processes(2, [&](ProcessMesh& mesh) {
        if (mesh.rank() == 0) swap_numbers(mesh, named("numbers"));
    });
    EXPECT_THAT(errors, ElementsAre(AllOf(HasSubstr("[numbers of int32 (4) in processes (0, 1), number 1]"),
                                          HasSubstr("process 1 is gone")),
                                    ""));
}

TEST(Communicator, ReportsTheErrorOfOneToAll) {
    auto errors = in_processes(3, [&](ProcessMesh& mesh) {
        if (mesh.rank() == 1)  // the others report it
            mesh.exchange(named("numbers", {0, 1, 2}),
                          [](const Communicator::Move&) { throw UserError("out of luck"); });
        swap_numbers(mesh, named("numbers", {0, 1, 2}));
    });
    EXPECT_THAT(errors, ElementsAre(HasSubstr("process 1 has failed"), HasSubstr("] out of luck"),
                                    HasSubstr("process 1 has failed")));
    EXPECT_THAT(errors, Each(HasSubstr("out of luck")));
}

TEST(Communicator, ReportsTheFailureOfItsProcess) {
    auto errors = in_processes(2, [&](ProcessMesh& mesh) {
        if (mesh.rank() == 1) return mesh.close("out of luck");
        swap_numbers(mesh, named("numbers"));
    });
    EXPECT_THAT(errors, ElementsAre(HasSubstr("process 1 has failed: it has ended: out of luck"), ""));
}

TEST(Communicator, EndsExchangesOfOtherThreadsWhenItCloses) {
    std::latch has_begun(1), is_over(1);
    auto errors = in_processes(2, [&](ProcessMesh& mesh) {
        if (mesh.rank() == 1) return is_over.wait();
        std::thread waiting([&] {
            EXPECT_THAT(error_of([&] {
                            mesh.exchange(named("numbers"), [&](const Communicator::Move& move) {
                                has_begun.count_down();
                                move(std::array{Transfer{1, {}, {}}});
                            });
                        }),
                        HasSubstr("interrupted"));
        });
        has_begun.wait();
        mesh.close();
        waiting.join();
        is_over.count_down();
    });
    EXPECT_THAT(errors, Each(""));
}

thread_local std::function<void()> meanwhile;

// While there is one, waits of a thread call what it has set.
class Interruption {
public:
    Interruption() {
        set_interruption([] {
            if (meanwhile) meanwhile();
        });
    }
    ~Interruption() { set_interruption(nullptr); }
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;
};

TEST(Communicator, LeavesTheOthersWhenItsWaitIsInterrupted) {
    Interruption interruption;
    std::latch was_interrupted(1), was_reported(1);
    auto errors = in_processes(2, [&](ProcessMesh& mesh) {
        auto once = [&] { swap_numbers(mesh, named("numbers")); };
        if (mesh.rank() == 1) {
            was_interrupted.wait();
            auto twice = [&] { once(), once(); };  // data sent before can be received
            EXPECT_THAT(error_of(twice), HasSubstr("process 0 has failed"));
            return was_reported.count_down();
        }
        meanwhile = [] { throw UserError("interrupted"); };
        EXPECT_EQ(error_of(once), "interrupted");
        was_interrupted.count_down();
        was_reported.wait();  // while this one still has its mesh
        once();
    });
    EXPECT_THAT(errors, ElementsAre(HasSubstr("has failed before"), ""));
}

TEST(Communicator, BeginsNoExchangeInAnother) {
    Interruption interruption;
    std::latch was_refused(1);
    auto errors = in_processes(2, [&](ProcessMesh& mesh) {
        if (mesh.rank() == 1) return was_refused.wait();
        auto once = [&] { swap_numbers(mesh, named("numbers")); };
        meanwhile = once;
        EXPECT_THAT(error_of(once), HasSubstr("none begins meanwhile"));
        was_refused.count_down();
    });
    EXPECT_THAT(errors, Each(""));
}

TEST(Communicator, NamesASilentProcess) {
    std::latch was_reported(1);
    auto work = [&](ProcessMesh& mesh) {
        if (mesh.rank() == 1) return was_reported.wait();  // alive, but not at the exchange
        auto once = [&] { swap_numbers(mesh, named("numbers")); };
        EXPECT_THAT(error_of(once), HasSubstr("no answer from process 1 for 0.2 s"));
        was_reported.count_down();
        once();
    };
    auto errors = in_processes(2, work, 200ms);
    EXPECT_THAT(errors, ElementsAre(HasSubstr("has failed before"), ""));
}

TEST(Communicator, NamesAProcessWithACutLinkInTime) {
    Clock::time_point begin;
    std::vector<Clock::duration> times(3);
    std::latch is_over(2);
    auto work = [&](ProcessMesh& mesh) {
        auto once = [&] { swap_numbers(mesh, named("numbers", {0, 1, 2}), 1 << 20); };
        once();
        if (mesh.rank() == 2) {
            begin = Clock::now();
            mesh.cut();
            EXPECT_THAT(error_of(once), HasSubstr("process"));  // the others leave
            return is_over.wait();
        }
        auto message = error_of(once);
        times[size_t(mesh.rank())] = Clock::now() - begin;
        EXPECT_THAT(message, HasSubstr("no answer from process 2 for 0.5 s"));
        is_over.count_down();
    };
    EXPECT_THAT(in_processes(3, work, 500ms), Each(""));
    EXPECT_LT(std::max(times[0], times[1]), 2500ms);
}

TEST(Communicator, WritesTheLastExchangesWhenOneFails) {
    auto folder = std::filesystem::path(testing::TempDir()) / text("mge_flight_", ::getpid());
    std::filesystem::create_directory(folder);
    in_processes(
        2,
        [&](ProcessMesh& mesh) {
            for (int i = 0; i < 70; ++i) swap_numbers(mesh, named("numbers"));
            if (mesh.rank() == 0) swap_numbers(mesh, named("last"));
        },
        20s, folder / "record");
    std::ifstream file(folder / "record.0.json");
    std::string record(std::istreambuf_iterator<char>(file), {});
    EXPECT_THAT(record,
                AllOf(HasSubstr(R"("engine":"mesh","rank":0,"size":2)"), HasSubstr(R"("sequence":70)"),
                      Not(HasSubstr(R"("sequence":7,)")), HasSubstr(R"("operation":"last")"),
                      HasSubstr(R"("state":"failed","missing":[1])")));
    EXPECT_FALSE(std::filesystem::exists(folder / "record.1.json"));
    std::filesystem::remove_all(folder);
}

TEST(Communicator, RefusesAProcessWithAnotherProof) {
    auto meshes = ProcessMesh::make(2);
    std::vector<std::string> errors(2);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < 2; ++i)
        threads.emplace_back([&, i] {
            Proofs proofs{.sent = {"first", "other"}, .expected = {"first", "first"}};
            errors[i] = error_of([&] { meshes[i]->join({}, 20s, 20s, proofs); });
        });
    for (auto& thread : threads) thread.join();
    EXPECT_THAT(errors[1], HasSubstr("process 0 does not know the secret"));
}

TEST(Communicator, IsNotJoinedInTime) {
    auto meshes = ProcessMesh::make(2);
    EXPECT_THAT(error_of([&] { meshes[0]->join({}, 200ms, 20s); }),
                AllOf(HasSubstr("join of MGE"), HasSubstr("no answer from process 1 for 0.2 s")));
}

}  // namespace
}  // namespace mge::test
