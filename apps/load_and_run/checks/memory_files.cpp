// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/checks/memory_files.h"

#include <nlohmann/json.hpp>

#include "libmge/base/files/file.h"
#include "libmge/device/device.h"

namespace mge::load_and_run {
namespace {

using cli::Json;

size_t rise(size_t from, size_t to) { return to > from ? to - from : 0; }

Json three(size_t predicted, size_t measured, size_t system) {
    return {{"predicted", predicted}, {"measured", measured}, {"system", system}};
}

}  // namespace

void MemoryFigures::mark(Sample& sample) const {
    if (!is_reported_ || sample.is_taken) return;
    ProcessMemory process = settled_process_memory();
    MemoryStats given_out = device(host_device).memory();
    if (&device(place_) != &device(host_device)) {
        MemoryStats there = device(place_).memory();
        given_out.allocated += there.allocated;
        given_out.in_heap += there.in_heap;
    }
    sample = {true, given_out.allocated, rise(given_out.in_heap, process.heap) + process.code,
              process.anonymous};
}

void MemoryFigures::fed(const std::vector<Test>& tests) {
    mark(fed_);
    for (auto& test : tests)
        for (auto* tensors : {&test.inputs, &test.expected})
            for (auto& tensor : *tensors)
                if (tensor && !is_mapped(tensor.data())) test_data_ += tensor.spec().bytes();
}

void MemoryFigures::ran(const Graph& model, const Program& program) {
    if (!is_reported_ || ran_.is_taken) return;
    mark(ran_);
    weights_in_file_ = resident_bytes(constant_pieces(model, true)).value_or(0);
    weights_elsewhere_ = resident_bytes(constant_pieces(model, false)).value_or(0);
    made_weights_ = resident_bytes(program.made_constants()).value_or(0);
}

Json MemoryFigures::between(const Sample& from, const Sample& to, size_t predicted) {
    return three(predicted, rise(from.allocated, to.allocated), rise(from.anonymous, to.anonymous));
}

Json MemoryFigures::weights(const MemoryReport& m, const Graph& model) const {
    // Memory allocated while loading, unless the weights are in a buffer of the tool.
    size_t held = held_weights(model), given_out = rise(start_.allocated, loaded_.allocated);
    size_t measured = weights_in_file_ + (given_out >= held ? held : weights_elsewhere_);
    return three(m.weights_in_file + held, measured, weights_in_file_ + weights_elsewhere_);
}

// Memory that was allocated while loading and compiling, except weights.
Json MemoryFigures::program(const MemoryReport& m, const Graph& model) const {
    size_t taken = rise(start_.taken, loaded_.taken) + rise(fed_.taken, compiled_.taken);
    bool is_buffer = rise(start_.allocated, loaded_.allocated) < held_weights(model);
    size_t resident = rise(start_.anonymous, loaded_.anonymous) + rise(fed_.anonymous, compiled_.anonymous);
    return three(m.program + graph_bytes(model), rise(is_buffer ? weights_elsewhere_ : 0, taken),
                 rise(weights_elsewhere_ + made_weights_, resident));
}

Json MemoryFigures::to_json(const Program& compiled, const Graph& model) const {
    MemoryReport m = compiled.memory();
    size_t results = 0;  // copied once
    for (auto& port : compiled.outputs())
        if (port.spec.shape.is_known()) results += port.spec.bytes();
    Json result;
    result["weights"] = weights(m, model);
    result["made_weights"] =
        three(m.packed_weights + m.made_weights, rise(fed_.allocated, compiled_.allocated), made_weights_);
    result["program"] = program(m, model);
    result["test_data"] = between(loaded_, fed_, test_data_);
    result["context"] = between(compiled_, prepared_, m.plan + m.inputs_outputs);
    result["run_time"] = between(prepared_, ran_, results);
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
    write_file_atomically(path, [&](std::ostream& out) { out << to_json(timeline, program); });
}

}  // namespace mge::load_and_run
