// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/peak.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>
#include <vector>

#include "libmge/base/cgroup.h"
#include "libmge/base/error.h"
#include "libmge/base/files/cache_folder.h"
#include "libmge/base/files/file.h"
#include "libmge/device/cpu/cpu_caches.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/device/device.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/peak.h"
#include "libmge/kernel/measure/witness.h"

namespace mge {
namespace {

namespace fs = std::filesystem;

// Runs of some milliseconds fit between two turns of a neighbour.
constexpr int short_runs = 24;
constexpr int64_t rounds_per_run = 400'000;  // about 1 ms
constexpr int64_t part_floats = 1 << 16;
constexpr int64_t line_floats = 16;                // in a cache line
constexpr int64_t floats_per_cache_run = 1 << 20;  // per thread; some 0.1 ms
// More than a core reaches of any cache; no more, because it counts into the peak of the process.
constexpr int64_t triad_floats = (int64_t(64) << 20) / 4;

template <class Fn>
double rate_of(Fn&& work) {
    using Clock = std::chrono::steady_clock;
    auto start = Clock::now();
    double done = work();
    return done / std::chrono::duration<double>(Clock::now() - start).count();
}

// Operations of so many rounds on each thread.
double compute(int threads, double (*rounds)(int64_t)) {
    std::vector<double> done(size_t(threads), 0);
    par_for(threads, threads, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) done[size_t(i)] = rounds(rounds_per_run);
    });
    double sum = 0;
    for (double d : done) sum += d;
    return sum;
}

double move(int threads, std::vector<float>& x, std::vector<float>& y) {
    constexpr int64_t parts = triad_floats / part_floats;
    par_for(threads, parts, 1, [&](int64_t begin, int64_t end) {
        cpu::stream_triad(x.data() + begin * part_floats, y.data() + begin * part_floats,
                          (end - begin) * part_floats);
    });
    return 12.0 * double(parts * part_floats);
}

// The floats that each thread moves to and fro in a cache: half of its part of the cache, and so much more
// than the cache below that little is found there. A virtual machine may have less of the last cache than the
// system says.
int64_t floats_in(const CpuCache& cache, int64_t below, int threads) {
    constexpr int64_t times_below = 4;
    auto bytes = int64_t(cache.bytes) / std::min(cache.cpus, threads) / 2;
    if (below) bytes = std::min(bytes, times_below * below);
    // x and y.
    int64_t floats = std::min(bytes / 2 / int64_t(sizeof(float)), (triad_floats - line_floats) / threads);
    return floats / line_floats * line_floats;
}

float* at_line(std::vector<float>& floats) {
    auto begin = uintptr_t(floats.data()), line = line_floats * sizeof(float);
    return floats.data() + (line - begin % line) % line / sizeof(float);
}

// Moves each thread's floats several times.
double move_in_cache(int threads, int64_t floats, float* x, float* y) {
    int64_t times = std::max<int64_t>(1, floats_per_cache_run / floats);
    par_for(threads, threads, 1, [&](int64_t begin, int64_t end) {
        for (int64_t thread = begin; thread < end; ++thread)
            for (int64_t i = 0; i < times; ++i)
                cpu::stream_triad(x + thread * floats, y + thread * floats, floats);
    });
    return 12.0 * double(threads * times * floats);
}

std::vector<CacheRoof> measure_caches(int threads, float* x, float* y) {
    std::vector<CacheRoof> roofs;
    int64_t below = 0;
    for (auto& cache : cpu_caches()) {
        int64_t floats = floats_in(cache, below, threads);
        below = int64_t(cache.bytes);
        if (floats <= 0) continue;
        auto move_once = [&] { return move_in_cache(threads, floats, x, y); };
        CacheRoof roof{text('L', cache.level), 0};
        for (int i = 0; i < short_runs; ++i)
            roof.bytes_per_s = std::max(roof.bytes_per_s, rate_of(move_once));
        roofs.push_back(std::move(roof));
    }
    return roofs;
}

// A control group ends a process that takes more.
bool fits_into_groups(uint64_t bytes) {
    auto limit = memory_limit_of_groups();
    constexpr uint64_t for_others = 16 << 20;
    return !limit || limit->bytes >= limit->used + bytes + for_others;
}

// The file: a line with its format, then lines of operations per second, bytes per second, whether the
// machine was busy, and the key.
constexpr std::string_view header = "mge-peaks 1";
constexpr size_t most_bytes = 1 << 16;

struct Kept {
    std::string key;
    Peak peak;
};

bool is_possible(double rate) { return std::isfinite(rate) && rate > 0; }

std::vector<Kept> read_kept(const std::string& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > most_bytes || error) return {};
    std::ifstream stream(path);
    std::string line;
    if (!std::getline(stream, line) || line != header) return {};
    std::vector<Kept> all;
    while (std::getline(stream, line)) {
        std::istringstream words(line);
        words.imbue(std::locale::classic());
        Kept kept;
        if (words >> kept.peak.operations_per_s >> kept.peak.bytes_per_s >> kept.peak.is_busy &&
            std::getline(words >> std::ws, kept.key) && is_possible(kept.peak.operations_per_s) &&
            is_possible(kept.peak.bytes_per_s))
            all.push_back(std::move(kept));
    }
    return all;
}

