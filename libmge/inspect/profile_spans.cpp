// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/profile_spans.h"

namespace mge {

std::vector<ProfileTrack> span_tracks(const Profile& profile) {
    auto tracks = profile.tracks;
    if (profile.format == Profile::Format::mge && profile.has_side(ProfileSide::host))
        for (auto& track : profile.tracks) tracks.push_back({ProfileSide::host, track.name + " (host)"});
    return tracks;
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
    // Our own profiles always tell, even that nothing is alive.
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
