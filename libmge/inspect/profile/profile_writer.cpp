// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "libmge/base/files/file.h"
#include "libmge/base/json_writer.h"
#include "libmge/graph/origins.h"
#include "libmge/inspect/profile/profile.h"
#include "libmge/inspect/profile/profile_json.h"

namespace mge {
namespace {

void write_step(JsonWriter& json, const ProfileStep& step, bool names_device) {
    json.object_on_line([&] {
        json.member("op", step.type);
        json.member("name", step.name);
        json.member("algorithm", step.algorithm);
        if (names_device) json.member("device", step.device);
        json.member("choice", step.choice);
        json.member("sources", step.sources);
        if (!step.origins.empty()) json.member("origins", step.origins);
        json.member("inputs", step.inputs);
        json.member("outputs", step.outputs);
        json.member("operations", step.operations);
        json.member("bytes", step.bytes);
        json.member("workspace", step.workspace);
        if (step.workspace_offset >= 0) json.member("workspace_offset", step.workspace_offset);
    });
}

void write_operator(JsonWriter& json, const SourceNode& node) {
    json.object_on_line([&] {
        json.member("op", node.op);
        json.member("name", node.name);
        json.member("outputs", node.outputs);
        json.member("kind", kind_text(node.kind));
    });
}

void write_value(JsonWriter& json, const ProfileValue& value) {
    json.object_on_line([&] {
        json.member("name", value.name);
        json.member("dtype", value.dtype);
        json.member("shape", value.shape);
        json.member("layout", value.layout);
        json.member("place", value.place);
        json.member("offset", value.offset);
        json.member("bytes", value.bytes);
        json.member("first_step", value.first_step);
        json.member("last_step", value.last_step);
    });
}

void write_run(JsonWriter& json, const ProfileRun& run) {
    json.object_on_line([&] {
        json.member("thread", run.thread);
        json.member("start_ns", run.start);
        if (run.is_late) json.member("late", true);
        if (!run.begins.empty()) json.member("begins_ns", run.begins);
        json.member("ends_ns", run.ends);
        if (run.is_late && run.has_host()) {
            json.member("host_begins_ns", run.host_begins);
            json.member("host_ends_ns", run.host_ends);
        }
    });
}

void write_inner_step(JsonWriter& json, const ProfileInnerStep& step) {
    json.object_on_line([&] {
        json.member("step", step.step);
        json.member("path", step.path);
        json.member("op", step.type);
        json.member("algorithm", step.algorithm);
        json.member("count", step.count);
        json.member("total_ns", step.total);
    });
}

void write_peak(JsonWriter& json, const std::optional<Peak>& peak) {
    if (!peak) return;
    json.object_member("peak", [&] {
        json.member("operations_per_s", peak->operations_per_s);
        json.member("bytes_per_s", peak->bytes_per_s);
        if (peak->is_busy) json.member("busy", true);
        if (!peak->arithmetic.empty()) json.member("arithmetic", peak->arithmetic);
        if (peak->byte_operations_per_s > 0)
            json.member("byte_operations_per_s", peak->byte_operations_per_s);
        if (peak->caches.empty()) return;
        json.objects_member("caches", peak->caches, [&](auto& cache) {
            json.member("name", cache.name);
            json.member("bytes_per_s", cache.bytes_per_s);
        });
    });
}

void write_host(JsonWriter& json, const Profile& profile) {
    json.object_member("host", [&] {
        json.member("cpu", profile.cpu);
        json.member("isa", profile.isa);
        json.member("threads", profile.threads);
        write_peak(json, profile.peak);
    });
}

void write_recording(JsonWriter& json, const ProfileRecording& recording) {
    json.object_member("recording", [&] {
        json.member("date", recording.date);
        json.member("commit", recording.commit);
        json.member("libraries", recording.libraries);
        json.member("command", recording.command);
        json.objects_member("options", recording.options, [&](auto& option) {
            json.member("name", option.name);
            json.member("value", option.value);
        });
    });
}

void write_device(JsonWriter& json, const ProfileDevice& device) {
    json.object([&] {
        json.member("name", device.name);
        json.member("model", device.model);
        write_peak(json, device.peak);
    });
}

void write_memory(JsonWriter& json, const ProfileMemory& memory) {
    json.object_member("memory", [&] {
        json.member("weights", memory.weights);
        json.member("packed_weights", memory.packed_weights);
        json.member("plan", memory.plan);
        json.member("plan_lower_bound", memory.plan_lower_bound);
        json.member("inputs_outputs", memory.inputs_outputs);
    });
}

}  // namespace

void write_profile(const std::string& path, const Profile& profile) {
    write_file_atomically(path, [&](std::ostream& stream) {
        JsonWriter json(stream);
        json.object([&] {
            json.member("schema_version", profile_schema_version);
            json.member("format", profile_format);
            json.member("version", profile.version);
            json.member("model", profile.model);
            write_host(json, profile);
            if (profile.recording != ProfileRecording{}) write_recording(json, profile.recording);
            if (!profile.devices.empty())
                json.list_member("devices", profile.devices,
                                 [&](auto& device) { write_device(json, device); });
            if (profile.memory) write_memory(json, *profile.memory);
            if (!profile.operators.empty())
                json.list_member("operators", profile.operators,
                                 [&](auto& node) { write_operator(json, node); });
            json.list_member("steps", profile.steps,
                             [&](auto& step) { write_step(json, step, !profile.devices.empty()); });
            if (!profile.inner_steps.empty())
                json.list_member("inner_steps", profile.inner_steps,
                                 [&](auto& step) { write_inner_step(json, step); });
            json.list_member("values", profile.values, [&](auto& value) { write_value(json, value); });
            json.list_member("threads", profile.tracks, [&](auto& track) { json.value(track.name); });
            json.member("runs_total", profile.runs_total);
            json.list_member("runs", profile.runs, [&](auto& run) { write_run(json, run); });
        });
        json.line();
    });
}

}  // namespace mge
