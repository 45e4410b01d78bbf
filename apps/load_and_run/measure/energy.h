// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace mge::load_and_run {

// Energy of the processor packages, from the counters in /sys/class/powercap (RAPL). They count for the whole
// machine, and on many systems only root can read them.
class EnergyMeter {
public:
    // `root`: the folder of the counters.
    explicit EnergyMeter(std::string root = "/sys/class/powercap");

    // Empty if energy can be measured, otherwise the reason.
    const std::string& unavailable() const { return unavailable_; }
    void start();
    // Joules since start(); 0 when it cannot be measured.
    double joules() const;

private:
    struct Counter {
        std::string path;
        uint64_t range = 0;  // it starts at 0 again after this many microjoules
        uint64_t start = 0;
    };
    std::vector<Counter> counters_;  // one per package
    std::string unavailable_;
};

}  // namespace mge::load_and_run
