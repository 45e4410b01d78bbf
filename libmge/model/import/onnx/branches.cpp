// SPDX-License-Identifier: Apache-2.0
// A branch that is known is taken while reading; of the others both are kept.

#include "libmge/model/import/onnx/families.h"
#include "libmge/model/import/onnx/importer.h"
#include "libmge/model/import/onnx/inner_graphs.h"
#include "libmge/ops/control/cond.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {

Tensors import_if(const Site& site) {
    auto *then_graph = site.attributes.graph("then_branch"),
         *else_graph = site.attributes.graph("else_branch");
    if (!then_graph || !else_graph) invalid("it has one branch only");
    if (auto known = site.find_values(0))
        return site.importer.import_inner(only(*known, "a condition") ? *then_graph : *else_graph, {});
    Tensors captured;
    auto recorded = [&](const file::GraphProto* graph) {
        return record_inner(site, {}, captured,
                            [&](std::span<const Tensor>) { return site.importer.import_inner(*graph, {}); });
    };
    InnerResults then = recorded(then_graph), otherwise = recorded(else_graph);
    if (then.specs.size() != otherwise.specs.size())
        invalid("one branch has ", then.specs.size(), " results, the other ", otherwise.specs.size());
    Tensors operands{ops::reshape(site.in(0), {.shape = {}})};
    operands.insert(operands.end(), captured.begin(), captured.end());
    Tensors results = ops::cond(TensorList(operands), {.then_graph = with_inputs(then.graph, captured),
                                                       .else_graph = otherwise.graph});
    for (size_t i = 0; i < results.size(); ++i)
        assume_either(site, results[i], then.others[i], otherwise.others[i]);
    return results;
}

}  // namespace mge::onnx
