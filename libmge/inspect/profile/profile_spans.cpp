// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/profile/profile_spans.h"

#include <utility>

#include "libmge/base/error.h"

namespace mge {

// Foreign files may name any number of queues, so their number is limited.
void SpanTracks::add_queues(const Profile& profile) {
    constexpr size_t most_queues = 64, most_tracks = 1024;
    std::vector<std::string> names;
    std::vector<int> queues;
    for (auto& step : profile.steps) {
        auto found = std::ranges::find(names, step.device);
        queues.push_back(int(found - names.begin()));
        if (found != names.end()) continue;
        names.push_back(step.device);
        if (names.size() > most_queues) return;
    }
    if (names.empty() || names.size() * size_t(threads_) > most_tracks) return;
    queues_ = std::move(queues);
    width_ = int(names.size());
    all_.clear();
    for (int thread = 0; thread < threads_; ++thread)
        for (auto& name : names)
            all_.push_back({ProfileSide::device, thread ? text(name, " (", thread, ')') : name});
}

SpanTracks::SpanTracks(const Profile& profile) : threads_(int(profile.tracks.size())) {
    all_ = profile.tracks;
    if (profile.format != Profile::Format::mge) return;
    if (!profile.devices.empty()) add_queues(profile);
    if (!profile.has_side(ProfileSide::host)) return;
    for (auto& track : profile.tracks) all_.push_back({ProfileSide::host, track.name + " (host)"});
}

int median_run(const Profile& profile) {
    if (profile.runs.empty()) return -1;
    std::vector<int> order(profile.runs.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = int(i);
    auto half = order.begin() + ptrdiff_t(order.size() / 2);
    std::ranges::nth_element(order, half, {}, [&](int i) { return profile.runs[size_t(i)].duration(); });
    return *half;
}

std::vector<double> live_bytes(const Profile& profile) {
    size_t n = profile.order.size();
    std::vector<double> change(n + 1, 0);
    // Our own profiles always contain it, even if nothing is alive.
    bool is_known = profile.format == Profile::Format::mge;
    for (auto& value : profile.values) {
        if ((value.place != "arena" && value.place != "dynamic") || value.first_step < 0) continue;
        if (size_t(value.first_step) >= n) continue;
        is_known = true;
        change[size_t(value.first_step)] += double(value.bytes);
        change[std::min(size_t(value.last_step) + 1, n)] -= double(value.bytes);
    }
    if (!is_known) return {};
    std::vector<double> live(n);
    double now = 0;
    for (size_t i = 0; i < n; ++i)
        live[i] = (now += change[i]) + double(profile.steps[size_t(profile.order[i])].workspace);
    return live;
}

}  // namespace mge
