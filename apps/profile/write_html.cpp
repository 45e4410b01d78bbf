// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "apps/profile/files.h"
#include "apps/profile/findings.h"
#include "apps/profile/page.h"
#include "apps/profile/recording.h"
#include "apps/profile/text.h"
#include "libmge/base/error.h"
#include "libmge/base/json_writer.h"
#include "libmge/inspect/profile/profile_spans.h"

namespace mge::profile {
namespace {

// Limits for browsers. The page says if it shows less than the profile has.
constexpr size_t largest_steps = 20'000, largest_spans = 40'000, largest_boxes = 10'000;

struct Placed {
    int run, step, track;
    ProfileSpan span;
};

class PageData {
public:
    PageData(std::ostream& stream, const Profile& profile, const HtmlOptions& options)
        : json_(stream, true),
          profile_(profile),
          options_(options),
          times_(step_times(profile, ProfileSide::device, false, options.statistic)),
          base_(share_base(profile, ProfileSide::device, options.statistic)),
          least_(step_times(profile, ProfileSide::device, false, RunStatistic::min)),
          most_(step_times(profile, ProfileSide::device, false, RunStatistic::max)) {
        choose_steps();
        choose_spans();
        live_ = live_bytes(profile);
        if (live_.size() > largest_steps) {
            notes_.push_back("memory over time is left out");
            live_.clear();
        }
    }

    void write() {
        json_.object([&] {
            json_.member("model", profile_.model);
            json_.member("subtitle", origin_text(profile_));
            write_recording(json_, profile_);
            json_.member("graph_page", options_.graph_page);
            json_.member("runs_total", profile_.runs_total);
            json_.member("median_run", median_run(profile_));
            write_runs();
            json_.member("notes", notes_);
            write_findings();
            json_.key("peak");
            if (auto* roof = profile_.roof())
                json_.object([&] {
                    json_.member("operations_per_s", roof->operations_per_s);
                    json_.member("bytes_per_s", roof->bytes_per_s);
                    json_.member("busy", roof->is_busy);
                    json_.objects_member("caches", roof->caches, [&](auto& cache) {
                        json_.member("name", cache.name);
                        json_.member("bytes_per_s", cache.bytes_per_s);
                    });
                });
            else
                json_.value(std::nullopt);
            json_.list_member("steps", shown_, [&](int step) { write_step(step); });
            json_.list_member("tracks", tracks_, [&](auto& track) { json_.value(track.name); });
            write_spans();
            write_memory();
        });
    }

private:
    // Selects the most costly steps, in the order of the profile.
    void choose_steps() {
        for (size_t i = 0; i < times_.size(); ++i)
            if (times_[i]) shown_.push_back(int(i));
        if (shown_.size() > largest_steps) {
            notes_.push_back(text("the ", largest_steps, " most costly of ", shown_.size(), " operators"));
            std::ranges::stable_sort(shown_, std::greater(), [&](int i) { return *times_[size_t(i)]; });
            shown_.resize(largest_steps);
            std::ranges::sort(shown_);
        }
        place_.assign(times_.size(), -1);
        for (size_t i = 0; i < shown_.size(); ++i) place_[size_t(shown_[i])] = int(i);
    }

    void choose_spans() {
        SpanTracks tracks(profile_);
        auto& all = tracks.all();
        bool has_host = !host_equals_device(tracks);
        auto add = [&](int run, int step, int track, const ProfileSpan& span) {
            bool is_shown = has_host || all[size_t(track)].side == ProfileSide::device;
            if (place_[size_t(step)] >= 0 && is_shown) spans_.push_back({run, step, track, span});
        };
        for (auto& event : profile_.events) add(0, event.step, event.track, event.span);
        for (int run : runs_shown()) each_span_of_run(profile_, tracks, run, add);
        if (spans_.size() > largest_spans) {
            notes_.push_back("the timeline has the longest operators");
            std::ranges::sort(spans_, std::greater(), [](auto& s) { return s.span.seconds(); });
            spans_.resize(largest_spans);
        }
        std::ranges::stable_sort(spans_, {}, [](auto& s) { return s.span.start; });
        std::vector<int> track_place(all.size(), -1);
        for (auto& s : spans_) {
            auto& place = track_place[size_t(s.track)];
            if (place < 0) {
                place = int(tracks_.size());
                tracks_.push_back(all[size_t(s.track)]);
            }
            s.track = place;
        }
    }

    // The median run, and the latest others as far as they fit.
    std::vector<int> runs_shown() {
        size_t fitting = largest_spans / std::max<size_t>(1, profile_.steps.size() * 2);
        size_t count = std::min(profile_.runs.size(), std::max<size_t>(1, fitting));
        if (count < profile_.runs.size()) notes_.push_back(text("the timeline has ", count, " of the runs"));
        if (count == 0) return {};
        std::vector<int> runs{median_run(profile_)};
        for (size_t i = profile_.runs.size(); i-- > 0 && runs.size() < count;)
            if (int(i) != runs.front()) runs.push_back(int(i));
        std::ranges::sort(runs);
        return runs;
    }

    // On a CPU the host's times are those of the steps, apart from what starting them takes.
    bool host_equals_device(const SpanTracks& tracks) const {
        constexpr double negligible = 0.02;
        double difference = 0, total = 0;
        if (profile_.runs.empty() || !profile_.has_side(ProfileSide::host)) return false;
        std::vector<double> device(profile_.steps.size(), 0);
        each_span_of_run(profile_, tracks, median_run(profile_),
                         [&](int, int step, int track, const ProfileSpan& span) {
                             if (tracks.all()[size_t(track)].side == ProfileSide::device) {
                                 device[size_t(step)] = span.seconds();
                                 total += span.seconds();
                             } else {
                                 difference += std::abs(span.seconds() - device[size_t(step)]);
                             }
                         });
        return difference <= negligible * total;
    }

