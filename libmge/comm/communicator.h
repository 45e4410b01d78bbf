// SPDX-License-Identifier: Apache-2.0
#pragma once
// The processes that train together and how they exchange bytes. The engines below it are ProcessMesh and the
// plugin libraries of engines/, which engine.h opens.

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

// The bytes that this process sends to another one and receives from it in one exchange. The other process
// has to expect the same sizes.
struct Transfer {
    int rank;
    std::span<const std::byte> send;
    std::span<std::byte> receive;
};

class MGE_API Communicator {
public:
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    virtual ~Communicator();

    // The name of the engine that carries the bytes.
    virtual std::string_view engine() const = 0;
    int rank() const { return rank_; }
    int size() const { return size_; }

    // Returns a lock that makes the exchanges of other threads wait. UserError in code that runs while an
    // exchange waits on this thread, such as the handler of a signal.
    std::unique_lock<std::mutex> take_turn();

    // Does all transfers at once, at most one for each process, and returns when they are done. The caller
    // holds the turn. `what` names the exchange to the others, which must be at the same one. UserError when
    // another process is at a different exchange, has ended, or does not answer within the limit, and
    // whatever interrupts the wait (base/socket.h). Any failure disconnects this process, since transfers may
    // be half done: later exchanges are UserErrors, and the others see this process as disconnected.
    void exchange(std::string_view what, std::span<const Transfer> transfers);

    // Closes the descriptors that a child made by fork() has inherited. The others would not notice the end
    // of this process while the child lives.
    virtual void close_in_child() const {}
    // Ends the work with the other processes; the connections close with the object. A process that fails
    // calls it with `has_failed`: MPI then ends the others too.
    virtual void close(bool has_failed);

protected:
    Communicator() = default;
    void set_place(int rank, int size);

    virtual void transfer(std::string_view what, std::span<const Transfer> transfers) = 0;
    // Closes all connections.
    virtual void leave() = 0;

private:
    int rank_ = 0, size_ = 0;
    std::mutex turn_;
    bool is_broken_ = false;
};

// Returns the communicator of this process, or null before it has one. A child made by fork() has none.
MGE_API std::shared_ptr<Communicator> communicator();
MGE_API void set_communicator(std::shared_ptr<Communicator> communicator);

}  // namespace mge
