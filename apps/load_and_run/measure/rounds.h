// SPDX-License-Identifier: Apache-2.0
#pragma once
// Alternating runs of two programs, so that other load on the machine affects both alike. Each program is a
// separate process that times a round on request.

#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "apps/load_and_run/job.h"

namespace mge::load_and_run {

// Stage --serve-rounds, in the serving process: for each line "test milliseconds" on stdin it runs a round of
// that test for that long, and prints the times of the runs on one line of stdout. Ends with stdin.
void serve_rounds(Job& job);

// The client, which requests rounds.
class RoundServer {
public:
    // Starts the tool with the arguments on these CPUs; without CPUs, on all that are available to this
    // process. DeviceError if it cannot be started or ends.
    RoundServer(const std::string& tool, const std::vector<std::string>& arguments,
                std::span<const int> cpus);
    ~RoundServer();
    RoundServer(const RoundServer&) = delete;

    std::vector<double> round(size_t test, double milliseconds);

private:
    int process_ = -1;
    std::FILE *requests_ = nullptr, *answers_ = nullptr;
    std::string tool_;
};

}  // namespace mge::load_and_run
