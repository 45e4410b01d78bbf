// SPDX-License-Identifier: Apache-2.0
#pragma once
// Resources of the process, sampled while some work is repeated: after the first part of the samples they
// must not grow any more.

#include <vector>

namespace mge::test {

constexpr int soak_samples = 20;

struct Figures {
    double resident = 0;  // bytes
    long handles = 0, threads = 0;
};

class SteadyFigures {
public:
    void sample();
    // Fails the test unless they are steady; `what` says of what, and how often it was done.
    void expect(const char* what, long count) const;

private:
    std::vector<Figures> seen_;
};

}  // namespace mge::test
