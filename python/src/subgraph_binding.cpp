// SPDX-License-Identifier: Apache-2.0
#include "python/src/subgraph_binding.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "libmge/base/number_text.h"
#include "libmge/device/default_device.h"
#include "libmge/eager/tape.h"
#include "libmge/eager/trace.h"
#include "libmge/graph/inner_graph.h"
#include "libmge/op/apply.h"
#include "libmge/ops/control/scan.h"
#include "python/src/tensor/tensor_arguments.h"

namespace nb = nanobind;

namespace mge::python {

constinit int running_captures = 0;

namespace {

// A separate class, so that destroying a graph of the library never needs the GIL.
struct PythonSubgraph {
    SubgraphRef graph;
};

// A recording on this thread, and the external tensors whose values it has changed.
class Capture {
public:
    explicit Capture(bool takes_grads)
        : outer_(std::exchange(innermost, this)), number_(++last_number), takes_grads_(takes_grads) {
        ++running_captures;
    }
    ~Capture() {
        take_back();
        take_back_grads();
        innermost = outer_;
        --running_captures;
    }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    static void note(PyObject* tensor) {
        if (!innermost || as_tensor(tensor)->recording == innermost->number_) return;
        auto& changes = innermost->changes_;
        auto is_it = [&](auto& change) { return change.tensor.ptr() == tensor; };
        if (std::ranges::none_of(changes, is_it))
            changes.push_back({nb::borrow(nb::handle(tensor)), value_of(tensor)});
    }

    // A new handle from a tape is not a new value.
    static void note_attached(PyObject* tensor) {
        if (!innermost) return;
        for (auto& change : innermost->changes_)
            if (change.tensor.ptr() == tensor) change.attached = value_of(tensor);
    }
    void drop_unchanged() {
        std::erase_if(changes_, [](Change& change) {
            Tensor& now = value_of(change.tensor.ptr());
            if (!change.attached || !now.is_same(change.attached)) return false;
            now = change.before;
            return true;
        });
    }

    static void note_grad(PyObject* tensor) {
        if (!innermost || !innermost->takes_grads_ || as_tensor(tensor)->recording == innermost->number_)
            return;
        auto& grads = innermost->grads_;
        auto is_it = [&](auto& one) { return one.tensor.ptr() == tensor; };
        if (std::ranges::any_of(grads, is_it)) return;
        PyObject* before = as_tensor(tensor)->grad;
        grads.push_back({nb::borrow(nb::handle(tensor)), nb::borrow(nb::handle(before))});
    }
    // Restores the gradients of tensors. Gradients that are values of the graph are appended to `values`,
    // their tensors to `owners`.
    void take_back_grads(Tensors* values = nullptr, nb::list* owners = nullptr) {
        for (auto& [tensor, before] : std::exchange(grads_, {})) {
            PyObject*& grad = as_tensor(tensor.ptr())->grad;
            if (values && grad && is_tensor(grad) && value_of(grad).is_symbolic()) {
                values->push_back(value_of(grad));
                owners->append(tensor);
            }
            nb::object after = nb::steal(std::exchange(grad, Py_XNewRef(before.ptr())));
        }
    }

    static void note_use(PyObject* tensor) {
        if (!innermost || as_tensor(tensor)->recording == innermost->number_) return;
        innermost->used_.try_emplace(value_of(tensor).impl(), nb::borrow(nb::handle(tensor)));
    }
    // Returns the objects that have these values; new objects for values that have changed hands.
    nb::list objects_of(const Tensors& outside) const {
        nb::list objects;
        for (auto& tensor : outside) {
            auto it = used_.find(tensor.impl());
            bool is_known = it != used_.end() && value_of(it->second.ptr()).is_same(tensor);
            objects.append(is_known ? it->second : nb::steal(wrap_tensor(tensor)));
        }
        return objects;
    }

