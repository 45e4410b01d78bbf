// SPDX-License-Identifier: Apache-2.0
#pragma once
// An engine without a library: each pair of processes has a socket. Tests use it where no engine is
// installed, and compare others with it.

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "libmge/comm/communicator.h"

namespace mge::test {

class ProcessMesh final : public Communicator {
public:
    // The meshes of `size` processes, by rank. A process made by fork() keeps its own and drops the others.
    static std::vector<std::shared_ptr<ProcessMesh>> make(int size);
    ProcessMesh(int rank, int size);
    ~ProcessMesh() override;

    std::string_view engine() const override { return "mesh"; }
    std::string address() const override { return {}; }

    // Drops everything that is sent from now on, as a link that is cut silently.
    void cut() { is_cut_ = true; }

private:
    struct Pair {
        int data = -1, reports[Report::kinds] = {-1, -1};  // sockets
    };

    void connect(std::span<const std::string>, Milliseconds) override {}
    void transfer_messages(std::span<const Transfer> transfers) override;
    void send_report(Report::Kind kind, const Report& report) override;
    void leave() override;
    void abort() override { is_aborted_ = true; }
    const Report* received_report(Report::Kind kind, int rank) const override;

    std::vector<Pair> pairs_;  // by rank
    std::atomic<bool> is_cut_ = false, is_aborted_ = false;
    mutable std::vector<Report> reports_[Report::kinds];  // by rank
    mutable std::mutex mutex_;  // for what two threads use: reports and the end of pairs
};

}  // namespace mge::test
