// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

namespace mge::cli {

struct Statistics {
    double min = 0, mean = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;
    double cv = 0;         // standard deviation over mean, n - 1 in the divisor; 0 for fewer than two values
    double deviation = 0;  // standard deviation
};

// `share` in [0, 1] of values in rising order, by linear interpolation between neighbours (numpy's default).
double percentile(const std::vector<double>& sorted, double share);

// Percentiles by linear interpolation between neighbours (numpy's default). All zero for no values.
Statistics summarize(std::vector<double> values);

}  // namespace mge::cli
