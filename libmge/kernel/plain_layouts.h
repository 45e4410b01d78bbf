// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge {

// `supports` for kernels of row-major tensors.
inline Support plain_layouts(const Problem& problem) {
    for (auto specs : {problem.inputs, problem.outputs})
        for (auto& spec : specs)
            if (!spec.layout.is_plain()) return {"plain layouts only"};
    return supported;
}

// The kernels of an operator with one algorithm, which takes plain layouts.
template <Prepared (*prepare)(const PrepareContext&), void (*run)(const Prepared&, const Launch&)>
KernelList one_algorithm(const char* name, const Attributes& attributes = {}) {
    static const Algorithm list[] = {{name, plain_layouts, prepare, run, attributes}};
    return list;
}

}  // namespace mge
