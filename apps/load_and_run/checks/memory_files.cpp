// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/checks/memory_files.h"

#include <nlohmann/json.hpp>

#include "libmge/base/file.h"
#include "libmge/device/device.h"

namespace mge::load_and_run {
namespace {

using cli::Json;

size_t rise(size_t from, size_t to) { return to > from ? to - from : 0; }

Json three(size_t predicted, size_t measured, size_t system) {
    return {{"predicted", predicted}, {"measured", measured}, {"system", system}};
}

}  // namespace

void MemoryFigures::mark(Sample& sample) {
    if (!sample.is_taken) sample = {true, device({}).memory().allocated, settled_process_memory().anonymous};
}

void MemoryFigures::ran(const Graph& model) {
    if (ran_.is_taken) return;
    mark(ran_);
    weights_in_file_ = resident_bytes(constant_pieces(model, true)).value_or(0);
    weights_elsewhere_ = resident_bytes(constant_pieces(model, false)).value_or(0);
}

Json MemoryFigures::to_json(const Program& program, const Graph& model) const {
    MemoryReport m = program.memory();
    size_t made = m.packed_weights + m.made_weights, context = m.plan + m.inputs_outputs;
    // What the allocator gave out while loading, unless the weights lie in a buffer of the tool's.
    size_t held = held_weights(model), given_out = rise(start_.allocated, loaded_.allocated);
    size_t measured = weights_in_file_ + (given_out >= held ? held : weights_elsewhere_);
    Json result;
    result["weights"] = three(m.weights_in_file + held, measured, weights_in_file_ + weights_elsewhere_);
    result["made_weights"] = three(made, rise(loaded_.allocated, compiled_.allocated),
                                   rise(loaded_.anonymous, compiled_.anonymous));
    result["context"] = three(context, rise(compiled_.allocated, prepared_.allocated),
                              rise(compiled_.anonymous, prepared_.anonymous));
    result["run_time"] =
        three(0, rise(prepared_.allocated, ran_.allocated), rise(prepared_.anonymous, ran_.anonymous));
    Json total{{"predicted", 0}, {"measured", 0}, {"system", 0}};
    for (auto& entry : result)
        for (auto* key : {"predicted", "measured", "system"})
            total[key] = total[key].get<size_t>() + entry[key].get<size_t>();
    result["total"] = total;
    result["process"] = {{"anonymous", ran_.anonymous}, {"peak", process_memory().peak}};
    return result;
}

void write_memory_timeline(const std::string& path, const Program& program) {
    MemoryTimeline timeline = memory_timeline(program);
    if (path.ends_with(".svg")) {
        write_file_atomically(path, [&](std::ostream& out) { out << to_svg(timeline, program); });
        return;
    }
    Json steps = Json::array(), blocks = Json::array();
    for (size_t i = 0; i < timeline.live.size(); ++i) {
        auto& step = program.steps()[i];
        steps.push_back(
            {{"step", i}, {"op", step.op}, {"name", step.name}, {"bytes_in_use", timeline.live[i]}});
    }
    for (auto& b : timeline.blocks)
        blocks.push_back({{"name", b.name},
                          {"kind", b.kind},
                          {"owner", b.owner},
                          {"offset", b.offset},
                          {"bytes", b.bytes},
                          {"first", b.first},
                          {"last", b.last},
                          {"values", b.values}});
    Json result{{"kind", "mge-memory-timeline"},
                {"schema_version", 1},
                {"arena", timeline.arena},
                {"peak", {{"bytes", timeline.peak}, {"step", timeline.peak_step}}},
                {"weights", timeline.weights},
                {"packed_weights", timeline.packed_weights},
                {"inputs_outputs", timeline.inputs_outputs},
                {"steps", steps},
                {"blocks", blocks}};
    write_file_atomically(path, [&](std::ostream& out) {
        out << result.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
    });
}

}  // namespace mge::load_and_run
