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
        "Starts recording eager operators on all threads. Discards an earlier recording.");
    module.def("stop_recording", &stop,
               "Stops recording and returns (operators, blocks): dicts with times in nanoseconds of the "
               "monotonic clock. A block is the memory of a result.");
    module.def(
        "start_input_check", [] { changed_inputs().start(); },
        "Starts to check, on all threads, whether operators change inputs that they may only read.");
    module.def(
        "stop_input_check", [] { return changed_inputs().stop(); },
        "Stops checking and returns one line for each changed input of an operator.");
}

}  // namespace mge::python
