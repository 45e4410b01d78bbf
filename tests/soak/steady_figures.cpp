// SPDX-License-Identifier: Apache-2.0
#include "tests/soak/steady_figures.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <span>

#include "libmge/inspect/memory.h"
#include "tests/live_threads.h"

namespace mge::test {
namespace {

constexpr int warm_up_samples = 5;
constexpr double largest_rise = 1 << 20;

long entries_of(const char* folder) {
    auto all = std::filesystem::directory_iterator(folder);
    return std::distance(begin(all), end(all));
}

Figures figures_now() {
    ProcessMemory memory = process_memory();
    return {double(memory.anonymous + memory.file), entries_of("/proc/self/fd"), live_threads()};
}

// By how much a straight line through these figures rises over all of them: what is taken for good, and not
// the last one's chance.
double rise_of(std::span<const Figures> all) {
    double n = double(all.size()), mean_x = (n - 1) / 2, mean_y = 0, xy = 0, xx = 0;
    for (auto& f : all) mean_y += f.resident / n;
    for (size_t i = 0; i < all.size(); ++i) {
        xy += (double(i) - mean_x) * (all[i].resident - mean_y);
        xx += (double(i) - mean_x) * (double(i) - mean_x);
    }
    return xy / xx * (n - 1);
}

}  // namespace

void SteadyFigures::sample() { seen_.push_back(figures_now()); }

void SteadyFigures::expect(const char* what, long count) const {
    ASSERT_EQ(seen_.size(), size_t(soak_samples));
    auto steady = std::span(seen_).subspan(warm_up_samples);
    double rise = rise_of(steady);
    std::printf(
        "    %ld %s: %.1f MiB resident after the first, %.1f at the end, a rise of %.3f; %ld handles\n",
        count, what, seen_.front().resident / (1 << 20), seen_.back().resident / (1 << 20), rise / (1 << 20),
        seen_.back().handles);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(rise, largest_rise) << what;  // the resident memory includes the sanitizer's
#endif
    EXPECT_EQ(steady.front().handles, steady.back().handles) << what;
    EXPECT_EQ(steady.front().threads, steady.back().threads) << what;
}

}  // namespace mge::test
