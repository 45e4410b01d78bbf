// SPDX-License-Identifier: Apache-2.0
#pragma once
// Processes that work together, on one machine or several: each is connected with each.

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/api.h"
#include "libmge/base/socket.h"

namespace mge {

struct ProcessAddress {
    std::string host;
    int port = 0;
};

// What this process sends to another one and takes from it. The other one has to expect just that.
struct Transfer {
    int rank;
    std::span<const std::byte> send;
    std::span<std::byte> receive;
};

class MGE_API ProcessMesh {
public:
    static constexpr size_t token_bytes = 64;

    // Listens at `host`, an address of this machine, at a port that is free. UserError where it cannot.
    explicit ProcessMesh(const std::string& host);
    ~ProcessMesh();
    int port() const;

    // Connects with all others. Each process calls it, once, with its own rank and where all of them listen,
    // by rank. tokens[i], of token_bytes, is known to this process and process i alone and used for this one
    // meeting: a guest that does not know it is turned away. UserError when a process has not come within
    // `patience`. An exchange fails in which nothing moves for `limit`.
    void connect(int rank, std::span<const ProcessAddress> processes, std::span<const std::string> tokens,
                 std::chrono::seconds patience, std::chrono::milliseconds limit);
    int rank() const { return rank_; }
    int size() const { return int(peers_.size()); }

    // For as long as somebody holds it, other threads wait for theirs.
    // UserError in what runs while an exchange waits on this thread, as the handler of a signal may.
    std::unique_lock<std::mutex> take_turn();
    // All transfers at once, at most one for each process; returns when they are done. The caller has the
    // turn. `what` names the exchange to the others, who have to be at the same one: UserError when they are
    // at another, gone or silent for too long, or what interrupts the wait (base/socket.h). Nobody knows then
    // what is still under way, so this process leaves the others, to whom it is gone, and from then on it is
    // always a UserError.
    void exchange(std::string_view what, std::span<const Transfer> transfers);

    // In a child made by fork(): its copies of the connections, or nobody sees this process end while the
    // child lives.
    void close_in_child() const;

private:
    void let_in_others(std::span<const std::string> tokens, std::chrono::seconds patience, Deadline end);
    void leave();

    Socket listening_;
    std::vector<Socket> peers_;  // by rank; none for this process
    int rank_ = 0;
    std::chrono::milliseconds limit_{};
    std::mutex turn_;
    bool is_broken_ = false;
};

// That of this process; null before it has one. A child made by fork() has none.
MGE_API std::shared_ptr<ProcessMesh> process_mesh();
MGE_API void set_process_mesh(std::shared_ptr<ProcessMesh> mesh);

}  // namespace mge
