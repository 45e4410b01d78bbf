// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/output/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace mge::cli {

double percentile(const std::vector<double>& sorted, double share) {
    double at = share * double(sorted.size() - 1);
    auto below = size_t(at);
    size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - double(below)) * (sorted[above] - sorted[below]);
}

Statistics summarize(std::vector<double> values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    auto n = double(values.size());
    Statistics s;
    s.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
    double squares = 0;
    for (double v : values) squares += (v - s.mean) * (v - s.mean);
    s.deviation = values.size() > 1 ? std::sqrt(squares / (n - 1)) : 0;
    s.cv = s.mean > 0 ? s.deviation / s.mean : 0;
    s.min = values.front();
    s.max = values.back();
    s.p50 = percentile(values, 0.5);
    s.p90 = percentile(values, 0.9);
    s.p99 = percentile(values, 0.99);
    return s;
}

}  // namespace mge::cli
