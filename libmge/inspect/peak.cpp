// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/peak.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/peak.h"

namespace mge {
namespace {

// The best of several tries: whatever else runs on the machine only makes them slower.
constexpr int tries = 8;
constexpr int64_t rounds_per_try = 2'000'000;  // some 10 ms
constexpr int64_t part_floats = 1 << 16;

template <class Fn>
double best_rate(Fn&& work) {
    using Clock = std::chrono::steady_clock;
    double best = 0;
    for (int i = 0; i < tries; ++i) {
        auto start = Clock::now();
        double done = work();
        best = std::max(best, done / std::chrono::duration<double>(Clock::now() - start).count());
    }
    return best;
}

double operations_per_s(int threads) {
    return best_rate([&] {
        std::vector<double> done(size_t(threads), 0);
        par_for(threads, threads, 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) done[size_t(i)] = cpu::multiply_adds(rounds_per_try);
        });
        double sum = 0;
        for (double d : done) sum += d;
        return sum;
    });
}

double bytes_per_s(int threads) {
    // More than a core reaches of any cache; no more, because it counts into the peak of the process.
    constexpr int64_t floats = (int64_t(64) << 20) / 4;
    std::vector<float> x(size_t(floats), 1.0f), y(size_t(floats), 1.0f);
    return best_rate([&] {
        par_for(threads, floats / part_floats, 1, [&](int64_t begin, int64_t end) {
            cpu::stream_triad(x.data() + begin * part_floats, y.data() + begin * part_floats,
                              (end - begin) * part_floats);
        });
        return 12.0 * double(floats / part_floats * part_floats);
    });
}

}  // namespace

Peak measure_peak(int threads) { return {operations_per_s(threads), bytes_per_s(threads)}; }

}  // namespace mge
