// SPDX-License-Identifier: Apache-2.0
#pragma once
// The engine of the library itself: every process has a TCP connection to every other one.

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/api.h"
#include "libmge/base/socket.h"
#include "libmge/comm/communicator.h"

namespace mge {

struct ProcessAddress {
    std::string host;
    int port = 0;
};

class MGE_API ProcessMesh : public Communicator {
public:
    static constexpr size_t token_bytes = 64;

    // Listens at `host`, an address of this machine, at a port that is free. UserError where it cannot.
    explicit ProcessMesh(const std::string& host);
    ~ProcessMesh() override;
    std::string_view engine() const override { return "mesh"; }
    int port() const;

    // Connects with all others. Each process calls it, once, with its own rank and where all of them listen,
    // by rank. tokens[i], of token_bytes, is known to this process and process i alone and used for this one
    // meeting: a guest that does not know it is turned away. UserError when a process has not come within
    // `patience`. An exchange fails in which nothing moves for `limit`.
    void connect(int rank, std::span<const ProcessAddress> processes, std::span<const std::string> tokens,
                 std::chrono::seconds patience, std::chrono::milliseconds limit);
    void close_in_child() const override;

private:
    void transfer(std::string_view what, std::span<const Transfer> transfers) override;
    void leave() override;
    void let_in_others(std::span<const std::string> tokens, std::chrono::seconds patience, Deadline end);

    Socket listening_;
    std::vector<Socket> peers_;  // by rank; none for this process
    std::chrono::milliseconds limit_{};
};

}  // namespace mge
