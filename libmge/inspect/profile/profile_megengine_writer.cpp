// SPDX-License-Identifier: Apache-2.0
// The JSON of MegEngine's GraphProfiler: "graph_exec" with operators, variables and memory chunks by id,
// "profiler" with times and footprints by operator.

#include <algorithm>
#include <string_view>

#include "libmge/base/error.h"
#include "libmge/base/json_writer.h"
#include "libmge/inspect/profile/profile_spans.h"

namespace mge {
namespace {

constexpr std::pair<std::string_view, std::string_view> megengine_dtypes[] = {
    {"float32", "Float32"}, {"float16", "Float16"}, {"bfloat16", "BFloat16"}, {"int32", "Int32"},
    {"int16", "Int16"},     {"int8", "Int8"},       {"uint8", "Uint8"},       {"uint16", "Uint16"},
    {"bool", "Bool"},       {"int64", "Int64"}};

std::string megengine_dtype(const std::string& name) {
    for (auto& [ours, theirs] : megengine_dtypes)
        if (ours == name) return std::string(theirs);
    return name;
}

Extents dense_strides(const Extents& shape) {
    Extents strides(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    return strides;
}

class MegEngineFile {
public:
    MegEngineFile(std::ostream& stream, const Profile& profile) : json_(stream), profile_(profile) {
        // MegEngine numbers operators and variables together; its own files keep their ids.
        bool is_theirs = profile.format == Profile::Format::megengine;
        for (auto& step : profile.steps)
            step_ids_.push_back(is_theirs ? step.id
                                          : std::to_string(profile.values.size() + step_ids_.size()));
        if (is_theirs) return;
        std::vector<bool> is_made(profile.values.size());
        for (auto& step : profile.steps)
            for (int id : step.outputs)
                if (id >= 0) is_made[size_t(id)] = true;
        for (size_t i = 0; i < is_made.size(); ++i)
            if (!is_made[i]) sources_.push_back(int(i));
    }

    void write() {
        json_.object([&] {
            json_.object_member("graph_exec", [&] {
                json_.object_member("operator", [&] { write_operators(); });
                json_.object_member("var", [&] { write_variables(); });
                json_.object_member("mem_chunk", [&] { write_chunks(); });
                json_.list_member("comp_seq", profile_.order,
                                  [&](int step) { json_.value(step_ids_[size_t(step)]); });
            });
            json_.object_member("profiler", [&] {
                write_times("device", ProfileSide::device);
                write_times("host", ProfileSide::host);
                json_.object_member("opr_footprint", [&] { write_footprints(); });
                json_.object_member("opr_internal_pf", [&] { write_inside(); });
            });
        });
        json_.line();
    }

private:
    void write_operator(const std::string& id, const std::string& name, const std::string& type,
                        const std::vector<int>& inputs, const std::vector<int>& outputs) {
        auto ids = [&](const char* key, const std::vector<int>& values) {
            json_.key(key);
            json_.list_of([&] {
                for (int value : values)
                    if (value >= 0) json_.element_begins(), json_.value(profile_.values[size_t(value)].id);
            });
        };
        json_.line();
        json_.object_member(id, [&] {
            json_.member("node_type", "operator");
            json_.member("id", id);
            json_.member("name", name);
            json_.member("type", type);
            ids("input", inputs);
            ids("output", outputs);
            json_.object_member("extra", [] {});
            json_.member("waiting_spec", std::nullopt);
        });
    }

    void write_operators() {
        for (size_t i = 0; i < profile_.steps.size(); ++i) {
            auto& step = profile_.steps[i];
            write_operator(step_ids_[i], step.name, step.type, step.inputs, step.outputs);
        }
        // Inputs, constants and views are operators there, too; ours have no times.
        for (size_t i = 0; i < sources_.size(); ++i) {
            auto& value = profile_.values[size_t(sources_[i])];
            std::string id = std::to_string(profile_.values.size() + profile_.steps.size() + i);
            if (value.view_of >= 0)
                write_operator(id, value.name, value.view_type.empty() ? "view" : value.view_type,
                               {value.view_of}, {sources_[i]});
            else
                write_operator(id, value.name, value.place == "input" ? "Host2DeviceCopy" : "ImmutableTensor",
                               {}, {sources_[i]});
        }
    }

    void write_variables() {
        for (auto& value : profile_.values) {
            json_.line();
            json_.object_member(value.id, [&] {
                json_.member("node_type", "var");
                json_.member("id", value.id);
                json_.member("name", value.name);
                json_.member("comp_node", device_of(value));
                json_.member("mem_readonly_fwd_src",
                             value.view_of < 0 ? std::nullopt
                                               : std::optional(profile_.values[size_t(value.view_of)].id));
                json_.member("force_update_src", std::nullopt);
                json_.member("dev_ptr", std::nullopt);
                json_.member("prev_dev_ptr", 0);
                json_.member("flag", value.place == "constant"
                                         ? std::vector<std::string>{"PERSISTENT_DEVICE_VALUE"}
                                         : std::vector<std::string>{});
                json_.object_member("static_infer_tags", [] {});
                write_place(value);
            });
        }
    }

    // In MegEngine's notation, as in its own files. Our files do not contain it.
    std::string device_of(const ProfileValue& value) const {
        if (profile_.format == Profile::Format::megengine && !value.device.empty()) return value.device;
        return device_named(value.device.empty() ? "cpu0:0" : value.device);
    }
    static std::string device_named(const std::string& name) {
        return text("CompNode(\"", name, "\" from \"", name, "\")");
    }
    std::string device_of(const ProfileStep& step) const {
        if (!step.device.empty()) return device_named(step.device);
        for (int id : step.outputs)
            if (id >= 0) return device_of(profile_.values[size_t(id)]);
        return device_of(ProfileValue());
    }

    void write_place(const ProfileValue& value) {
        json_.key("mem_plan");
        if (!value.shape) return json_.value(std::nullopt);
        json_.object([&] {
            json_.member("mem_chunk_id", chunk_of(value));
            json_.member("offset_byte", profile_.format == Profile::Format::megengine ? value.offset : 0);
            json_.object_member("layout", [&] {
                json_.member("shape", *value.shape);
                json_.member("stride", value.strides.empty() ? dense_strides(*value.shape) : value.strides);
                json_.member("dtype", megengine_dtype(value.dtype));
            });
        });
    }
    static std::string chunk_of(const ProfileValue& value) {
        return value.chunk.empty() ? "chk" + value.id : value.chunk;
    }

    void write_chunks() {
        for (auto& value : profile_.values) {
            // One of several variables in a chunk owns it, and only that one has bytes.
            if (!value.shape || (!value.chunk.empty() && value.bytes == 0)) continue;
            json_.line();
            json_.object_member(chunk_of(value), [&] {
                json_.member("node_type", "mem_chunk");
                json_.member("id", chunk_of(value));
                json_.member("size", value.bytes);
                json_.member("owner_var", value.id);
                json_.member("dev_ptr", value.offset);
            });
        }
    }

    void write_times(const char* key, ProfileSide side) {
        // By operator: their devices and times.
        std::vector<std::vector<std::pair<std::string, ProfileSpan>>> times(profile_.steps.size());
        SpanTracks all(profile_);
        auto& tracks = all.all();
        auto collect = [&](int, int step, int track, const ProfileSpan& span) {
            if (tracks[size_t(track)].side != side) return;
            bool is_own_device = profile_.format == Profile::Format::mge && side == ProfileSide::device;
            times[size_t(step)].emplace_back(
                is_own_device ? device_of(profile_.steps[size_t(step)]) : tracks[size_t(track)].name, span);
        };
        int run = median_run(profile_);
        if (run >= 0) each_span_of_run(profile_, all, run, collect);
        // The thread that runs a kernel is its host: there it has a time, also where dispatching was not
        // recorded.
        bool is_own_host = run >= 0 && !profile_.runs[size_t(run)].is_late;
        if (is_own_host && side == ProfileSide::host && !profile_.has_side(side))
            each_span_of_run(profile_, all, run, [&](int, int step, int track, const ProfileSpan& span) {
                times[size_t(step)].emplace_back(tracks[size_t(track)].name, span);
            });
        for (auto& event : profile_.events) collect(0, event.step, event.track, event.span);
        json_.object_member(key, [&] {
            for (size_t i = 0; i < times.size(); ++i) {
                if (times[i].empty()) continue;
                json_.line();
                json_.object_member(step_ids_[i], [&] {
                    for (auto& [place, measured] : times[i])
                        json_.object_member(place, [&, &span = measured] {
                            json_.member("start", span.start);
                            json_.member("kern", span.kern);
                            json_.member("end", span.end);
                        });
                });
            }
        });
    }

    // Amounts are whole numbers there.
    static int64_t whole(double amount) { return int64_t(std::clamp(amount, -0x1p62, 0x1p62)); }

    void write_footprints() {
        for (size_t i = 0; i < profile_.steps.size(); ++i) {
            auto& step = profile_.steps[i];
            if (!step.bytes) continue;
            json_.line();
            json_.object_member(step_ids_[i], [&] {
                json_.member("computation",
                             step.operations ? std::optional(whole(*step.operations)) : std::nullopt);
                json_.member("memory", whole(*step.bytes));
                json_.member("in_shapes", profile_.input_shapes(step));
                json_.member("out_shapes", profile_.output_shapes(step));
                if (step.in_strides) json_.member("in_layouts", *step.in_strides);
                json_.object_member("param", [] {});
            });
        }
    }

    // MegEngine has no common format for inner information; ours contains the steps of the graphs.
    void write_inside() {
        std::vector<std::vector<const ProfileInnerStep*>> inside(profile_.steps.size());
        for (auto& inner : profile_.inner_steps) inside[size_t(inner.step)].push_back(&inner);
        for (size_t i = 0; i < inside.size(); ++i) {
            if (inside[i].empty()) continue;
            json_.line();
            json_.object_member(step_ids_[i], [&] {
                json_.member("runs", std::max<int64_t>(1, profile_.runs_total));
                json_.objects_member("steps", inside[i], [&](const ProfileInnerStep* inner) {
                    json_.member("path", inner->path);
                    json_.member("type", inner->type);
                    json_.member("algorithm", inner->algorithm);
                    json_.member("count", inner->count);
                    json_.member("total", double(inner->total) * 1e-9);
                });
            });
        }
    }

    JsonWriter json_;
    const Profile& profile_;
    std::vector<std::string> step_ids_;
    std::vector<int> sources_;  // values that no step makes
};

}  // namespace

void write_megengine_profile(std::ostream& stream, const Profile& profile) {
    MegEngineFile(stream, profile).write();
}

}  // namespace mge
