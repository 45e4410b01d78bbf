// SPDX-License-Identifier: Apache-2.0
#include "python/src/autocast_binding.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "libmge/op/autocast.h"
#include "python/src/tensor/conversion.h"

namespace nb = nanobind;

namespace mge::python {
namespace {

nb::tuple settings() {
    MixedPrecision now = mixed_precision();
    return nb::make_tuple(now.enabled, std::string(name_of(now.low)), std::string(name_of(now.high)));
}

void set_settings(bool enabled, nb::handle low, nb::handle high) {
    set_mixed_precision({enabled, parse_dtype(low.ptr()), parse_dtype(high.ptr())});
}

}  // namespace

void add_autocast(PyObject* module_object) {
    nb::module_ module = nb::borrow<nb::module_>(module_object);
    module.def("mixed_precision", &settings,
               "Returns the autocast state of this thread as (enabled, low dtype, high dtype).");
    module.def("set_mixed_precision", &set_settings, nb::arg("enabled"), nb::arg("low"), nb::arg("high"),
               "Sets the autocast state of this thread: whether it is enabled, and the low and high dtype "
               "of floating inputs.");
}

}  // namespace mge::python
