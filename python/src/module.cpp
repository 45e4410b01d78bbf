// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>

#include "libmge/base/version.h"
#include "python/src/autocast_binding.h"
#include "python/src/call_op.h"
#include "python/src/device_object.h"
#include "python/src/errors.h"
#include "python/src/file_binding.h"
#include "python/src/graph_binding.h"
#include "python/src/graph_function_binding.h"
#include "python/src/process_binding.h"
#include "python/src/recorder_binding.h"
#include "python/src/shaping_binding.h"
#include "python/src/sharing_binding.h"
#include "python/src/subgraph_binding.h"
#include "python/src/tape_binding.h"
#include "python/src/tensor/conversion.h"
#include "python/src/tensor/low_bit_dtypes.h"
#include "python/src/tensor/tensor_object.h"
#include "python/src/trace_binding.h"

namespace nb = nanobind;

namespace {

void define_module(nb::module_& module) {
    using namespace mge::python;
    nb::register_exception_translator([](const std::exception_ptr& error, void*) {
        try {
            std::rethrow_exception(error);
        } catch (const mge::Error&) {
            set_python_error();
        } catch (const PythonError&) {
        }
    });
    add_exceptions(module.ptr());
    import_numpy();
    add_device_type(module.ptr());
    add_tensor_type(module.ptr());
    add_ops_module(module.ptr());
    add_device_functions(module.ptr());
    add_low_bit_dtypes(module.ptr());
    add_autocast(module.ptr());
    add_tape(module.ptr());
    add_files(module.ptr());
    add_shaping(module.ptr());
    add_sharing(module.ptr());
    add_trace(module.ptr());
    add_subgraphs(module.ptr());
    add_graphs(module.ptr());
    add_graph_functions(module.ptr());
    add_recorder(module.ptr());
    add_processes(module.ptr());
    module.attr("bfloat16") = nb::borrow(numpy_dtype(mge::DType::bf16));
    module.def(
        "set_tensor_class",
        [](nb::handle type) {
            if (!PyType_Check(type.ptr()))
                throw mge::UserError("[set_tensor_class] needs a class", mge::ErrorClass::type);
            set_result_class(reinterpret_cast<PyTypeObject*>(type.ptr()));
        },
        "Sets the subclass of _mge.Tensor for results of operators.");
    module.def(
        "symbolic_shapes", [] { return has_symbolic_shapes; },
        "True if Tensor.shape is a Tensor on this thread.");
    module.def(
        "set_symbolic_shapes", [](bool value) { has_symbolic_shapes = value; }, nb::arg("value"),
        "Sets whether Tensor.shape is a Tensor on this thread.");
    module.def(
        "set_shows_nhwc", [](bool value) { shows_nhwc = value; }, nb::arg("value"),
        "Whether shape and numpy() of Tensors of format 'nhwc' have the order of axes of their format.");
}

}  // namespace

// The extension module megengine._mge.
NB_MODULE(_mge, module) {
    module.doc() = "MGE's tensors, operators and programs for Python.";
    module.attr("__version__") = mge::version;
    try {
        define_module(module);
    } catch (...) {
        mge::python::set_python_error();
        throw nb::python_error();
    }
}