void write_kept(const std::string& path, const std::vector<Kept>& all) {
    try {
        std::error_code ignored;  // writing reports the error
        fs::create_directories(fs::path(path).parent_path(), ignored);
        write_file_atomically(path, [&](std::ostream& stream) {
            stream.imbue(std::locale::classic());
            stream.precision(17);
            stream << header << '\n';
            for (auto& kept : all)
                stream << kept.peak.operations_per_s << ' ' << kept.peak.bytes_per_s << ' '
                       << kept.peak.is_busy << ' ' << kept.key << '\n';
        });
    } catch (const UserError&) {
        // The next one measures for itself.
    }
}

Peak better(const Peak& kept, const Peak& measured) {
    constexpr double another_machine = 2;
    bool is_far = kept.operations_per_s > another_machine * measured.operations_per_s ||
                  kept.bytes_per_s > another_machine * measured.bytes_per_s;
    if (is_far && !measured.is_busy) return measured;
    return {std::max(kept.operations_per_s, measured.operations_per_s),
            std::max(kept.bytes_per_s, measured.bytes_per_s), kept.is_busy && measured.is_busy};
}

}  // namespace

Peak best_of_many(const PeakRuns& runs) {
    bool was_quiet = runs.is_quiet();
    Peak best;
    for (int i = 0; i < short_runs; ++i) {
        best.operations_per_s = std::max(best.operations_per_s, runs.operations_per_s());
        best.bytes_per_s = std::max(best.bytes_per_s, runs.bytes_per_s());
    }
    best.is_busy = !was_quiet || !runs.is_quiet();
    return best;
}

Peak join_kept_peak(const std::string& path, const std::string& key, const Peak& measured) {
    auto all = read_kept(path);
    auto own = std::ranges::find(all, key, &Kept::key);
    if (own == all.end()) {
        all.push_back({key, measured});
        write_kept(path, all);
        return measured;
    }
    Peak joined = better(own->peak, measured);
    bool is_new = joined.operations_per_s != own->peak.operations_per_s ||
                  joined.bytes_per_s != own->peak.bytes_per_s || joined.is_busy != own->peak.is_busy;
    own->peak = joined;
    if (is_new) write_kept(path, all);
    return joined;
}

std::vector<CacheRoof> sound_cache_roofs(std::vector<CacheRoof> first_to_last, double memory_bytes_per_s) {
    // A roof that is hardly above the one below it says nothing.
    constexpr double least_ratio = 1.15;
    std::vector<CacheRoof> sound;
    std::ranges::reverse(first_to_last);
    for (auto& cache : first_to_last) {
        double below = sound.empty() ? memory_bytes_per_s : sound.back().bytes_per_s;
        if (cache.bytes_per_s >= least_ratio * below) sound.push_back(std::move(cache));
    }
    return sound;
}

std::optional<std::string> kept_peaks_path() {
    auto folder = cache_folder();
    return folder ? std::optional(*folder + "/mge/peaks") : std::nullopt;
}

std::optional<Peak> measure_peak(int threads) {
    if (!fits_into_groups(2 * triad_floats * sizeof(float))) return std::nullopt;
    std::vector<float> x, y;
    try {
        x.assign(size_t(triad_floats), 1.0f);
        y.assign(size_t(triad_floats), 1.0f);
    } catch (const std::bad_alloc&) {
        return std::nullopt;
    }
    auto witness = system_witness(threads);
    Peak measured = best_of_many(
        {[&] { return rate_of([&] { return compute(threads, cpu::multiply_adds); }); },
         [&] { return rate_of([&] { return move(threads, x, y); }); }, [&] { return is_quiet(*witness); }});
    Peak of_bytes{.bytes_per_s = measured.bytes_per_s, .is_busy = measured.is_busy};
    for (int i = 0; i < short_runs; ++i)
        of_bytes.operations_per_s = std::max(of_bytes.operations_per_s,
                                             rate_of([&] { return compute(threads, cpu::multiply_bytes); }));
    auto caches = measure_caches(threads, at_line(x), at_line(y));
    if (auto path = kept_peaks_path()) {
        std::string key = text(cpu_model(), " | ", name_of(cpu_isa()), " | ", threads);
        measured = join_kept_peak(*path, key, measured);
        of_bytes = join_kept_peak(*path, key + " | bytes", of_bytes);
        for (auto& cache : caches)
            cache.bytes_per_s =
                join_kept_peak(*path, text(key, " | ", cache.name),
                               {measured.operations_per_s, cache.bytes_per_s, measured.is_busy})
                    .bytes_per_s;
    }
    measured.caches = sound_cache_roofs(std::move(caches), measured.bytes_per_s);
    measured.byte_operations_per_s = of_bytes.operations_per_s;
    return measured;
}

}  // namespace mge
