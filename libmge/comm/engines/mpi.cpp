// SPDX-License-Identifier: Apache-2.0
// MPI, compiled once for each implementation, whose interfaces differ in binary form. The process was started
// by mpirun or srun, which knows rank and size.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <climits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "libmge/base/error.h"
#include "libmge/comm/engine.h"

namespace mge {
namespace {

constexpr int data_tag = 0,
              first_report_tag = 1;  // messages between two processes keep their order within a tag
// Long transfers are cut into messages of this size: the limit applies to each.
constexpr size_t largest_message = 8 << 20;
// A wait asks again and again for so long; then it lets others use the CPU in between.
constexpr std::chrono::milliseconds busy_time(1);
constexpr std::chrono::microseconds idle_time(50);
// MPI_Abort ends all processes: they get this time to print their own errors. Open MPI loses their output if
// several abort at once, so those that did not fail first wait longer.
constexpr std::chrono::milliseconds abort_delay(1000), later_abort_delay(3000);

void require(int code, const char* action) {
    if (code == MPI_SUCCESS) return;
    char reason[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(code, reason, &length);
    throw UserError(text("MPI cannot ", action, ": ", std::string_view(reason, size_t(length))));
}

class Mpi final : public Communicator {
public:
    explicit Mpi(const EngineSettings& settings) {
        run_on_engine([] {
            int is_initialized = 0, provided = 0;
            MPI_Initialized(&is_initialized);
            if (!is_initialized)
                require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "start");
            MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        });
        int own_rank = 0, own_size = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
        MPI_Comm_size(MPI_COMM_WORLD, &own_size);
        if (own_rank != settings.rank || own_size != settings.size)
            throw UserError(text("MPI says that this is process ", own_rank, " of ", own_size, ", not ",
                                 settings.rank, " of ", settings.size));
        set_place(own_rank, own_size);
    }
    std::string_view engine() const override { return MGE_MPI_NAME; }
    std::string address() const override { return {}; }

private:
    struct Message {
        int rank;
        MPI_Request request;
    };

    void connect(std::span<const std::string>, Milliseconds) override {
        is_aborted_ = false;
        for (int kind = 0; kind < Report::kinds; ++kind) {
            reports_[kind].resize(size_t(size()));
            for (int other = 0; other < size(); ++other) {
                if (other == rank()) continue;
                auto& report = reports_[kind][size_t(other)];
                auto code = MPI_Irecv(&report, sizeof report, MPI_BYTE, other, first_report_tag + kind,
                                      MPI_COMM_WORLD, &report_requests_.emplace_back());
                require(code, "wait for reports");
            }
        }
    }

    // A process that fails ends the others, which would not notice otherwise.
    void finish(bool has_failed) override {
        int is_finalized = 0;
        MPI_Finalized(&is_finalized);
        if (is_finalized) return;
        if (has_failed) {
            std::this_thread::sleep_for(receives_reports() ? later_abort_delay : abort_delay);
            MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        }
        for (auto& request : report_requests_) {
            if (request == MPI_REQUEST_NULL) continue;
            MPI_Cancel(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Finalize();
    }

    void transfer_messages(std::span<const Transfer> transfers) override {
        is_aborted_ = false;
        messages_.clear();
        start_all(messages_, transfers);
        wait_for_all();
    }

    static void start_all(std::vector<Message>& messages, std::span<const Transfer> transfers) {
        for (auto& [other, send, receive] : transfers) {
            for (size_t at = 0; at < receive.size(); at += largest_message)
                start(messages, other, [&](MPI_Request* request) {
                    return MPI_Irecv(receive.data() + at, count(receive.size() - at), MPI_BYTE, other,
                                     data_tag, MPI_COMM_WORLD, request);
                });
            for (size_t at = 0; at < send.size(); at += largest_message)
                start(messages, other, [&](MPI_Request* request) {
                    return MPI_Isend(send.data() + at, count(send.size() - at), MPI_BYTE, other, data_tag,
                                     MPI_COMM_WORLD, request);
                });
        }
    }

    static int count(size_t bytes) { return int(std::min(bytes, largest_message)); }

    static void start(std::vector<Message>& messages, int other, auto&& call) {
        MPI_Request request{};
        require(call(&request), "exchange");
        messages.push_back({other, request});
    }

    void wait_for_all() {
        auto now = std::chrono::steady_clock::now;
        auto busy_until = now() + busy_time;
        size_t left = messages_.size();
        for (;;) {
            size_t before = std::exchange(left, 0);
            for (auto& message : messages_) left += !test(message.request);
            if (left == 0) return;
            if (left < before) progressed();
            if (is_aborted_) throw_stopped(pending());
            if (now() < busy_until) {
                std::this_thread::yield();
            } else {
                if (receives_reports()) throw_stopped(pending());
                waits_for(pending().front());
                std::this_thread::sleep_for(idle_time);
            }
        }
    }

    // MPI_Test sets a finished request to MPI_REQUEST_NULL, for which it returns true later.
    static bool test(MPI_Request& request) {
        int is_done = 0;
        require(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE), "exchange");
        return is_done != 0;
    }

    // True if one is of a failure. The library receives messages only while it is called.
    bool receives_reports() {
        for (auto& request : report_requests_) test(request);
        for (int other = 0; other < size(); ++other)
            if (other != rank() && received_report(Report::failed, other)) return true;
        return false;
    }
    const Report* received_report(Report::Kind kind, int rank) const override {
        if (reports_[kind].empty()) return nullptr;
        auto& report = reports_[kind][size_t(rank)];
        return std::atomic_ref(report.sender).load(std::memory_order_acquire) < 0 ? nullptr : &report;
    }

    std::vector<int> pending() const {
        std::vector<int> ranks;
        for (auto& [rank, request] : messages_)
            if (request != MPI_REQUEST_NULL && std::ranges::find(ranks, rank) == ranks.end())
                ranks.push_back(rank);
        return ranks;
    }

    void abort() override { is_aborted_ = true; }

    void send_report(Report::Kind kind, const Report& report) override {
        sent_[kind] = report;
        for (int other = 0; other < size(); ++other)
            if (other != rank())
                MPI_Isend(&sent_[kind], sizeof report, MPI_BYTE, other, first_report_tag + kind,
                          MPI_COMM_WORLD, &sent_requests_.emplace_back());
    }

    // MPI cannot disconnect one process. The buffers of unfinished messages are freed, so MPI must no longer
    // write to them.
    void leave() override {
        for (auto& message : messages_) {
            if (message.request == MPI_REQUEST_NULL) continue;
            MPI_Cancel(&message.request);
            MPI_Request_free(&message.request);
        }
        messages_.clear();
    }

    std::vector<Message> messages_;
    mutable std::array<std::vector<Report>, Report::kinds> reports_;  // received, by rank
    std::array<Report, Report::kinds> sent_;
    std::vector<MPI_Request> report_requests_, sent_requests_;
    std::atomic<bool> is_aborted_ = false;
};

}  // namespace
}  // namespace mge

extern "C" MGE_API mge::Communicator* mge_open_engine(const mge::EngineSettings& settings) {
    return new mge::Mpi(settings);
}