    // Restores the values of tensors. Returns the replaced ones.
    Tensors take_back() {
        Tensors after;
        for (auto& change : changes_)
            if (change.before) after.push_back(std::exchange(value_of(change.tensor.ptr()), change.before));
        for (auto& change : changes_) change.before = {};
        return after;
    }
    Tensors before() const {
        Tensors values;
        for (auto& change : changes_) values.push_back(change.before);
        return values;
    }
    nb::list changed() const {
        nb::list tensors;
        for (auto& change : changes_) tensors.append(change.tensor);
        return tensors;
    }

private:
    struct Change {
        nb::object tensor;
        Tensor before, attached = {};
    };
    struct Grad {
        nb::object tensor, before;
    };
    static thread_local Capture* innermost;
    static inline uint32_t last_number = 0;  // over all threads; guarded by the GIL
    friend uint32_t mge::python::innermost_capture();

    Capture* outer_;
    uint32_t number_;
    bool takes_grads_;
    std::vector<Change> changes_;
    std::vector<Grad> grads_;
    std::unordered_map<const TensorImpl*, nb::object> used_;
};
thread_local Capture* Capture::innermost = nullptr;

// Removes the first axis from the last `sliced` specs.
TensorSpecs specs_of_list(nb::handle tensors, size_t sliced) {
    TensorSpecs specs = specs_of(tensor_list(tensors, "capture_subgraph"));
    if (sliced > specs.size())
        throw_user("capture_subgraph", text("slices of ", counted(sliced, "input"), " of ", specs.size()));
    return ops::scan_arguments({.carried = int64_t(specs.size() - sliced), .sliced = int64_t(sliced)}, specs);
}

std::vector<size_t> positions_of(const Tensors& tensors, const Tensors& all) {
    std::vector<size_t> positions;
    for (auto& tensor : tensors)
        positions.push_back(
            size_t(std::ranges::find_if(all, [&](auto& one) { return one.is_same(tensor); }) - all.begin()));
    return positions;
}

// Lets tapes of the function record over the graph, while outer tapes record nothing of it.
class TapesOverGraph {
public:
    TapesOverGraph() {
        Interpreter& graph = current_interpreter();
        paused_.emplace();
        before_ = exchange_base_interpreter(&graph);
    }
    ~TapesOverGraph() { exchange_base_interpreter(before_); }
    TapesOverGraph(const TapesOverGraph&) = delete;
    TapesOverGraph& operator=(const TapesOverGraph&) = delete;

private:
    std::optional<RecordingPaused> paused_;
    Interpreter* before_;
};

// Returns (graph, captured tensors, changed tensors, positions of their old values among the captured ones).
// After its results, the graph returns the gradients that it leaves (if `grad_owners` is a list), the new
// values of the changed tensors and the old ones.
nb::tuple capture(nb::handle function, nb::handle inputs, nb::handle captured, size_t sliced,
                  nb::object grad_owners) {
    Tensors outside = tensor_list(captured, "capture_subgraph"), before;
    Capture recording(!grad_owners.is_none());
    // So that they remain the objects that the caller has, also if this function does not use them.
    for (nb::handle tensor : captured) Capture::note_use(tensor.ptr());
    Tensors given = tensor_list(inputs, "capture_subgraph");
    DeviceId place = given.empty() ? default_device() : given[0].device();
    SubgraphRef graph = capture_subgraph(
        specs_of_list(inputs, sliced), outside,
        [&](std::span<const Tensor> arguments) {
            TapesOverGraph tapes;
            nb::list list = wrap_list(Tensors(arguments.begin(), arguments.end()));
            Tensors results = tensor_list(function(list), "capture_subgraph");
            if (!grad_owners.is_none()) {
                nb::list owners = nb::borrow<nb::list>(grad_owners);
                recording.take_back_grads(&results, &owners);
            }
            recording.drop_unchanged();
            before = recording.before();
            for (auto& value : recording.take_back()) results.push_back(value);
            results.insert(results.end(), before.begin(), before.end());
            return results;
        },
        place);
    return nb::make_tuple(PythonSubgraph{graph}, recording.objects_of(outside), recording.changed(),
                          positions_of(before, outside));
}

// Returns the graph with reordered inputs, where -1 is a new, unused input like the next tensor of `like`.
// `outputs` selects its results; negative numbers select new inputs, from -1 on.
PythonSubgraph arranged(const PythonSubgraph& subgraph, const std::vector<int>& inputs, nb::handle like,
                        const std::vector<int>& outputs) {
    Graph graph = graph_of(subgraph.graph);
    TensorSpecs further = specs_of(tensor_list(like, "arranged_subgraph"));
    auto old_inputs = graph.inputs(), old_outputs = graph.outputs();
    std::vector<ValueId> new_inputs, new_outputs;
    size_t next = 0;
    for (int i : inputs)
        new_inputs.push_back(i >= 0 ? old_inputs.at(size_t(i))
                                    : graph.add_input(further.at(next++), text("in_", new_inputs.size())));
    for (int i : outputs)
        new_outputs.push_back(i >= 0 ? old_outputs.at(size_t(i)) : new_inputs.at(size_t(-i - 1)));
    graph.set_inputs(std::move(new_inputs));
    graph.set_outputs(std::move(new_outputs));
    return {make_subgraph(std::move(graph))};
}

}  // namespace

uint32_t innermost_capture() { return Capture::innermost ? Capture::innermost->number_ : 0; }

thread_local constinit uint32_t capture_of_constants = 0;  // its number
CapturedConstants::CapturedConstants() : before_(std::exchange(capture_of_constants, innermost_capture())) {}
CapturedConstants::~CapturedConstants() { capture_of_constants = before_; }
bool captures_constants() { return capture_of_constants && capture_of_constants == innermost_capture(); }

void note_change(PyObject* tensor) { Capture::note(tensor); }

void note_use(PyObject* tensor) { Capture::note_use(tensor); }

void note_attached(PyObject* tensor) { Capture::note_attached(tensor); }

void note_grad(PyObject* tensor) { Capture::note_grad(tensor); }

SubgraphRef subgraph_of(PyObject* object) {
    nb::handle handle(object);
    return nb::isinstance<PythonSubgraph>(handle) ? nb::cast<PythonSubgraph&>(handle).graph : SubgraphRef();
}

void add_subgraphs(PyObject* module_object) {
    nb::module_ module = nb::borrow<nb::module_>(module_object);
    nb::class_<PythonSubgraph>(module, "Subgraph", "A graph nested in an operator.")
        .def_prop_ro("text", [](const PythonSubgraph& s) { return to_text(graph_of(s.graph)); })
        .def_prop_ro("input_count", [](const PythonSubgraph& s) { return s.graph->input_count(); })
        .def_prop_ro("output_count", [](const PythonSubgraph& s) { return s.graph->output_count(); });
    module.def(
        "capture_subgraph", &capture, nb::arg("function"), nb::arg("inputs"), nb::arg("captured"),
        nb::arg("sliced") = 0, nb::arg("grad_owners").none() = nb::none(),
        "Records a function of Tensors like `inputs` as a graph. The last `sliced` inputs lack their first "
        "axis. Returns (graph, captured, changed, positions). Tensors from outside that the function uses "
        "are further inputs, after those of `captured`. Tensors that it changes are unchanged afterwards: "
        "their new and old values are further results, and `positions` says where the old ones are "
        "captured. The Tensors whose gradients it stores are appended to `grad_owners`; these gradients "
        "are further results.");
    module.def("arranged_subgraph", &arranged, nb::arg("graph"), nb::arg("inputs"), nb::arg("like"),
               nb::arg("outputs"),
               "Returns the graph with its inputs in another order and with other results. An input of -1 "
               "is a new one like the next Tensor of `like`. A result is one of its own or, counted back "
               "from -1, a new input.");
    module.def(
        "is_capturing", [] { return innermost_capture() != 0; },
        "Returns True while capture_subgraph() records a function on this thread.");
    module.def(
        "outlive_recordings",
        [](nb::handle tensor) {
            const Tensor& value = tensor_argument(tensor, "outlive_recordings");
            if (value.impl()->symbol == literal_mark) value.impl()->symbol = -1;
            as_tensor(tensor.ptr())->recording = 0;
        },
        nb::arg("tensor"),
        "Treats a Tensor that was made during the recording of a function as one from "
        "outside.");
    module.def(
        "mark_stream",
        [](nb::handle tensor) {
            const Tensor& value = tensor_argument(tensor, "mark_stream");
            if (!value.is_symbolic()) value.impl()->symbol = stream_mark;
        },
        nb::arg("tensor"),
        "Lets traces read a Tensor, the state of a stream of random numbers, in each call.");
}

}  // namespace mge::python
