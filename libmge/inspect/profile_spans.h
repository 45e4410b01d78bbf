// SPDX-License-Identifier: Apache-2.0
#pragma once
// A profile as spans on tracks and as memory over time: what trace files and pages draw.

#include <algorithm>

#include "libmge/inspect/profile.h"

namespace mge {

// The tracks that spans lie on: those of the profile; where the dispatching of kernels was recorded, behind
// them one per thread for the host's side of it.
MGE_API std::vector<ProfileTrack> span_tracks(const Profile& profile);

// Index of the run whose duration is the median one; -1 when there are none.
MGE_API int median_run(const Profile& profile);

// fn(run, step, track, span in seconds) for each step of one of our runs.
template <class Fn>
void each_span_of_run(const Profile& profile, int run_index, Fn&& fn) {
    auto& run = profile.runs[size_t(run_index)];
    int host_track = int(profile.tracks.size()) + run.thread;
    auto seconds = [&](int64_t ns) { return double(run.start + ns) * 1e-9; };
    for (size_t i = 0; i < run.ends.size(); ++i) {
        double dispatched = seconds(run.dispatched(i)), begin = seconds(run.begin(i)),
               end = seconds(run.ends[i]);
        fn(run_index, int(i), run.thread, ProfileSpan{begin, begin, end});
        if (!run.begins.empty()) fn(run_index, int(i), host_track, ProfileSpan{dispatched, begin, end});
    }
}

// The same for everything that the profile holds.
template <class Fn>
void each_span(const Profile& profile, Fn&& fn) {
    for (size_t run = 0; run < profile.runs.size(); ++run) each_span_of_run(profile, int(run), fn);
    for (auto& event : profile.events) fn(0, event.step, event.track, event.span);
}

// Bytes of activations and workspaces that are alive at each position in the order of execution; empty when
// the profile does not say when values live.
MGE_API std::vector<double> live_bytes(const Profile& profile);

}  // namespace mge
