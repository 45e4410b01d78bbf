// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "libmge/base/socket.h"
#include "libmge/comm/communicator.h"
#include "libmge/comm/engine_thread.h"

namespace mge {

// A communicator over an engine that sends messages of agreed sizes. Each transfer begins with a message of
// fixed size, which announces the exchange and holds the bytes of a short one. All calls of the engine are
// made by one thread.
class MGE_API MessageCommunicator : public Communicator {
public:
    // The bytes by which the others reach this process; empty if the engine finds them itself.
    virtual std::string address() const = 0;

    // Connects with all others, whose addresses are given by rank. UserError when a process has not come
    // within `patience`, or has another version of the library. An exchange fails in which a process does not
    // answer for `limit`.
    void join(std::span<const std::string> addresses, std::chrono::milliseconds patience,
              std::chrono::milliseconds limit);

protected:
    using Milliseconds = std::chrono::milliseconds;

    // The following are called on the engine's thread.
    virtual void connect(std::span<const std::string> addresses, Milliseconds patience) = 0;
    // Sends and receives; empty messages are left out. UserError when a process is lost, or when the deadline
    // has passed (throw_silent).
    virtual void transfer_messages(std::span<const Transfer> transfers, Deadline end) = 0;

    // Makes transfer_messages() and connect() throw soon. Called on another thread.
    virtual void abort() = 0;

    void run_on_engine(std::function<void()> work);
    [[noreturn]] void throw_silent(std::span<const int> ranks) const;

private:
    void transfer(std::string_view what, std::span<const Transfer> transfers) final;
    void transfer_on_engine(std::string_view what, std::span<const Transfer> transfers);
    Deadline deadline(size_t bytes) const;

    Milliseconds limit_{};
    EngineThread thread_;
};

}  // namespace mge
