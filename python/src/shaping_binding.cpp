// SPDX-License-Identifier: Apache-2.0
#include "python/src/shaping_binding.h"

#include <nanobind/nanobind.h>

#include <algorithm>

#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reshape.h"
#include "python/src/call_op.h"
#include "python/src/meaning.h"
#include "python/src/tensor/plain_integers.h"
#include "python/src/tensor/tensor_object.h"

namespace nb = nanobind;

namespace mge::python {
namespace {

// True for sizes of which at most one is -1.
bool is_target(const IntList& sizes) {
    return std::ranges::all_of(sizes, [](int64_t size) { return size >= -1; }) &&
           std::ranges::count(sizes, -1) <= 1;
}

bool is_permutation(const IntList& pattern, int rank) {
    uint64_t named = 0;
    for (int64_t axis : pattern)
        if (axis >= 0 && axis < rank) named |= uint64_t(1) << axis;
    return int(pattern.size()) == rank && named == (uint64_t(1) << rank) - 1;
}

bool is_plain(PyObject* object) { return is_tensor(object) && !meaning(object); }

nb::object call_rule(const char* rule, nb::handle x, nb::handle argument) {
    return nb::module_::import_("megengine.core.tensor.shaping").attr(rule)(x, argument);
}

nb::object reshaped(nb::handle x, nb::handle target_shape) {
    ops::Reshape::Params params;
    if (is_plain(x.ptr()) && read_integers(target_shape.ptr(), params.shape) && is_target(params.shape))
        return nb::steal(call_with(ops::Reshape::info, &params, x.ptr()));
    return call_rule("reshaped_by_rule", x, target_shape);
}

nb::object transposed(nb::handle x, nb::handle pattern) {
    ops::Transpose::Params params;
    if (is_plain(x.ptr()) && read_integers(pattern.ptr(), params.pattern) &&
        is_permutation(params.pattern, value_of(x.ptr()).shape().rank()))
        return nb::steal(call_with(ops::Transpose::info, &params, x.ptr()));
    return call_rule("transposed_by_rule", x, pattern);
}

}  // namespace

void add_shaping(PyObject* module) {
    auto functions = nb::borrow<nb::module_>(module);
    functions.def("reshaped", &reshaped, nb::arg("inp"), nb::arg("target_shape").none(),
                  "Returns the elements, in order, in another shape.");
    functions.def("transposed", &transposed, nb::arg("inp"), nb::arg("pattern").none(),
                  "Returns the tensor with its axes in another order and new axes of size 1 where "
                  "`pattern` has \"x\".");
}

}  // namespace mge::python
