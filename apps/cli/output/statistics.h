// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

namespace mge::cli {

struct Statistics {
    double min = 0, mean = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;
    double cv = 0;         // standard deviation (n - 1) over mean; 0 for fewer than two values
    double deviation = 0;  // standard deviation
};

// Returns the percentile `share` in [0, 1] of ascending values, by linear interpolation (NumPy's default).
double percentile(const std::vector<double>& sorted, double share);

// Percentiles use linear interpolation. All fields are 0 for no values.
Statistics summarize(std::vector<double> values);

}  // namespace mge::cli
