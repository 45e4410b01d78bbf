// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>

#include "libmge/base/version.h"

// The extension module megengine._mge.
NB_MODULE(_mge, module) {
    module.doc() = "MGE's tensors, operators and programs for Python.";
    module.attr("__version__") = mge::version;
}
