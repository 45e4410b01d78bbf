// SPDX-License-Identifier: Apache-2.0
// Each thread stands for a process.
#include "libmge/comm/process_mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <latch>
#include <memory>
#include <thread>

#include "libmge/base/error.h"
#include "tests/harness/expect_error.h"

namespace mge {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::chrono::seconds patience(20);
constexpr std::chrono::milliseconds limit(20'000);

// Those of two processes.
std::vector<std::string> tokens_of(char c) { return {2, std::string(ProcessMesh::token_bytes, c)}; }
const std::vector<std::string> tokens = tokens_of('x');

template <class T>
std::span<const std::byte> sent(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}
template <class T>
std::span<std::byte> received(std::vector<T>& values) {
    return std::as_writable_bytes(std::span(values));
}

// Runs `work` with the connected mesh of each of `size` processes; gives their errors.
std::vector<std::string> in_processes(int size, const std::function<void(ProcessMesh&)>& work,
                                      std::chrono::milliseconds limit = mge::limit) {
    const std::vector<std::string> tokens(size_t(size), std::string(ProcessMesh::token_bytes, 'x'));
    std::vector<std::unique_ptr<ProcessMesh>> meshes;
    std::vector<ProcessAddress> addresses;
    for (int i = 0; i < size; ++i) {
        meshes.push_back(std::make_unique<ProcessMesh>("127.0.0.1"));
        addresses.push_back({"127.0.0.1", meshes.back()->port()});
    }
    std::vector<std::string> errors{size_t(size)};
    std::vector<std::thread> threads;
    for (int i = 0; i < size; ++i)
        threads.emplace_back([&, i] {
            try {
                meshes[size_t(i)]->connect(i, addresses, tokens, patience, limit);
                work(*meshes[size_t(i)]);
            } catch (const UserError& e) {
                errors[size_t(i)] = e.what();
            }
            meshes[size_t(i)].reset();
        });
    for (auto& thread : threads) thread.join();
    return errors;
}

TEST(ProcessMesh, ExchangesMoreThanSocketsHold) {
    constexpr int size = 3;
    constexpr size_t count = 3 << 20;
    auto errors = in_processes(size, [&](ProcessMesh& mesh) {
        for (int round = 0; round < 3; ++round) {
            std::vector<int> mine(count, 10 * mesh.rank() + round);
            std::vector<std::vector<int>> theirs(size, std::vector<int>(count));
            std::vector<Transfer> transfers;
            for (int other = 0; other < size; ++other)
                if (other != mesh.rank())
                    transfers.push_back({other, sent(mine), received(theirs[size_t(other)])});
            mesh.exchange("numbers", transfers);
            for (auto& transfer : transfers) {
                auto& got = theirs[size_t(transfer.rank)];
                EXPECT_EQ(got, std::vector<int>(count, 10 * transfer.rank + round));
            }
        }
    });
    EXPECT_THAT(errors, testing::Each(""));
}

TEST(ProcessMesh, SendsOneWayAndEmptyMessages) {
    auto errors = in_processes(2, [&](ProcessMesh& mesh) {
        std::vector<int> given{1, 2, 3}, taken(3);
        int other = 1 - mesh.rank();
        if (mesh.rank() == 0)
            mesh.exchange("numbers", std::array{Transfer{other, sent(given), {}}});
        else
            mesh.exchange("numbers", std::array{Transfer{other, {}, received(taken)}});
        mesh.exchange("nothing", std::array{Transfer{other, {}, {}}});
        EXPECT_EQ(taken, mesh.rank() == 1 ? given : std::vector<int>(3));
    });
    EXPECT_THAT(errors, testing::Each(""));
}

TEST(ProcessMesh, ReportsDifferentExchanges) {
    auto errors = in_processes(2, [&](ProcessMesh& mesh) {
        std::vector<int> given(4), taken(4);
        bool is_first = mesh.rank() == 0;
        auto exchange = [&] {
            mesh.exchange(is_first ? "sums" : "parts",
                          std::array{Transfer{is_first ? 1 : 0, sent(given), received(taken)}});
        };
        try {
            exchange();
            ADD_FAILURE() << "process " << mesh.rank() << " noticed nothing";
        } catch (const UserError& e) {
            EXPECT_THAT(e.what(),
                        AllOf(HasSubstr(text("process ", 1 - mesh.rank(), " is at another exchange")),
                              HasSubstr("'sums' with 16"), HasSubstr("'parts' with 16")));
        }
        exchange();
    });
    EXPECT_THAT(errors, testing::Each(HasSubstr("has failed before")));
}

TEST(ProcessMesh, ReportsAnEndedProcess) {
    auto errors = in_processes(2, [&](ProcessMesh& mesh) {
        if (mesh.rank() == 1) return;
        std::vector<int> taken(4);
        mesh.exchange("numbers", std::array{Transfer{1, {}, received(taken)}});
    });
    EXPECT_THAT(errors[0], HasSubstr("process 1 is gone"));
    EXPECT_EQ(errors[1], "");
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

void interrupt() { throw UserError("interrupted"); }

TEST(ProcessMesh, LeavesTheGroupWhenInterrupted) {
    Interruption interruption;
    std::latch was_interrupted(1), was_notified(1);
    auto errors = in_processes(2, [&](ProcessMesh& mesh) {
        std::vector<int> given(4), taken(4);
        auto exchange = [&] {
            mesh.exchange("numbers", std::array{Transfer{1 - mesh.rank(), sent(given), received(taken)}});
        };
        if (mesh.rank() == 1) {
            was_interrupted.wait();
            auto twice = [&] { exchange(), exchange(); };  // data sent before can be received
            EXPECT_THAT(test::error_of(twice), HasSubstr("process 0 is gone"));
            return was_notified.count_down();
        }
        meanwhile = interrupt;
        EXPECT_EQ(test::error_of(exchange), "interrupted");
        was_interrupted.count_down();
        was_notified.wait();  // while this one still has its mesh
        exchange();
    });
    EXPECT_THAT(errors, testing::ElementsAre(HasSubstr("has failed before"), ""));
}

TEST(ProcessMesh, StopsConnectingWhenInterrupted) {
    Interruption interruption;
    ProcessMesh mesh("127.0.0.1");
    std::vector<ProcessAddress> addresses{{"127.0.0.1", mesh.port()}, {}};
    meanwhile = interrupt;
    EXPECT_EQ(test::error_of([&] { mesh.connect(0, addresses, tokens, patience, limit); }), "interrupted");
    meanwhile = nullptr;
}

TEST(ProcessMesh, BeginsNoExchangeInAnother) {
    Interruption interruption;
    std::latch was_refused(1);
    auto errors = in_processes(2, [&](ProcessMesh& mesh) {
        if (mesh.rank() == 1) return was_refused.wait();
        meanwhile = [&] { mesh.take_turn(); };
        auto turn = mesh.take_turn();
        auto exchange = [&] { mesh.exchange("nothing", std::array{Transfer{1, {}, {}}}); };
        EXPECT_THAT(test::error_of(exchange), HasSubstr("none begins meanwhile"));
        was_refused.count_down();
    });
    EXPECT_THAT(errors, testing::Each(""));
}

TEST(ProcessMesh, RejectsStrangers) {
    ProcessMesh first("127.0.0.1"), second("127.0.0.1");
    std::vector<ProcessAddress> addresses{{"127.0.0.1", first.port()}, {"127.0.0.1", second.port()}};
    std::thread clients([&] {
        Deadline end = std::chrono::steady_clock::now() + patience;
        std::vector<std::byte> text(200);
        Socket stranger = connect_to("127.0.0.1", addresses[0].port, end);
        send_all(stranger, text, end);
        Socket closed = connect_to("127.0.0.1", addresses[0].port, end);
        closed = Socket();
        ProcessMesh liar("127.0.0.1");
        liar.connect(1, addresses, tokens_of('y'), patience, limit);
        second.connect(1, addresses, tokens, patience, limit);
        std::vector<int> given{7};
        second.exchange("number", std::array{Transfer{0, sent(given), {}}});
    });
    first.connect(0, addresses, tokens, patience, limit);
    std::vector<int> taken(1);
    first.exchange("number", std::array{Transfer{1, {}, received(taken)}});
    clients.join();
    EXPECT_EQ(taken[0], 7);
}

TEST(ProcessMesh, IsNotBlockedBySilentConnections) {
    ProcessMesh first("127.0.0.1"), second("127.0.0.1");
    std::vector<ProcessAddress> addresses{{"127.0.0.1", first.port()}, {"127.0.0.1", second.port()}};
    auto begin = std::chrono::steady_clock::now();
    std::vector<Socket> silent;
    for (int i = 0; i < 200; ++i)  // more than are kept
        silent.push_back(connect_to("127.0.0.1", first.port(), begin + patience));
    std::thread late([&] { second.connect(1, addresses, tokens, patience, limit); });
    first.connect(0, addresses, tokens, patience, limit);
    late.join();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(4));
}

TEST(ProcessMesh, ReportsASilentProcess) {
    std::latch was_notified(1);
    auto work = [&](ProcessMesh& mesh) {
        if (mesh.rank() == 1) return was_notified.wait();  // alive, but not at the exchange
        std::vector<int> taken(4);
        auto exchange = [&] { mesh.exchange("numbers", std::array{Transfer{1, {}, received(taken)}}); };
        EXPECT_THAT(test::error_of(exchange), HasSubstr("no answer from process 1 for 0.2 s"));
        was_notified.count_down();
        exchange();
    };
    auto errors = in_processes(2, work, std::chrono::milliseconds(200));
    EXPECT_THAT(errors, testing::ElementsAre(HasSubstr("has failed before"), ""));
}

TEST(ProcessMesh, NamesMissingProcesses) {
    ProcessMesh mesh("127.0.0.1");
    std::vector<ProcessAddress> addresses{{"127.0.0.1", mesh.port()}, {"127.0.0.1", 1}};
    try {
        mesh.connect(0, addresses, tokens, std::chrono::seconds(0), limit);
        ADD_FAILURE() << "connected with nobody";
    } catch (const UserError& e) {
        EXPECT_THAT(e.what(), HasSubstr("waited 0 s for 1 of 2 processes"));
    }
    ProcessMesh late("127.0.0.1");
    EXPECT_THROW(late.connect(1, std::vector<ProcessAddress>{{"127.0.0.1", 1}, {}}, tokens, patience, limit),
                 UserError);
    EXPECT_THROW(ProcessMesh("no such host"), UserError);
}

}  // namespace
}  // namespace mge
