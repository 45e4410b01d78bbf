// SPDX-License-Identifier: Apache-2.0
#pragma once
// A profile as spans on tracks and as memory over time, for trace files and pages.

#include <algorithm>

#include "libmge/inspect/profile/profile.h"

namespace mge {

// The tracks of spans. For MegEngine's profiles those of the profile. For ours, each thread has one track for
// each queue of its steps, or a single one if the queues are unknown or only the host is used; these are
// followed by one per thread for the host's side, if the dispatch of kernels was recorded.
class MGE_API SpanTracks {
public:
    explicit SpanTracks(const Profile& profile);
    const std::vector<ProfileTrack>& all() const { return all_; }
    int of_run(const ProfileRun& run) const { return run.thread * width_; }
    int of_step(const ProfileRun& run, size_t step) const {
        return of_run(run) + (queues_.empty() ? 0 : queues_[step]);
    }
    int of_host(const ProfileRun& run) const { return threads_ * width_ + run.thread; }

private:
    void add_queues(const Profile& profile);

    std::vector<ProfileTrack> all_;
    std::vector<int> queues_;  // by step; empty where each thread has one track
    int threads_, width_ = 1;
};

// Index of the run with the median duration; -1 without runs.
MGE_API int median_run(const Profile& profile);

// fn(run, step, track, span in seconds) for each step of one of our runs.
template <class Fn>
void each_span_of_run(const Profile& profile, const SpanTracks& tracks, int run_index, Fn&& fn) {
    auto& run = profile.runs[size_t(run_index)];
    auto seconds = [&](int64_t ns) { return double(run.start + ns) * 1e-9; };
    for (size_t i = 0; i < run.ends.size(); ++i) {
        double begin = seconds(run.begin(i)), end = seconds(run.ends[i]);
        fn(run_index, int(i), tracks.of_step(run, i), ProfileSpan{begin, begin, end});
        if (run.has_host())
            fn(run_index, int(i), tracks.of_host(run),
               ProfileSpan{seconds(run.dispatched(i)), seconds(run.host_begin(i)), seconds(run.host_end(i))});
    }
}

// The same for everything in the profile.
template <class Fn>
void each_span(const Profile& profile, const SpanTracks& tracks, Fn&& fn) {
    for (size_t run = 0; run < profile.runs.size(); ++run) each_span_of_run(profile, tracks, int(run), fn);
    for (auto& event : profile.events) fn(0, event.step, event.track, event.span);
}

// Bytes of activations and workspaces that are alive at each position in the order of execution; empty when
// the profile does not say when values live.
MGE_API std::vector<double> live_bytes(const Profile& profile);

}  // namespace mge
