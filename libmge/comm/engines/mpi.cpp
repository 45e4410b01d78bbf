// SPDX-License-Identifier: Apache-2.0
// MPI, compiled once for each implementation, whose interfaces differ in binary form. The process was started
// by mpirun or srun, which knows rank and size.
#include <mpi.h>

#include <algorithm>
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

constexpr int tag = 0;                               // messages between two processes keep their order
constexpr size_t largest_message = size_t(1) << 30;  // MPI counts in int
// For so long a wait asks again and again; then it lets others use the CPU in between.
constexpr std::chrono::milliseconds busy_time(1);
constexpr std::chrono::microseconds idle_time(50);

void require(int code, const char* action) {
    if (code == MPI_SUCCESS) return;
    char reason[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(code, reason, &length);
    throw UserError(text("MPI cannot ", action, ": ", std::string_view(reason, size_t(length))));
}

class Mpi final : public MessageCommunicator {
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

    // A process that fails ends the others, which would not notice otherwise.
    void close(bool has_failed) override {
        Communicator::close(has_failed);
        run_on_engine([&] {
            int is_finalized = 0;
            MPI_Finalized(&is_finalized);
            if (is_finalized) return;
            if (has_failed) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
            MPI_Finalize();
        });
    }

private:
    struct Message {
        int rank;
        MPI_Request request;
    };

    void connect(std::span<const std::string>, Milliseconds) override { is_aborted_ = false; }

    void transfer_messages(std::span<const Transfer> transfers, Deadline end) override {
        std::vector<Message> messages;
        try {
            start_all(messages, transfers);
            finish(messages, end);
        } catch (...) {
            cancel(messages);
            throw;
        }
    }

    static void start_all(std::vector<Message>& messages, std::span<const Transfer> transfers) {
        for (auto& [other, send, receive] : transfers) {
            for (size_t at = 0; at < receive.size(); at += largest_message)
                start(messages, other, [&](MPI_Request* request) {
                    return MPI_Irecv(receive.data() + at, count(receive.size() - at), MPI_BYTE, other, tag,
                                     MPI_COMM_WORLD, request);
                });
            for (size_t at = 0; at < send.size(); at += largest_message)
                start(messages, other, [&](MPI_Request* request) {
                    return MPI_Isend(send.data() + at, count(send.size() - at), MPI_BYTE, other, tag,
                                     MPI_COMM_WORLD, request);
                });
        }
    }

    // The buffers are freed when the exchange fails, so MPI must no longer write to them.
    static void cancel(std::vector<Message>& messages) {
        for (auto& message : messages) {
            if (message.request == MPI_REQUEST_NULL) continue;
            MPI_Cancel(&message.request);
            MPI_Request_free(&message.request);
        }
    }

    static int count(size_t bytes) { return int(std::min(bytes, largest_message)); }

    static void start(std::vector<Message>& messages, int other, auto&& call) {
        MPI_Request request{};
        require(call(&request), "exchange");
        messages.push_back({other, request});
    }

    void finish(std::vector<Message>& messages, Deadline end) {
        auto now = std::chrono::steady_clock::now;
        auto busy_until = now() + busy_time;
        for (;;) {
            bool is_done = true;
            for (auto& message : messages) is_done &= test(message);
            if (is_done) return;
            if (is_aborted_) throw UserError("an exchange between processes was interrupted");
            if (now() >= end) throw_pending(messages);
            if (now() < busy_until)
                std::this_thread::yield();
            else
                std::this_thread::sleep_for(idle_time);
        }
    }

    // MPI_Test sets the requests of finished messages to MPI_REQUEST_NULL, for which it returns true later.
    static bool test(Message& message) {
        int is_done = 0;
        require(MPI_Test(&message.request, &is_done, MPI_STATUS_IGNORE), "exchange");
        return is_done != 0;
    }

    [[noreturn]] void throw_pending(const std::vector<Message>& messages) const {
        std::vector<int> ranks;
        for (auto& [rank, request] : messages)
            if (request != MPI_REQUEST_NULL && std::ranges::find(ranks, rank) == ranks.end())
                ranks.push_back(rank);
        throw_silent(ranks);
    }

    void abort() override { is_aborted_ = true; }
    void leave() override {}  // MPI cannot disconnect one process

    std::atomic<bool> is_aborted_ = false;
};

}  // namespace
}  // namespace mge

extern "C" MGE_API mge::MessageCommunicator* mge_open_engine(const mge::EngineSettings& settings) {
    return new mge::Mpi(settings);
}
