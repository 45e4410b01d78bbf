// SPDX-License-Identifier: Apache-2.0
#include "python/src/graph_function_binding.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "libmge/device/default_device.h"
#include "libmge/train/graph_function.h"
#include "python/src/dimension_names.h"
#include "python/src/graph_names.h"
#include "python/src/model_opening.h"
#include "python/src/subgraph_binding.h"
#include "python/src/tensor/conversion.h"
#include "python/src/tensor/tensor_arguments.h"

namespace nb = nanobind;

namespace mge::python {
namespace {

// A model file with its names.
class FileFunction {
public:
    explicit FileFunction(Model model)
        : input_names(names_of(model.graph, model.graph.inputs())),
          output_names(names_of(model.graph, model.graph.outputs())),
          input_shapes(input_shapes_of(model.graph)),
          metadata(std::move(model.metadata)),
          input_dtypes_(dtypes_of(model.graph)),
          function_(std::move(model.graph), default_device()) {}

    nb::list weights() const {
        nb::list result;
        for (auto& [name, value] : function_.weights())
            result.append(nb::make_tuple(name, nb::steal(wrap_tensor(value))));
        return result;
    }
    nb::list call(const nb::list& inputs, const nb::list& weights) const {
        Tensors values, parameters;
        for (size_t i = 0; i < inputs.size() && i < input_dtypes_.size(); ++i)
            values.push_back(operand(inputs[i], input_dtypes_[i]));
        for (nb::handle weight : weights) parameters.push_back(operand(weight, DType::none));
        return wrap_list(function_.call(values, parameters));
    }

    const std::vector<std::string> input_names, output_names;
    const nb::dict input_shapes;
    const std::map<std::string, std::string> metadata;

private:
    // Tensors may be values of a graph that is being recorded.
    static Tensor operand(nb::handle object, DType wanted) {
        if (!is_tensor(object.ptr())) return model_input_from_python(object.ptr(), wanted);
        if (running_captures) note_use(object.ptr());
        const Tensor& value = value_of(object.ptr());
        return wanted == DType::none ? value : model_input_from_tensor(value, wanted);
    }
    static std::vector<DType> dtypes_of(const Graph& graph) {
        std::vector<DType> dtypes;
        for (ValueId id : graph.inputs()) dtypes.push_back(graph.value(id).spec.dtype);
        return dtypes;
    }

    std::vector<DType> input_dtypes_;
    GraphFunction function_;
};

}  // namespace

void add_graph_functions(PyObject* module_object) {
    nb::module_ module = nb::borrow<nb::module_>(module_object);
    nb::class_<FileFunction>(module, "GraphFunction",
                             "A function of inputs and weights, loaded from a "
                             "model file.")
        .def(
            "__init__",
            [](FileFunction* self, const std::filesystem::path& path) {
                new (self) FileFunction(open_path(path));
            },
            nb::arg("path"))
        .def(
            "__init__",
            [](FileFunction* self, const nb::bytes& content) {
                new (self) FileFunction(open_content(content));
            },
            nb::kw_only(), nb::arg("content"))
        .def_ro("input_names", &FileFunction::input_names)
        .def_ro("output_names", &FileFunction::output_names)
        .def_prop_ro(
            "input_shapes", [](const FileFunction& f) { return f.input_shapes; },
            "Returns the shapes by name. An open dimension is its name, or None without one.")
        .def_ro("metadata", &FileFunction::metadata)
        .def("weights", &FileFunction::weights, "Returns the trainable weights as (name, Tensor).")
        .def("call", &FileFunction::call, nb::arg("inputs"), nb::arg("weights"),
             "Computes the outputs for a list of Tensors or arrays, with the given values of the weights.");
}

}  // namespace mge::python
