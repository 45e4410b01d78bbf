// SPDX-License-Identifier: Apache-2.0
#pragma once
// Peak performance of a machine. Other work can only reduce it, so the best of many short runs counts. The
// best value so far is stored per machine and number of threads in a small file next to the fast-run cache:
// the roof of a profile does not depend on other load during the measurement.

#include <functional>
#include <optional>
#include <string>

#include "libmge/inspect/profile/profile.h"

namespace mge {

// f32 multiply-adds and products of bytes on registers, and bytes moved between the cores, their caches, and
// a memory larger than the caches. Takes about half a second, and 128 MiB; nullopt where those are not there.
MGE_API std::optional<Peak> measure_peak(int threads);

// The rates of one short run each, and whether the machine is quiet. Tests have their own.
struct PeakRuns {
    std::function<double()> operations_per_s, bytes_per_s;
    std::function<bool()> is_quiet;
};
MGE_API Peak best_of_many(const PeakRuns& runs);

// Combines the stored value of this key with the current measurement, and stores the result. The better one
// counts, unless a quiet machine is far from it: then it is a different machine. A file that cannot be read
// or written, or is invalid, counts as missing.
MGE_API Peak join_kept_peak(const std::string& path, const std::string& key, const Peak& measured);
// The roofs of caches, first level first, as a roofline needs them: the slowest first, each clearly faster
// than what is behind it. Other roofs are left out.
MGE_API std::vector<CacheRoof> sound_cache_roofs(std::vector<CacheRoof> first_to_last,
                                                 double memory_bytes_per_s);
// mge/peaks in cache_folder(); nullopt without such a folder.
MGE_API std::optional<std::string> kept_peaks_path();

}  // namespace mge
