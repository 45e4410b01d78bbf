// SPDX-License-Identifier: Apache-2.0
// A branch with a known condition is taken while reading; otherwise both are kept. If their results have
// different ranks, later nodes could not be read: then the model is read again with the branch for the
// recorded sizes, and a run with sizes that lead to the other branch ends with an error.

#include "libmge/base/number_text.h"
#include "libmge/model/import/onnx/importer.h"
#include "libmge/model/import/onnx/inner_graphs.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/ops/control/cond.h"
#include "libmge/ops/effect/assert_equal.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

// With the sizes for recording; nullopt: it does not follow from them.
std::optional<bool> recorded_condition(const Site& site) {
    const Tensor& condition = site.in(0);
    auto& builder = site.importer.builder_at_work();
    if (!condition.is_symbolic() || condition.impl()->symbol_owner != &builder) return std::nullopt;
    Tensor known = builder.known_value(condition.impl()->symbol);
    return known ? std::optional(only(numbers_in(known), "a condition") != 0) : std::nullopt;
}

void check_condition(const Tensor& condition, bool expected) {
    Tensor flag = as_dtype(as_scalar(condition), DType::i32);
    ops::assert_equal(number(flag, expected), flag, {.max_error = 0});
}

bool is_of_one_rank(const Shape& a, const Shape& b) {
    return !a.is_known() || !b.is_known() || a.rank() == b.rank();
}

Tensors import_if(const Site& site) {
    auto *then_graph = site.attributes.graph("then_branch"),
         *else_graph = site.attributes.graph("else_branch");
    if (!then_graph || !else_graph) invalid("it has only one branch");
    if (auto known = site.find_values(0))
        return site.importer.import_inner(only(*known, "a condition") ? *then_graph : *else_graph, {});
    auto decision = recorded_condition(site);
    if (decision && site.importer.is_decided(site.node)) {
        check_condition(site.in(0), *decision);
        return site.importer.import_inner(*decision ? *then_graph : *else_graph, {});
    }
    Tensors captured;
    auto recorded = [&](const file::GraphProto* graph) {
        auto import = [&](std::span<const Tensor>) { return site.importer.import_inner(*graph, {}); };
        try {
            return record_inner(site, {}, captured, import);
        } catch (const Unsupported&) {
            if (decision) site.importer.note_undecided(site.node);
            throw;
        }
    };
    InnerResults then = recorded(then_graph), otherwise = recorded(else_graph);
    if (then.specs.size() != otherwise.specs.size())
        invalid("one branch has ", counted(then.specs.size(), "output"), ", the other ",
                otherwise.specs.size());
    Tensors operands{ops::reshape(site.in(0), {.shape = {}})};
    operands.insert(operands.end(), captured.begin(), captured.end());
    Tensors results = ops::cond(TensorList(operands), {.then_graph = with_inputs(then.graph, captured),
                                                       .else_graph = otherwise.graph});
    for (size_t i = 0; i < results.size(); ++i) {
        if (decision && !is_of_one_rank(then.shapes[i], otherwise.shapes[i]))
            site.importer.note_undecided(site.node);
        assume_either(results[i], then.shapes[i], otherwise.shapes[i]);
    }
    return results;
}

}  // namespace

ImportRows branches_rows() {
    static constexpr ImportRow rows[] = {
        {"If", import_if, oldest_opset, newest_opset, Takes::sequences},
    };
    return rows;
}

}  // namespace mge::onnx
