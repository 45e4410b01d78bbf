// SPDX-License-Identifier: Apache-2.0
#include "python/src/recorder_binding.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "libmge/device/device.h"
#include "libmge/inspect/changed_inputs.h"
#include "libmge/inspect/operator_recorder.h"

namespace nb = nanobind;

namespace mge::python {
namespace {

nb::str description(const TensorSpec& spec) {
    if (spec.is_absent()) return nb::str("");
    std::string written = text(spec.dtype, ' ', spec.shape);
    return nb::str(written.c_str(), written.size());
}

nb::list descriptions(const TensorSpecs& specs) {
    nb::list list;
    for (auto& spec : specs) list.append(description(spec));
    return list;
}

nb::dict to_dict(const RecordedOperator& ran) {
    nb::dict found;
    found["name"] = std::string(ran.name);
    found["device"] = physical_name(ran.device);
    found["thread"] = ran.thread;
    found["begin"] = ran.begin;
    found["end"] = ran.end;
    found["device_begin"] = ran.device_begin;
    found["device_end"] = ran.device_end;
    found["allocated"] = ran.allocated;
    found["inputs"] = descriptions(ran.inputs);
    found["outputs"] = descriptions(ran.outputs);
    return found;
}

nb::dict to_dict(const RecordedBlock& block) {
    nb::dict found;
    found["made_by"] = block.made_by;
    found["layout"] = description(block.spec);
    found["address"] = block.address;
    found["bytes"] = block.bytes;
    found["produced"] = block.produced;
    found["erased"] = block.erased < 0 ? nb::object(nb::none()) : nb::cast(block.erased);
    return found;
}

nb::tuple stop() {
    OperatorRecording recording = operator_recorder().stop();
    nb::list operators, blocks;
    for (auto& ran : recording.operators) operators.append(to_dict(ran));
    for (auto& block : recording.blocks) blocks.append(to_dict(block));
    return nb::make_tuple(operators, blocks);
}

}  // namespace

void add_recorder(PyObject* module_object) {
    nb::module_ module = nb::borrow<nb::module_>(module_object);
    module.def(
        "start_recording", [] { operator_recorder().start(); },
        "Record operators that run at once, on all threads, from now on; what was recorded before goes.");
    module.def("stop_recording", &stop,
               "Record no longer: (operators, blocks), dicts with times in nanoseconds of the monotonic "
               "clock; a block is memory of a result.");
    module.def(
        "start_input_check", [] { changed_inputs().start(); },
        "Look from now on, on all threads, whether operators change what they only read.");
    module.def(
        "stop_input_check", [] { return changed_inputs().stop(); },
        "Look no longer: what was found, a line for each input of an operator.");
}

}  // namespace mge::python
