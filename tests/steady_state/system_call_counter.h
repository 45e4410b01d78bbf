// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts the system calls of a program between two marks, by tracing a child process.

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace mge::steady_state {

// Called by the traced program: the calls between the first and the second mark count.
void mark_system_calls();

struct SystemCalls {
    long count = 0;  // without those by which threads wait for each other
    long waits = 0;  // futex calls: a team's, as mutexes are counted apart (call_counter.h)
    long looks = 0;  // into /proc, by a team that has lost a CPU to others
    long moves = 0;  // calls about affinity, by a member of a team that leaves its caller's CPU
    std::map<long, long> by_number;  // number of the call -> how often, those not included
    bool is_forbidden = false;       // tracing is not allowed here: nothing was counted
    std::string error;               // why the traced program did not come to its end
};

// Starts this program again with `arguments` and traces all its threads.
SystemCalls count_system_calls(const std::vector<std::string>& arguments);

}  // namespace mge::steady_state
