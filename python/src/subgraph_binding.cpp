// SPDX-License-Identifier: Apache-2.0
#include "python/src/subgraph_binding.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "libmge/graph/inner_graph.h"
#include "python/src/tensor_arguments.h"

namespace nb = nanobind;

namespace mge::python {
namespace {

// Its own class, so that no graph of the library has to wait for Python's lock when it goes.
struct PythonSubgraph {
    SubgraphRef graph;
};

// Without the first axis.
TensorSpec slice_of(const TensorSpec& spec) {
    Shape shape;
    for (int i = 1; i < spec.shape.rank(); ++i) shape.push_back(spec.shape[i]);
    return {spec.dtype, shape, {}};
}

// (graph, all that it captures)
nb::tuple capture(nb::handle function, nb::handle inputs, nb::handle captured, size_t sliced) {
    Tensors outside = tensor_list(captured, "capture_subgraph");
    TensorSpecs specs = specs_of(tensor_list(inputs, "capture_subgraph"));
    if (sliced > specs.size())
        throw_user("capture_subgraph", text("slices of ", sliced, " inputs of ", specs.size()));
    for (auto& spec : std::span(specs).last(sliced)) spec = slice_of(spec);
    SubgraphRef graph = capture_subgraph(specs, outside, [&](std::span<const Tensor> arguments) {
        Tensors list(arguments.begin(), arguments.end());
        return tensor_list(function(wrap_list(list)), "capture_subgraph");
    });
    return nb::make_tuple(PythonSubgraph{graph}, wrap_list(outside));
}

}  // namespace

SubgraphRef subgraph_of(PyObject* object) {
    nb::handle handle(object);
    return nb::isinstance<PythonSubgraph>(handle) ? nb::cast<PythonSubgraph&>(handle).graph : SubgraphRef();
}

void add_subgraphs(PyObject* module_object) {
    nb::module_ module = nb::borrow<nb::module_>(module_object);
    nb::class_<PythonSubgraph>(module, "Subgraph", "A graph that an operator holds.")
        .def_prop_ro("text", [](const PythonSubgraph& s) { return to_text(graph_of(s.graph)); })
        .def_prop_ro("input_count", [](const PythonSubgraph& s) { return s.graph->input_count(); })
        .def_prop_ro("output_count", [](const PythonSubgraph& s) { return s.graph->output_count(); });
    module.def("capture_subgraph", &capture, nb::arg("function"), nb::arg("inputs"), nb::arg("captured"),
               nb::arg("sliced") = 0,
               "A graph of what the function makes of a list of Tensors like `inputs`, of the last `sliced` "
               "ones without their first axis, and the Tensors from "
               "outside that it uses, which are its further inputs, behind those of `captured`.");
    module.def(
        "with_more_inputs",
        [](const PythonSubgraph& s, nb::handle like) {
            return PythonSubgraph{with_more_inputs(s.graph, specs_of(tensor_list(like, "with_more_inputs")))};
        },
        nb::arg("graph"), nb::arg("like"), "The same with further inputs, which nobody reads.");
}

}  // namespace mge::python
