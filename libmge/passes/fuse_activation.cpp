// SPDX-License-Identifier: Apache-2.0
// relu(conv(x, w, b)) => conv(x, w, b; activation = relu), and the same for every activation that the
// operator supports under the name of the elementwise operator.

#include "libmge/passes/epilogue.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

// The name of the activation that is equivalent to the elementwise operator, including NaN.
std::string activation_name(const Node& node) {
    bool keeps_nan = find_param(node, "keeps_nan") == ParamValue(true);
    return text(node.op->name, keeps_nan ? "_keeps_nan" : "");
}

// Null if the producer has no such activation.
std::shared_ptr<const void> with_activation(const Node& producer, const Node& node) {
    try {
        return with_param(*producer.op, producer.params.get(), "activation", activation_name(node));
    } catch (const UserError&) {
        return nullptr;
    }
}

bool is_activation(const match::Match& m, const Node& node) {
    // Epilogues compute in f32.
    return node.op->traits.elementwise && node.inputs.size() == 1 &&
           m.spec(node.inputs[0]).dtype != DType::f64;
}

std::optional<match::New> with_own_activation(const match::Match& m, const PassOptions& options) {
    auto& producer = m.node("producer");
    // The activation behind a residual belongs to it.
    auto& wanted = named_input(producer, "residual") == no_value ? options.switches.fuse_bias
                                                                 : options.switches.fuse_residual;
    if (!may_fuse(producer, wanted, "fuse_activation", options)) return std::nullopt;
    auto params = with_activation(producer, m.root());
    return params ? std::optional(fused(producer, std::move(params))) : std::nullopt;
}

}  // namespace

Graph fuse_activation(Graph graph, const PassOptions& options) {
    static const match::Table<PassOptions> rules{
        {match::node(is_activation, {fusable("producer")}), with_own_activation}};
    return match::replace_matches(std::move(graph), rules, options);
}

}  // namespace mge
