// SPDX-License-Identifier: Apache-2.0
#include "python/src/tape_binding.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "libmge/eager/tape.h"
#include "python/src/errors.h"
#include "python/src/gil.h"
#include "python/src/meaning.h"
#include "python/src/object_access.h"
#include "python/src/reference.h"
#include "python/src/subgraph_binding.h"
#include "python/src/tensor/tensor_arguments.h"

namespace nb = nanobind;

namespace mge::python {
namespace {

// A gradient rule written in Python. It is called with a tuple of bools, the inputs that need a gradient,
// followed by one Tensor or None per output. It returns one gradient per input.
class PythonGradient final : public CustomGradient {
public:
    PythonGradient(nb::object rule, size_t inputs) : rule_(std::move(rule)), inputs_(inputs) {}
    ~PythonGradient() override {
        GilAcquired gil;
        rule_.reset();
    }

    Tensors backward(std::span<const Tensor> output_grads, std::span<const bool> needed) override {
        GilAcquired gil;
        nb::object arguments = nb::steal(PyTuple_New(Py_ssize_t(output_grads.size() + 1)));
        nb::object wanted = nb::steal(PyTuple_New(Py_ssize_t(needed.size())));
        if (!arguments.is_valid() || !wanted.is_valid()) throw PythonError{};
        for (size_t i = 0; i < needed.size(); ++i)
            set_tuple_item(wanted.ptr(), i, PyBool_FromLong(needed[i]));
        set_tuple_item(arguments.ptr(), 0, wanted.release().ptr());
        for (size_t i = 0; i < output_grads.size(); ++i)
            set_tuple_item(arguments.ptr(), i + 1, wrap_or_none(output_grads[i]).release().ptr());
        Reference result(PyObject_CallObject(rule_.ptr(), arguments.ptr()));
        if (!result) throw PythonError{};
        Tensors grads = tensor_list(nb::handle(result.get()), "Function.backward");
        MGE_CHECK(grads.size() == inputs_, "Function counts its gradients");
        return grads;
    }

private:
    nb::object rule_;
    size_t inputs_;
};

// New objects, so that in-place changes by `forward` do not affect the caller's.
nb::object fresh_arguments(const Tensors& inputs) {
    nb::object arguments = nb::steal(PyTuple_New(Py_ssize_t(inputs.size())));
    for (size_t i = 0; i < inputs.size(); ++i) set_tuple_item(arguments.ptr(), i, wrap_tensor(inputs[i]));
    return arguments;
}

nb::object call_function(nb::object forward, nb::object backward, nb::handle args) {
    Tensors inputs = tensor_list(args, "Function");
    nb::object result;
    {
        RecordingPaused paused;
        result = nb::steal(PyObject_CallObject(forward.ptr(), fresh_arguments(inputs).ptr()));
    }
    if (!result.is_valid()) throw PythonError{};
    bool is_one = is_tensor(result.ptr());
    nb::object results = is_one ? nb::make_tuple(result) : nb::steal(PySequence_Tuple(result.ptr()));
    if (!results.is_valid()) throw PythonError{};
    Tensors outputs = tensor_list(results, "Function.forward");
    outputs = record_custom(inputs, outputs, std::make_shared<PythonGradient>(backward, inputs.size()));
    // Keep the objects that `forward` returned, because the rule may hold them, and give them the recorded
    // values.
    for (size_t i = 0; i < outputs.size(); ++i)
        value_of(PyTuple_GetItem(results.ptr(), Py_ssize_t(i))) = outputs[i];
    return is_one ? result : results;
}

// Gradients are defined for floats; a complex number is two of them.
const Tensor& real_argument(nb::handle object, const char* where) {
    const Tensor& value = tensor_argument(object, where);
    if (is_complex(object.ptr()))
        throw_type_error(where, "a complex Tensor has no gradient; take its real and imaginary parts");
    return value;
}

// Calls a Python function with the position of an attached value and its gradient.
Tape::OnReady call_when_ready(nb::handle function) {
    if (function.is_none()) return {};
    return [function](size_t i, const Tensor& grad) {
        GilAcquired gil;
        nb::object tensor = nb::steal(wrap_tensor(grad));
        nb::object position = nb::int_(i);
        PyObject* arguments[] = {position.ptr(), tensor.ptr()};
        Reference result(PyObject_Vectorcall(function.ptr(), arguments, std::size(arguments), nullptr));
        if (!result) throw PythonError{};
    };
}

std::vector<size_t> arrival_order(const Tape& tape, nb::handle ys) {
    return tape.arrival_order(tensor_list(ys, "Tape.arrival_order"));
}

nb::list backward(Tape& tape, nb::handle ys, nb::handle dys, nb::handle on_ready) {
    Tensors y_values;
    for (nb::handle y : ys) y_values.push_back(real_argument(y, "backward"));
    Tensors dy_values = dys.is_none() ? Tensors() : tensor_list(dys, "backward");
    Tensors grads;
    {
        GilReleased released;
        grads = tape.backward(y_values, dy_values, call_when_ready(on_ready));
    }
    return wrap_list(grads);
}

void attach(Tape& tape, nb::handle object) {
    real_argument(object, "attach");
    if (running_captures) [[unlikely]] {
        note_use(object.ptr());
        note_change(object.ptr());
    }
    Tensor& value = value_of(object.ptr());
    value = tape.attach(value);
    if (running_captures) [[unlikely]]
        note_attached(object.ptr());
}

// A RecordingPaused that a call ends.
class PausedRecording {
public:
    void end() {
        paused_.reset();
        constants_.reset();
    }

private:
    std::optional<RecordingPaused> paused_{std::in_place};
    std::optional<CapturedConstants> constants_{std::in_place};
};

}  // namespace

void add_tape(PyObject* module_object) {
    nb::module_ module = nb::borrow<nb::module_>(module_object);
    nb::class_<Tape>(module, "Tape",
                     "Records the operators that are applied to tensors and computes "
                     "gradients.")
        .def(nb::init<>())
        .def("attach", &attach, nb::arg("tensor"), "Attaches the current value of the Tensor.")
        .def("start", &Tape::start, "Starts recording.")
        .def("stop", &Tape::stop, "Stops recording and keeps the recorded operators.")
        .def("backward", &backward, nb::arg("ys"), nb::arg("dys").none() = nb::none(),
             nb::arg("on_ready").none() = nb::none(),
             "Returns the gradients in the order of attaching and ends the tape. The gradient of an "
             "independent value is None. on_ready(i, gradient) is called during the pass when the gradient "
             "of attached value i is complete.")
        .def("arrival_order", &arrival_order, nb::arg("ys"),
             "Returns the positions of the attached values on which ys depend, in the order of their "
             "gradients.")
        .def("release", &Tape::release, "Discards the recording.")
        .def_prop_ro("is_recording", &Tape::is_recording);
    nb::class_<PausedRecording>(module, "PausedRecording", "Pauses all tapes of this thread until end().")
        .def(nb::init<>())
        .def("end", &PausedRecording::end, "Ends the pause. Call it on the thread that created the object.");
    module.def("call_function", &call_function, nb::arg("forward"), nb::arg("backward"), nb::arg("args"),
               "Calls forward(*args) without recording its operators and records it as one operator with "
               "its own gradient rule.");
    module.def(
        "is_recorded", [](nb::handle object) { return is_recorded(tensor_argument(object, "is_recorded")); },
        "True if an active tape follows the value.");
}

}  // namespace mge::python
