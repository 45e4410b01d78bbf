// SPDX-License-Identifier: Apache-2.0
// conv(x, w, b) + r => conv(x, w, b, residual = r) for r of the same shape. The kernels add in place, so the
// memory plan lets the result reuse the residual's buffer. If both operands are convolutions (the
// downsampling block of a residual network) the later one fuses the other's result.

#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/passes/epilogue.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

bool takes_residual(const Node& node) {
    return input_position(*node.op, "residual") && named_input(node, "residual") == no_value;
}

std::optional<match::New> with_residual(const match::Match& m, const FusionContext& context) {
    auto& producer = m.node("producer");
    auto& options = context.options;
    bool may = takes_residual(producer) && m.spec("residual") == m.result() &&
               may_fuse(producer, options.switches.fuse_residual, "fuse_residual", options) &&
               // At another shape one of them might have to be broadcast.
               context.shapes.is_same_shape(m["residual"], m["producer"]);
    return may ? std::optional(fused(producer, {{"residual", m["residual"]}})) : std::nullopt;
}
std::optional<match::New> with_earlier_residual(const match::Match& m, const FusionContext& context) {
    return m.computed_at("producer") > m.computed_at("residual") ? with_residual(m, context) : std::nullopt;
}

}  // namespace

Graph fuse_residual(Graph graph, const PassOptions& options) {
    static const match::Table<FusionContext> rules{
        {match::either_order<ops::Add>(fusable("producer"), match::shared(fusable("residual"))),
         with_earlier_residual},
        {match::either_order<ops::Add>(fusable("producer"), match::any("residual")), with_residual}};
    const FusionContext context{options, {graph, options}};
    return match::replace_matches(std::move(graph), rules, context);
}

}  // namespace mge
