// SPDX-License-Identifier: Apache-2.0
// The Trace Event Format (Google, "Trace Event Format", 2016): complete events "X" in microseconds, counters
// "C", names of process and threads "M".

#include "apps/profile/files.h"
#include "apps/profile/text.h"
#include "libmge/base/json_writer.h"
#include "libmge/inspect/profile/profile_spans.h"

namespace mge::profile {
namespace {

constexpr int process = 1;
constexpr double microseconds = 1e6;
// Larger traces describe a step only in its first run.
constexpr size_t fully_described_events = 50'000;

class Trace {
public:
    Trace(std::ostream& stream, const Profile& profile)
        : json_(stream),
          profile_(profile),
          tracks_(profile),
          live_(live_bytes(profile)),
          position_(profile.steps.size(), -1) {
        for (size_t i = 0; i < profile.order.size(); ++i) position_[size_t(profile.order[i])] = int(i);
        is_long_ = profile.runs.size() * profile.steps.size() > fully_described_events;
    }

    void write() {
        json_.object([&] {
            json_.member("displayTimeUnit", "ns");
            json_.object_member("otherData", [&] {
                json_.member("model", profile_.model);
                json_.member("origin", origin_text(profile_));
            });
            json_.key("traceEvents");
            json_.list_of([&] {
                name("process_name", 0, profile_.model.empty() ? "profile" : profile_.model);
                auto& tracks = tracks_.all();
                for (size_t i = 0; i < tracks.size(); ++i) name("thread_name", int(i) + 1, tracks[i].name);
                for (size_t i = 0; i < profile_.runs.size(); ++i) write_run(int(i));
                each_span(profile_, tracks_, [&](int run, int step, int track, const ProfileSpan& span) {
                    write_step(run, step, track, span);
                });
            });
        });
        json_.line();
    }

private:
    template <class Fn>
    void event(const char* phase, int track, Fn&& members) {
        json_.element_begins();
        json_.object_on_line([&] {
            json_.member("ph", phase);
            json_.member("pid", process);
            json_.member("tid", track);
            members();
        });
    }
    void name(const char* what, int track, const std::string& name) {
        event("M", track, [&] {
            json_.member("name", what);
            json_.object_member("args", [&] { json_.member("name", name); });
        });
    }
    void span(double start, double seconds) {
        json_.member("ts", start * microseconds);
        json_.member("dur", seconds * microseconds);
    }

    void write_run(int index) {
        auto& run = profile_.runs[size_t(index)];
        event("X", tracks_.of_run(run) + 1, [&] {
            json_.member("name", "run " + std::to_string(index));
            json_.member("cat", "run");
            span(double(run.start) * 1e-9, double(run.duration()) * 1e-9);
        });
    }

    void write_step(int run, int index, int track, const ProfileSpan& s) {
        auto& step = profile_.steps[size_t(index)];
        bool is_host = tracks_.all()[size_t(track)].side == ProfileSide::host;
        event("X", track + 1, [&] {
            json_.member("name", step.name.empty() ? step.type : step.name);
            json_.member("cat", is_host ? "host," + step.type : step.type);
            span(s.start, s.seconds());
            json_.object_member("args", [&] { describe(run, index, s); });
        });
        if (is_host || live_.empty() || position_[size_t(index)] < 0) return;
        event("C", 0, [&] {
            json_.member("name", "live memory");
            json_.member("ts", s.start * microseconds);
            json_.object_member("args",
                                [&] { json_.member("bytes", live_[size_t(position_[size_t(index)])]); });
        });
    }

    void describe(int run, int index, const ProfileSpan& s) {
        auto& step = profile_.steps[size_t(index)];
        json_.member("step", step.id);
        json_.member("run", run);
        if (s.kern > s.start) json_.member("waited_us", (s.kern - s.start) * microseconds);
        if (is_long_ && run > 0) return;
        json_.member("type", step.type);
        if (!step.algorithm.empty()) json_.member("algorithm", step.algorithm);
        if (auto layout = layout_of(profile_, step); !layout.empty()) json_.member("layout", layout);
        if (!step.sources.empty()) json_.member("sources", step.sources);
        json_.member("inputs", shapes_text(profile_.input_shapes(step), " "));
        json_.member("outputs", shapes_text(profile_.output_shapes(step), " "));
        if (step.operations) json_.member("operations", *step.operations);
        if (step.bytes) json_.member("bytes", *step.bytes);
    }

    JsonWriter json_;
    const Profile& profile_;
    SpanTracks tracks_;
    std::vector<double> live_;
    std::vector<int> position_;  // by step: position in the order of execution; -1: not executed
    bool is_long_ = false;
};

}  // namespace

void write_chrome(std::ostream& stream, const Profile& profile) { Trace(stream, profile).write(); }

}  // namespace mge::profile
