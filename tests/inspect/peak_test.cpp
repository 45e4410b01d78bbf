// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/peak.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "libmge/base/joined.h"
#include "libmge/device/cpu/cpu_caches.h"
#include "libmge/device/cpu/cpu_device.h"
#include "tests/new_folder.h"

namespace mge {
namespace {

// Measuring keeps what it finds: not in the user's folder.
class Peaks : public testing::Test {
protected:
    std::filesystem::path folder_ = new_folder("mge_peaks");
    void SetUp() override { ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1); }
    void TearDown() override { std::filesystem::remove_all(folder_); }
};

TEST_F(Peaks, IsPlausible) {
    Peak peak = measure_peak(1).value();
#ifdef __SANITIZE_ADDRESS__
    constexpr double part = 0.1;  // beside ten others it was a hundredth of what the machine can do
#else
    constexpr double part = 1;
#endif
    EXPECT_GT(peak.operations_per_s, part * 1e9);
    EXPECT_LT(peak.operations_per_s, 1e13);
    EXPECT_GT(peak.bytes_per_s, part * 5e8);
    EXPECT_LT(peak.bytes_per_s, 1e13);
}

TEST_F(Peaks, CachesAreFasterThanWhatIsBehindThem) {
    Peak peak = measure_peak(1).value();
    double behind = peak.bytes_per_s;
    for (auto& cache : peak.caches) {
        EXPECT_GT(cache.bytes_per_s, behind) << cache.name;
        EXPECT_LT(cache.bytes_per_s, 6e9 * 512) << cache.name << ": more than any core moves";
        behind = cache.bytes_per_s;
    }
    EXPECT_LE(peak.caches.size(), cpu_caches().size());
}

std::string names_of(const std::vector<CacheRoof>& roofs) { return joined(roofs, " ", &CacheRoof::name); }

TEST_F(Peaks, LeavesOutRoofsThatSayNothing) {
    EXPECT_EQ(names_of(sound_cache_roofs({{"L1", 400}, {"L2", 200}, {"L3", 100}}, 50)), "L3 L2 L1");
    EXPECT_EQ(names_of(sound_cache_roofs({{"L1", 400}, {"L2", 200}, {"L3", 50}}, 49)), "L2 L1");
    EXPECT_EQ(names_of(sound_cache_roofs({{"L1", 100}, {"L2", 200}}, 50)), "L2");
    EXPECT_EQ(names_of(sound_cache_roofs({}, 50)), "");
}

TEST_F(Peaks, KnowsWhereDataCameFrom) {
    Peak peak{.operations_per_s = 1, .bytes_per_s = 100};
    EXPECT_EQ(peak.source_of(500).name, "memory");
    peak.caches = {{"L3", 200}, {"L2", 400}};
    EXPECT_EQ(peak.source_of(50).name, "memory");
    EXPECT_EQ(peak.source_of(110).name, "memory") << "measured twice";
    EXPECT_EQ(peak.source_of(150).name, "L3");
    EXPECT_EQ(peak.source_of(300).bytes_per_s, 400);
    EXPECT_EQ(peak.source_of(900).name, "L2");
}

// A compiler that finds some of the sums equal computes fewer of them, in as many operations as one takes:
// then the figure is far above what two multiply-add units can do. No machine has passed 5 GHz on all its
// lanes.
TEST_F(Peaks, MatchesTheMachine) {
    constexpr double most_hertz = 6e9, units = 2, operations = 2;
    double lanes = cpu_isa() >= Isa::avx512 ? 16 : cpu_isa() >= Isa::avx2 ? 8 : 4;
    EXPECT_LE(measure_peak(1).value().operations_per_s, most_hertz * units * operations * lanes);
}

// Sums of 16-bit pairs, of four bytes, or of tiles: up to 2 units of so many products, and 1024 a cycle.
TEST_F(Peaks, MatchesTheMachineForBytes) {
    constexpr double most_hertz = 6e9, units = 2, operations = 2;
    const Isa isa = cpu_isa();
    double products = isa >= Isa::amx           ? 1024
                      : isa >= Isa::avx512_vnni ? 64
                      : isa >= Isa::avx512      ? 32
                      : isa >= Isa::avx2        ? 16
                                                : 8;
    const double rate = measure_peak(1).value().byte_operations_per_s;
    EXPECT_GT(rate, 1e8);
    EXPECT_LE(rate, most_hertz * units * operations * products);
}

// Rates that rise and fall as given; the machine is quiet or not.
Peak best_of(const std::vector<double>& rates, bool is_quiet) {
    size_t at = 0;
    auto next = [&] { return rates[at++ % rates.size()]; };
    return best_of_many({next, next, [&] { return is_quiet; }});
}

TEST_F(Peaks, IsTheMaximumOfManyRuns) {
    Peak peak = best_of({1, 2, 9, 3, 5, 4, 7}, true);
    EXPECT_EQ(peak.operations_per_s, 9);
    EXPECT_EQ(peak.bytes_per_s, 9);
    EXPECT_FALSE(peak.is_busy);
    EXPECT_TRUE(best_of({1}, false).is_busy);
}

TEST_F(Peaks, IsKeptPerMachine) {
    std::string path = folder_ / "cache/mge/peaks";
    auto join = [&](const char* key, Peak measured) { return join_kept_peak(path, key, measured); };
    EXPECT_TRUE(join("one cpu | 2", {100, 10, true}).is_busy);
    EXPECT_EQ(join("one cpu | 2", {90, 15, true}).operations_per_s, 100);
    Peak quiet = join("one cpu | 2", {120, 9});
    EXPECT_EQ(quiet.operations_per_s, 120);
    EXPECT_EQ(quiet.bytes_per_s, 15);
    EXPECT_FALSE(quiet.is_busy);
    EXPECT_EQ(join("other cpu | 2", {50, 5}).operations_per_s, 50);
    Peak busy = join("one cpu | 2", {10, 1, true});
    EXPECT_EQ(busy.operations_per_s, 120) << "the roof of a quiet time";
    EXPECT_FALSE(busy.is_busy);
    EXPECT_EQ(join("one cpu | 2", {30, 9}).operations_per_s, 30) << "another machine of that name";
    EXPECT_EQ(join("other cpu | 2", {1, 1, true}).operations_per_s, 50);
}

TEST_F(Peaks, NeedsNoFile) {
    for (auto* content :
         {"", "x", "mge-peaks 1\nnan inf 0 a\n-1 3 0 a\n1e999 1 0 a\nlong text", "mge-peaks 9\n5 5 0 a\n"}) {
        std::string path = folder_ / "peaks";
        std::ofstream(path) << content;
        EXPECT_EQ(join_kept_peak(path, "a", {2, 2}).operations_per_s, 2) << content;
        EXPECT_EQ(join_kept_peak(path, "a", {1, 1}).operations_per_s, 2) << content;
    }
    EXPECT_EQ(join_kept_peak("/proc/no/such/peaks", "a", {2, 2}).operations_per_s, 2);
    EXPECT_EQ(join_kept_peak(folder_, "a", {2, 2}).operations_per_s, 2);
}

}  // namespace
}  // namespace mge
