// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs of two programs in turns: what the machine does meanwhile hits both alike. Each is a process of its
// own that times a round whenever it is told to.

#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "apps/load_and_run/job.h"

namespace mge::load_and_run {

// Stage --serve-rounds, of the process that is told: for each line "test milliseconds" on stdin it prints the
// times of a round of that test, runs for so long, on one line of stdout. Ends with stdin.
void serve_rounds(Job& job);

// The side that tells.
class RoundServer {
public:
    // Starts the tool with the arguments, on these CPUs; on all that this process may use when there are
    // none. DeviceError when it cannot be started or ends.
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
