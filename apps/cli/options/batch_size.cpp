// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/options/batch_size.h"

#include "libmge/base/error.h"

namespace mge::cli {

TensorSpec with_batch(TensorSpec spec, int64_t batch, const std::string& name, const char* option) {
    auto fail = [&](const char* why) { throw_value_error(option, "the input '", name, "' ", why); };
    if (!spec.shape.is_known()) fail("has a shape that is known only at run time");
    if (spec.shape.rank() == 0) fail("is a scalar: it has no batch axis");
    spec.shape[0] = batch;
    return spec;
}

TensorSpecs with_batch(const Graph& graph, TensorSpecs inputs, int64_t batch, const char* option) {
    for (size_t i = 0; i < inputs.size(); ++i)
        inputs[i] = with_batch(inputs[i], batch, graph.value(graph.inputs()[i]).name, option);
    return inputs;
}

}  // namespace mge::cli
