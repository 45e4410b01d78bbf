// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstddef>
#include <string>

namespace mge::cli {

// One line on stderr that says how far a longer piece of work is, with the time left. It appears only on a
// terminal, only after a second, and is gone when the work is done.
class Progress {
public:
    // total 0: not known, the count alone is shown.
    Progress(std::string what, size_t total);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void advance(size_t steps = 1, const std::string& note = {});
    // The work turned out larger or smaller.
    void set_total(size_t total) { total_ = total; }

private:
    using Clock = std::chrono::steady_clock;
    std::string what_;
    size_t total_, done_ = 0;
    bool wanted_, shown_ = false;
    Clock::time_point start_ = Clock::now(), drawn_{};
};

}  // namespace mge::cli
