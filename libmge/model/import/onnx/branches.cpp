// SPDX-License-Identifier: Apache-2.0
// Graphs that nodes hold. A branch that is known is taken while reading; of the others both are kept.

#include "libmge/graph/inner_graph.h"
#include "libmge/model/import/onnx/families.h"
#include "libmge/model/import/onnx/importer.h"
#include "libmge/ops/control/cond.h"
#include "libmge/ops/elementwise/convert.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

// What the branch reads of the graph around it becomes operands, the same ones for both.
SubgraphRef branch_graph(const Site& site, const file::GraphProto& graph, Tensors& captured) {
    return capture_subgraph({}, captured, [&](std::span<const Tensor>) {
        Tensors results = site.importer.import_inner(graph, {});
        for (auto& result : results) {
            if (!result) unsupported("a branch with nodes that have no counterpart");
            result = ops::copy(result);
        }
        return results;
    });
}

}  // namespace

Tensors import_if(const Site& site) {
    auto *then_graph = site.attributes.graph("then_branch"),
         *else_graph = site.attributes.graph("else_branch");
    if (!then_graph || !else_graph) invalid("it has one branch only");
    if (auto known = site.find_values(0)) {
        if (known->size() != 1) invalid("a condition of ", known->size(), " values");
        return site.importer.import_inner((*known)[0] ? *then_graph : *else_graph, {});
    }
    Tensors captured;
    branch_graph(site, *then_graph, captured);
    SubgraphRef otherwise = branch_graph(site, *else_graph, captured);
    SubgraphRef then = branch_graph(site, *then_graph, captured);
    Tensors operands{ops::reshape(site.in(0), {.shape = {}})};
    operands.insert(operands.end(), captured.begin(), captured.end());
    return ops::cond(TensorList(operands), {.then_graph = then, .else_graph = otherwise});
}

}  // namespace mge::onnx
