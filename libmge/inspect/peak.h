// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a machine can do at best. Other work only ever makes it look slower, so the best of many short runs
// counts, and the best that was seen so far is kept, per machine and number of threads, in a small file
// beside the fast-run cache: the roof of a profile does not depend on who else was there when it was made.

#include <functional>
#include <optional>
#include <string>

#include "libmge/inspect/profile/profile.h"

namespace mge {

// f32 multiply-adds on registers, and bytes moved between the cores and a memory larger than the caches.
// Takes about a third of a second, and 128 MiB; nullopt where those are not there.
MGE_API std::optional<Peak> measure_peak(int threads);

// The rates of one short run each, and whether the machine is quiet. Tests have their own.
struct PeakRuns {
    std::function<double()> operations_per_s, bytes_per_s;
    std::function<bool()> is_quiet;
};
MGE_API Peak best_of_many(const PeakRuns& runs);

// What is kept in the file for this key, joined with what was measured now, which is kept in turn. The better
// stays, unless a quiet machine is far from it: it is another one then. A file that cannot be read or
// written, or is none, is as if there were none.
MGE_API Peak join_kept_peak(const std::string& path, const std::string& key, const Peak& measured);
// mge/peaks in cache_folder(); nullopt when there is none.
MGE_API std::optional<std::string> kept_peaks_path();

}  // namespace mge
