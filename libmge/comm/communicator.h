// SPDX-License-Identifier: Apache-2.0
#pragma once
// The processes that train together, and how they exchange bytes of host memory. The engines are the plugin
// libraries of engines/, which engine.h opens.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/api.h"
#include "libmge/comm/engine_thread.h"
#include "libmge/comm/exchange_info.h"
#include "libmge/comm/flight_recorder.h"

namespace mge {

// The bytes that this process sends to another one and receives from it. The other process has to expect the
// same sizes.
struct Transfer {
    int rank;
    std::span<const std::byte> send;
    std::span<std::byte> receive;
};

// Texts that processes send once to each other, by rank, to prove that they are the expected ones. Engines do
// not authenticate the other end of a connection.
struct Proofs {
    std::vector<std::string> sent, expected;  // all of one size; empty: no proofs
};

// A message of a process to all others about an exchange that does not go on.
struct Report {
    enum Kind { waiting, failed };
    static constexpr int kinds = 2;

    char message[1016] = {};  // the error of a failure; ends with a zero
    int32_t about = -1;       // the process that it waits for, or that failed first
    int32_t sender = -1;      // received last: not below 0 if the report is complete
};

// A connection with all other processes. Every exchange begins with a message of fixed size between each pair
// of its group, which names the exchange and holds the bytes of a short transfer. All calls of the engine are
// made by one thread.
class MGE_API Communicator {
public:
    using Milliseconds = std::chrono::milliseconds;

    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    virtual ~Communicator();

    // The name of the engine that carries the bytes.
    virtual std::string_view engine() const = 0;
    // The bytes by which the others reach this process; empty if the engine finds them itself.
    virtual std::string address() const = 0;
    int rank() const { return rank_; }
    int size() const { return size_; }

    // Connects with all others, whose addresses are given by rank. UserError if a process has not come within
    // `patience`, has another version of the library, or does not send the expected proof. An exchange in
    // which nothing moves for `limit` fails.
    void join(std::span<const std::string> addresses, Milliseconds patience, Milliseconds limit,
              const Proofs& proofs = {});

    // Does all transfers at once, at most one for each process, and returns when they are done.
    using Move = std::function<void(std::span<const Transfer>)>;

    // Runs `work` on the engine's thread, which calls its argument once or several times; the first call has
    // a transfer for each other process of the group. Exchanges of other threads wait. UserError if another
    // process is at a different exchange, has ended or failed, or does not answer within the limit, or if
    // this thread waits for an exchange already (in the handler of a signal). The wait can be interrupted
    // (base/interruption.h). Any failure disconnects this process, since transfers may be half done: later
    // exchanges are UserErrors, and the others learn the reason.
    void exchange(const std::shared_ptr<const ExchangeInfo>& info,
                  const std::function<void(const Move&)>& work);
    // The same for a single call.
    void exchange(const std::shared_ptr<const ExchangeInfo>& info, std::span<const Transfer> transfers);

    // True if an exchange has failed here, or another process has reported a failure.
    bool has_failed() const { return is_broken_ || received_failure(); }

    // Writes the last exchanges to PATH.RANK.json when one fails, and when the caller wants it. An empty path
    // writes none.
    void set_record_path(std::string path) { record_path_ = std::move(path); }
    void write_record() const;

    // Closes the descriptors that a child made by fork() has inherited. The others would not notice the end
    // of this process while the child lives.
    virtual void close_in_child() const {}
    // Ends the work with the other processes; the connections close with the object. Exchanges of other
    // threads fail. If `failure` is not empty, it is reported to the others, and the connections close at
    // once.
    void close(const std::string& failure = {});

protected:
    Communicator() = default;
    void set_place(int rank, int size);

    // The following are called on the engine's thread.
    virtual void connect(std::span<const std::string> addresses, Milliseconds patience) = 0;
    // Sends and receives; empty messages are left out. It calls progressed() whenever something has moved.
    // If an engine cannot go on, it calls throw_gone(), and after an abort() throw_stopped().
    virtual void transfer_messages(std::span<const Transfer> transfers) = 0;
    // Starts to send a report to all others; each kind is sent once. It may arrive while an exchange waits.
    virtual void send_report(Report::Kind kind, const Report& report) = 0;
    // Closes all connections. Buffers of unfinished messages are free afterwards.
    virtual void leave() = 0;
    // The last call of the engine. MPI ends the other processes if an exchange or this process has failed.
    virtual void finish(bool) {}

    // The following are called on another thread, too.
    // Makes transfer_messages() and connect() stop soon. It is repeated until they do.
    virtual void abort() = 0;
    // The report that a process has sent, or null.
    virtual const Report* received_report(Report::Kind kind, int rank) const = 0;

    void run_on_engine(const std::function<void()>& work);
    void progressed() { deadline_ = (std::chrono::steady_clock::now() + limit_).time_since_epoch().count(); }
    // The process for which the engine waits; -1: none in particular.
    void waits_for(int rank) { awaited_ = rank; }
    [[noreturn]] void throw_gone(int rank);
    [[noreturn]] void throw_stopped(std::vector<int> pending);

private:
    void move(const std::shared_ptr<const ExchangeInfo>& info, std::span<const Transfer> transfers);
    void announce(const ExchangeInfo& info, std::span<const Transfer> transfers);
    void fail(const ExchangeInfo& info, const std::string& message);
    void send_failure(const Report& report);
    const Report* received_failure() const;
    int last_awaited(int rank) const;
    void throw_failure_of_another();
    // Size of the transfers that the first message holds. All processes have the same.
    size_t short_bytes() const;
    bool is_overdue() const {
        return std::chrono::steady_clock::now().time_since_epoch().count() > deadline_;
    }

    int rank_ = 0, size_ = 0;
    Milliseconds limit_{};
    std::string record_path_;
    FlightRecorder recorder_;

    std::mutex turn_;                                     // held during an exchange
    std::map<std::vector<int64_t>, uint64_t> sequences_;  // number of exchanges by group
    uint64_t sequence_ = 0;
    bool is_announced_ = false;
    std::vector<std::byte> first_messages_;  // memory for announce()
    std::atomic<bool> is_broken_ = false, is_closing_ = false;
    std::string failure_;       // the first one
    std::vector<int> missing_;  // set before a failure is thrown
    std::optional<Report> forwarded_;

    std::atomic<std::chrono::steady_clock::rep> deadline_{};
    std::atomic<int> awaited_ = -1;
    std::unique_ptr<EngineThread> thread_;  // started on first use: a child made by fork() can make its own
};

// Returns the communicator of this process, or null before it has one. A child made by fork() has none.
MGE_API std::shared_ptr<Communicator> communicator();
MGE_API void set_communicator(std::shared_ptr<Communicator> communicator);

}  // namespace mge