    void write_runs() {
        json_.key("runs");
        json_.list_of([&] {
            for (size_t i = 0; i < profile_.runs.size(); ++i) {
                json_.element_begins();
                json_.object([&] {
                    json_.member("index", i);
                    json_.member("thread", profile_.runs[i].thread);
                    json_.member("duration", double(profile_.runs[i].duration()) * 1e-9);
                });
            }
        });
    }

    void write_findings() {
        profile::write(json_, base_);
        auto findings = findings_of(profile_, times_, base_);
        for (auto& finding : findings)
            if (finding.step >= 0) finding.step = place_[size_t(finding.step)];
        profile::write(json_, findings);
    }

    void write_step(int index) {
        auto limit = limit_of(profile_, profile_.steps[size_t(index)], *times_[size_t(index)]);
        auto& step = profile_.steps[size_t(index)];
        json_.object_on_line([&] {
            json_.member("index", place_[size_t(index)]);
            json_.member("name", step.name);
            json_.member("type", step.type);
            json_.member("algorithm", step.algorithm);
            json_.member("layout", layout_of(profile_, step));
            json_.member("time", *times_[size_t(index)]);
            json_.member("least", least_[size_t(index)]);
            json_.member("most", most_[size_t(index)]);
            json_.member("operations", step.operations);
            json_.member("real_operations", real_operations(step));
            json_.member("bytes", step.bytes);
            json_.member("of_roof", limit.of_roof);
            json_.member("bound", bound_name(limit.bound));
            json_.member("data_from", limit.source);
            if (auto* roof = profile_.roof())
                json_.member("most_operations_per_s", profile_.most_operations_per_s(*roof, step));
            json_.member("inputs", shapes_text(profile_.input_shapes(step), " "));
            json_.member("outputs", shapes_text(profile_.output_shapes(step), " "));
            json_.member("sources", step.sources);
        });
    }

    // Microseconds with three decimals.
    static double micros(double seconds) { return std::round(seconds * 1e9) / 1e3; }

    void write_spans() {
        json_.objects_member("spans", spans_, [&](auto& s) {
            json_.member("step", place_[size_t(s.step)]);
            json_.member("track", s.track);
            json_.member("run", s.run);
            json_.member("start", micros(s.span.start));
            json_.member("duration", micros(s.span.seconds()));
        });
        // The initial view is one run.
        json_.key("first_view");
        if (spans_.empty() || profile_.runs.empty()) return json_.value(std::nullopt);
        auto& run = profile_.runs[size_t(median_run(profile_))];
        json_.value(
            std::vector<double>{micros(double(run.start) * 1e-9),
                                micros(double(run.start + std::max<int64_t>(run.duration(), 1)) * 1e-9)});
    }

    void write_memory() {
        json_.object_member("memory", [&] {
            json_.member("live", live_);
            json_.member("plan", profile_.memory ? std::optional(profile_.memory->plan) : std::nullopt);
            json_.member("weights", profile_.memory ? std::optional(profile_.memory->weights) : std::nullopt);
            json_.member("packed_weights",
                         profile_.memory ? std::optional(profile_.memory->packed_weights) : std::nullopt);
            json_.key("boxes");
            json_.list_of([&] {
                write_boxes(live_.size());
                write_workspaces(live_.size());
            });
        });
    }

    // Values with a known position in the arena.
    void write_boxes(size_t positions) {
        std::vector<int> maker(profile_.values.size(), -1);
        for (size_t i = 0; i < profile_.steps.size(); ++i)
            for (int id : profile_.steps[i].outputs)
                if (id >= 0) maker[size_t(id)] = place_[i];
        size_t boxes = 0;
        for (size_t i = 0; i < profile_.values.size() && boxes < largest_boxes; ++i) {
            auto& value = profile_.values[i];
            if (profile_.format != Profile::Format::mge || value.place != "arena" || value.first_step < 0 ||
                size_t(value.last_step) >= positions || value.bytes == 0)
                continue;
            ++boxes;
            write_box(value.name.empty() ? "value " + value.id : value.name, maker[i], false,
                      value.first_step, value.last_step, value.offset, value.bytes);
        }
    }

    void write_box(const std::string& name, int step, bool is_workspace, int first, int last, int64_t offset,
                   int64_t bytes) {
        json_.element_begins();
        json_.object([&] {
            json_.member("name", name);
            json_.member("step", step);
            json_.member("workspace", is_workspace);
            json_.member("first", first);
            json_.member("last", last);
            json_.member("offset", offset);
            json_.member("bytes", bytes);
        });
    }

    void write_workspaces(size_t positions) {
        for (size_t i = 0; i < std::min(positions, profile_.order.size()); ++i) {
            auto& step = profile_.steps[size_t(profile_.order[i])];
            if (step.workspace > 0 && step.workspace_offset >= 0)
                write_box("workspace of " + step.name, place_[size_t(profile_.order[i])], true, int(i),
                          int(i), step.workspace_offset, step.workspace);
        }
    }

    JsonWriter json_;
    const Profile& profile_;
    const HtmlOptions& options_;
    std::vector<std::optional<double>> times_;
    ShareBase base_;
    std::vector<std::optional<double>> least_, most_;
    std::vector<int> shown_, place_;  // steps on the page; position of each step there, or -1
    std::vector<Placed> spans_;
    std::vector<ProfileTrack> tracks_;
    std::vector<double> live_;
    std::vector<std::string> notes_;
};

}  // namespace

void write_html(std::ostream& stream, const Profile& profile, const HtmlOptions& options) {
    stream << profile_page.before_data;
    PageData(stream, profile, options).write();
    stream << profile_page.after_data;
}

}  // namespace mge::profile
