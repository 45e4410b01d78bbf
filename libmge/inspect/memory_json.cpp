// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "libmge/base/json_writer.h"
#include "libmge/inspect/memory.h"

namespace mge {
namespace {

void write_output(JsonWriter& json, const Program& program, ValueId id) {
    auto& value = program.values()[size_t(id)];
    bool is_planned = value.place == ValueReport::Place::arena || value.place == ValueReport::Place::output;
    json.object_on_line([&] {
        json.member("value", id);
        json.member("name", value.name);
        json.member("place", name_of(value.place));
        json.member("offset", is_planned ? std::optional(value.offset) : std::nullopt);
        json.member("bytes", is_planned ? std::optional(value.bytes) : std::nullopt);
    });
}

void write_step(JsonWriter& json, const MemoryTimeline& timeline, const Program& program, size_t step) {
    auto& report = program.steps()[step];
    json.object_on_line([&] {
        json.member("step", step);
        json.member("op", report.op);
        json.member("name", report.name);
        json.member("bytes_in_use", timeline.live[step]);
        json.list_member("outputs", report.outputs, [&](ValueId id) { write_output(json, program, id); });
    });
}

void write_block(JsonWriter& json, const MemoryBlockUse& block) {
    json.object_on_line([&] {
        json.member("name", block.name);
        json.member("kind", block.kind);
        json.member("owner", block.owner);
        json.member("offset", block.offset);
        json.member("bytes", block.bytes);
        json.member("first", block.first);
        json.member("last", block.last);
        json.member("values", block.values);
    });
}

}  // namespace

std::string to_json(const MemoryTimeline& timeline, const Program& program) {
    std::ostringstream stream;
    JsonWriter json(stream);
    json.object([&] {
        json.member("kind", "mge-memory-timeline");
        json.member("schema_version", 1);
        json.member("arena", timeline.arena);
        json.object_member("peak", [&] {
            json.member("bytes", timeline.peak);
            json.member("step", timeline.peak_step);
        });
        json.member("weights", timeline.weights);
        json.member("packed_weights", timeline.packed_weights);
        json.member("inputs_outputs", timeline.inputs_outputs);
        json.key("steps");
        json.list_of([&] {
            for (size_t step = 0; step < timeline.live.size(); ++step) {
                json.element_begins();
                write_step(json, timeline, program, step);
            }
        });
        json.list_member("blocks", timeline.blocks, [&](auto& block) { write_block(json, block); });
    });
    json.line();
    return stream.str();
}

}  // namespace mge
