// SPDX-License-Identifier: Apache-2.0
// An element-wise function of one tensor of bytes whose result is byte steps has 256 values. They are
// computed at compile time, by the operators themselves, and looked up at run time:
//
//     quantize(gelu(dequantize(x))) => map_bytes(x, table)
//     quantize(dequantize(x))       => x, if the table is the identity
//
// All numbers beside x have to be constants of one element. The real number that is quantised must have no
// other reader: it would have to be computed all the same.
//
// The pass is not a table of rules (graph/match.h), because each value carries its 256 results to the next
// operator.

#include <cstring>

#include "libmge/device/device.h"
#include "libmge/graph/rewrite.h"
#include "libmge/op/apply.h"
#include "libmge/ops/quantize/map_bytes.h"
#include "libmge/ops/quantize/quantisation.h"
#include "libmge/ops/quantize/quantize.h"
#include "libmge/passes/pass.h"
#include "libmge/passes/region.h"

namespace mge {
namespace {

// In the order of their bits.
Tensor all_bytes(DType dtype) {
    Tensor all = empty_tensor({dtype, Shape{256}, {}}, host_device);
    for (int i = 0; i < 256; ++i) static_cast<uint8_t*>(all.data())[i] = uint8_t(i);
    return all;
}

bool is_itself(const Tensor& values, DType dtype) {
    return values.dtype() == dtype && std::memcmp(values.data(), all_bytes(dtype).data(), 256) == 0;
}

// The tensor of bytes of which a value is a function, and the result for each byte.
struct Function {
    ValueId of = no_value;
    Tensor values;
};

class Tabulator {
public:
    explicit Tabulator(const Graph& graph)
        : graph_(graph), rewrite_(graph), uses_(graph.use_counts()), functions_(graph.values().size()) {}

    Graph run() && {
        for (size_t i = 0; i < graph_.nodes().size(); ++i) {
            find_function(graph_.node(NodeId(i)));
            if (!tabulate(NodeId(i))) rewrite_.copy(NodeId(i));
        }
        return rewrite_.finish();
    }

private:
    const Function& function_of(ValueId id);
    void find_function(const Node& node);
    bool tabulate(NodeId id);

    const Graph& graph_;
    Rewrite rewrite_;
    std::vector<int> uses_;
    std::vector<Function> functions_;  // by value
};

// A tensor of bytes is a function of itself if it is not one of another.
const Function& Tabulator::function_of(ValueId id) {
    auto& function = functions_[size_t(id)];
    auto& value = graph_.value(id);
    if (function.of == no_value && ops::is_byte(value.spec.dtype) && !value.is_constant())
        function = {id, all_bytes(value.spec.dtype)};
    return function;
}

bool is_by_element(const Node& node) {
    bool is_plain = !node.op->traits.once && !node.op->traits.effect && !node.op->place;
    return is_plain && node.outputs.size() == 1 &&
           (node.op->traits.elementwise || node.op == &ops::Dequantize::info ||
            node.op == &ops::Quantize::info || node.op == &ops::MapBytes::info);
}

void Tabulator::find_function(const Node& node) {
    if (!is_by_element(node)) return;
    ValueId of = no_value;
    Tensors inputs;
    for (ValueId id : node.inputs) {
        if (id == no_value) {
            inputs.emplace_back();
        } else if (auto& value = graph_.value(id); value.is_constant()) {
            bool is_table = node.op == &ops::MapBytes::info;
            if (!is_table && value.spec.numel() != 1) return;
            inputs.push_back(is_table ? value.constant : value.constant.with_shape({1}));
        } else {
            auto& function = function_of(id);
            if (function.of == no_value || (of != no_value && function.of != of)) return;
            of = function.of;
            inputs.push_back(function.values);
        }
    }
    if (of == no_value) return;
    // A constant of more axes makes another shape.
    auto &from = graph_.value(of).spec.shape, &to = graph_.value(node.outputs[0]).spec.shape;
    if (!from.is_known() || !(from == to)) return;
    Tensor values = eager_interpreter().apply(*node.op, node.params.get(), inputs)[0];
    functions_[size_t(node.outputs[0])] = {of, to_host(values)};
}

bool Tabulator::tabulate(NodeId id) {
    auto& node = graph_.node(id);
    if (node.op != &ops::Quantize::info || uses_[size_t(node.inputs[0])] != 1) return false;
    auto& function = functions_[size_t(node.outputs[0])];
    if (function.of == no_value || !ops::is_byte(function.values.dtype())) return false;
    if (is_itself(function.values, graph_.value(function.of).spec.dtype)) {
        rewrite_.replace(node.outputs[0], rewrite_(function.of));
        return true;
    }
    ValueId table = rewrite_.target().add_constant(function.values, {}, graph_.place(node));
    rewrite_.emit(id, ops::MapBytes::info, std::make_shared<const ops::MapBytes::Params>(),
                  {rewrite_(function.of), table}, node.name);
    // The nodes in between, as far as their results have no other readers.
    auto is_inner = [&](ValueId value, int readings) {
        return value != function.of && uses_[size_t(value)] == readings;
    };
    for (NodeId inner : grow_region(graph_, node.outputs[0], is_inner))
        rewrite_.absorb(inner, rewrite_(node.outputs[0]));
    return true;
}

}  // namespace

Graph tabulate_bytes(Graph graph, const PassOptions& options) {
    if (!has_operator(graph, {&ops::Quantize::info})) return remove_dead_nodes(std::move(graph), options);
    return remove_dead_nodes(Tabulator(graph).run(), options);
}

}  // namespace mge
