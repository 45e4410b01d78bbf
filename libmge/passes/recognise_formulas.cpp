// SPDX-License-Identifier: Apache-2.0
// What exporters write out as a formula becomes the operator of that meaning, which other operators can take
// in and which has kernels of its own:
//
//     gelu        0.5 · x · (1 + erf(x / √2))
//     x · sigmoid 0.5 · x · (1 + tanh(√(2/π) (x + 0.044715 x³))), a GELU of fewer steps that way
//     silu        x · sigmoid(x)
//     hsigmoid    relu6(x + 3) / 6, or x / 6 + 0.5 between 0 and 1
//     hswish      x · hsigmoid(x)
//     softmax     exp(x − max x) / Σ exp(x − max x)
//     layer_norm  (x − mean x) / √(mean (x − mean x)² + ε), scaled and shifted
//
// Factors stand in any order, as quotients or products. Nobody else may read what lies within a formula: it
// would have to be computed all the same. Of f32 alone: each step of narrower floats rounds, which belongs to
// what a formula of theirs means.

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "libmge/device/device.h"
#include "libmge/graph/rewrite.h"
#include "libmge/ops/elementwise/activation.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/clip.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/elementwise/trigonometric.h"
#include "libmge/ops/nn/layer_norm.h"
#include "libmge/ops/nn/softmax.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

// What a formula is said by instead.
struct Meaning {
    const OpInfo* op = nullptr;
    std::shared_ptr<const void> params;
    std::vector<ValueId> inputs;
    // Makes one input more, from the first in the new graph.
    ValueId (*append_factor)(Graph& graph, ValueId x, DeviceId place) = nullptr;
};
template <class O>
Meaning meaning(const typename O::Params& params, std::vector<ValueId> inputs) {
    return {&O::info, std::make_shared<const typename O::Params>(params), std::move(inputs)};
}

// GELU by tanh has √(2/π) (x + 0.044715 x³) for an argument.
constexpr double tanh_factor = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
constexpr double cube_factor = 0.044715;

// With as many digits as people write.
bool is_near(double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b); }

// More operators than people write a formula's product with: from there on the rest is a value, so that no
// node of a long chain walks all of it.
constexpr int most_multiplications = 8;

struct Product {
    double factor = 1;
    std::vector<ValueId> values;
    int multiplications = 0;
};
struct Normalised {
    ValueId x = no_value;
    ops::LayerNorm::Params params;
};

// A walk from the last node of a formula to what it is about. It never turns back: a function that finds
// something else than it looks for ends the walk.
class Walk {
public:
    Walk(const Graph& graph, const std::vector<int>& uses, const Node& root)
        : graph_(graph), uses_(uses), root_(root) {}

    template <class O>
    bool is(ValueId value) const {
        NodeId id = value == no_value ? NodeId(-1) : graph_.value(value).producer;
        return id >= 0 && graph_.node(id).op == &O::info;
    }
    // The node that makes a value.
    const Node& enter(ValueId value) {
        ++reads_[value];
        return graph_.node(graph_.value(value).producer);
    }
    // Its only input, when the operator makes the value; else no_value.
    template <class O>
    ValueId behind(ValueId value) {
        return is<O>(value) ? enter(value).inputs[0] : no_value;
    }
    // Of a constant of one element.
    std::optional<double> number(ValueId value) const;
    bool is_number(ValueId value, double wanted) const;
    // Whether a value is the sum of something and that number.
    bool is_sum(ValueId value, double wanted) const;
    // x of x + wanted.
    ValueId behind_sum(ValueId value, double wanted);
    // Products and quotients by constants that nobody else reads, multiplied out.
    Product product_of(const Node& node);
    Product product_of(ValueId value);

    const Graph& graph() const { return graph_; }
    const Node& root() const { return root_; }
    // Nobody outside reads what was entered.
    bool is_closed() const {
        return std::ranges::all_of(reads_, [&](auto& read) {
            return read.first == root_.outputs[0] || uses_[size_t(read.first)] == read.second;
        });
    }
    void absorb(Rewrite& rewrite) const {
        for (auto& [value, count] : reads_)
            rewrite.absorb(graph_.value(value).producer, rewrite(root_.outputs[0]));
    }

private:
    void multiply(Product& product, const Node& node);
    void multiply(Product& product, ValueId value);

    const Graph& graph_;
    const std::vector<int>& uses_;
    const Node& root_;
    std::map<ValueId, int> reads_;
};

std::optional<double> Walk::number(ValueId value) const {
    Tensor t = constant_of(graph_, value);
    bool is_one = t && t.spec().numel() == 1 && t.dtype() == DType::f32;
    return is_one ? std::optional(double(*t.data<float>())) : std::nullopt;
}

bool Walk::is_number(ValueId value, double wanted) const {
    auto found = number(value);
    return found && is_near(*found, wanted);
}

bool Walk::is_sum(ValueId value, double wanted) const {
    if (!is<ops::Add>(value)) return false;
    auto& terms = graph_.node(graph_.value(value).producer).inputs;
    return is_number(terms[0], wanted) || is_number(terms[1], wanted);
}

ValueId Walk::behind_sum(ValueId value, double wanted) {
    if (!is<ops::Add>(value)) return no_value;
    auto& sum = enter(value);
    for (size_t side : {1, 0})
        if (is_number(sum.inputs[side], wanted)) return sum.inputs[1 - side];
    return no_value;
}

void Walk::multiply(Product& product, ValueId value) {
    if (auto factor = number(value))
        product.factor *= *factor;
    else if ((is<ops::Mul>(value) || is<ops::Div>(value)) && uses_[size_t(value)] == 1 &&
             product.multiplications < most_multiplications)
        multiply(product, enter(value));
    else
        product.values.push_back(value);
}

void Walk::multiply(Product& product, const Node& node) {
    ++product.multiplications;
    multiply(product, node.inputs[0]);
    if (node.op == &ops::Mul::info) return multiply(product, node.inputs[1]);
    auto divisor = number(node.inputs[1]);
    product.factor = divisor ? product.factor / *divisor : std::nan("");
}

Product Walk::product_of(const Node& node) {
    Product product;
    multiply(product, node);
    return product;
}

Product Walk::product_of(ValueId value) {
    Product product;
    multiply(product, value);
    return product;
}

// Whether a value is erf(x / √2).
bool is_error_function(Walk& walk, ValueId value, ValueId x) {
    ValueId argument = walk.behind<ops::Erf>(value);
    if (argument == no_value) return false;
    auto scaled = walk.product_of(argument);
    return scaled.values == std::vector{x} && is_near(scaled.factor, 1 / std::numbers::sqrt2);
}

// relu6(x + 3) / 6, where the factor of a sixth stands outside; or x / 6 + 0.5 between 0 and 1.
ValueId behind_hsigmoid(Walk& walk, ValueId value, double factor) {
    if (is_near(factor, 1. / 6) && walk.is<ops::Relu6>(value))
        return walk.behind_sum(walk.behind<ops::Relu6>(value), 3);
    if (!walk.is<ops::Clip>(value)) return no_value;
    auto& clip = walk.enter(value);
    auto& bounds = clip.as<ops::Clip::Params>();
    if (bounds.lower != 0) return no_value;
    if (bounds.upper == 6 && is_near(factor, 1. / 6)) return walk.behind_sum(clip.inputs[0], 3);
    if (bounds.upper != 1 || factor != 1) return no_value;
    ValueId line = walk.behind_sum(clip.inputs[0], 0.5);
    if (line == no_value) return no_value;
    auto scaled = walk.product_of(line);
    return scaled.values.size() == 1 && is_near(scaled.factor, 1. / 6) ? scaled.values[0] : no_value;
}

// Whether a value is 0.044715 times that power of x.
bool is_correction(Walk& walk, ValueId value, ValueId x, int power) {
    if (value == no_value) return false;
    auto product = walk.product_of(value);
    int found = 0;
    for (ValueId factor : product.values) {
        if (factor != x && walk.behind<ops::Square>(factor) != x) return false;
        found += factor == x ? 1 : 2;
    }
    return found == power && is_near(product.factor, cube_factor);
}

// √(2/π) · (x + 0.044715 x³) or √(2/π) · x · (1 + 0.044715 x²)
bool is_argument_of_tanh(Walk& walk, ValueId value, ValueId x) {
    if (value == no_value) return false;
    auto scaled = walk.product_of(value);
    if (!is_near(scaled.factor, tanh_factor)) return false;
    if (scaled.values.size() == 2) {
        size_t side = scaled.values[0] == x ? 1 : 0;
        return scaled.values[1 - side] == x &&
               is_correction(walk, walk.behind_sum(scaled.values[side], 1), x, 2);
    }
    if (scaled.values.size() != 1 || !walk.is<ops::Add>(scaled.values[0])) return false;
    auto& sum = walk.enter(scaled.values[0]);
    size_t side = sum.inputs[0] == x ? 1 : 0;
    return sum.inputs[1 - side] == x && is_correction(walk, sum.inputs[side], x, 3);
}

template <class O>
ValueId append(Graph& graph, std::vector<ValueId> inputs, DeviceId place) {
    NodeId id = graph.add_node(O::info, std::make_shared<const typename O::Params>(), std::move(inputs), {},
                               nullptr, &place);
    return graph.node(id).outputs[0];
}

// sigmoid(x (a + b x²)) in the place of (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2
ValueId append_gate(Graph& graph, ValueId x, DeviceId place) {
    auto number = [&](double value) {
        const auto narrow = float(value);
        return graph.add_constant(tensor_from_host({DType::f32, {}, {}}, &narrow, host_device), {}, place);
    };
    ValueId square = append<ops::Square>(graph, {x}, place);
    ValueId quadratic = append<ops::Mul>(graph, {square, number(2 * tanh_factor * cube_factor)}, place);
    ValueId slope = append<ops::Add>(graph, {quadratic, number(2 * tanh_factor)}, place);
    return append<ops::Sigmoid>(graph, {append<ops::Mul>(graph, {x, slope}, place)}, place);
}

Meaning as_gelu(Walk& walk, ValueId gate, ValueId x) {
    ValueId function = walk.behind_sum(gate, 1);
    if (walk.is<ops::Tanh>(function)) {
        if (!is_argument_of_tanh(walk, walk.behind<ops::Tanh>(function), x)) return {};
        auto product = meaning<ops::Mul>({}, {x});
        product.append_factor = append_gate;
        return product;
    }
    return is_error_function(walk, function, x) ? meaning<ops::Gelu>({}, {x}) : Meaning{};
}

Meaning gated(Walk& walk) {
    auto product = walk.product_of(walk.root());
    if (product.values.size() != 2) return {};
    for (size_t side : {0, 1}) {
        ValueId x = product.values[side], gate = product.values[1 - side];
        if (walk.is_sum(gate, 1) && is_near(product.factor, 0.5)) return as_gelu(walk, gate, x);
        if (walk.is<ops::Sigmoid>(gate) && product.factor == 1)
            return walk.behind<ops::Sigmoid>(gate) == x ? meaning<ops::Silu>({}, {x}) : Meaning{};
        if (walk.is<ops::Relu6>(gate) || walk.is<ops::Clip>(gate))
            return behind_hsigmoid(walk, gate, product.factor) == x ? meaning<ops::Hswish>({}, {x})
                                                                    : Meaning{};
    }
    return {};
}

Meaning as_hsigmoid(Walk& walk) {
    auto& root = walk.root();
    Product product{1, {root.outputs[0]}};
    if (root.op != &ops::Clip::info) product = walk.product_of(root);
    if (product.values.size() != 1) return {};
    ValueId x = behind_hsigmoid(walk, product.values[0], product.factor);
    return x == no_value ? Meaning{} : meaning<ops::Hsigmoid>({}, {x});
}

// The axes of a reduction that keeps them, in rising order; empty: it is another.
IntList kept_axes(const Graph& graph, const Node& node) {
    auto& params = node.as<ops::ReduceParams>();
    auto& shape = graph.value(node.inputs[0]).spec.shape;
    if (!params.keepdims || !shape.is_known()) return {};
    auto reduced = ops::reduced_axes(node.op->name, params.axes, shape.rank());
    IntList axes;
    for (int i = 0; i < shape.rank(); ++i)
        if (reduced[size_t(i)]) axes.push_back(i);
    return axes;
}

Meaning as_softmax(Walk& walk) {
    auto& root = walk.root();
    if (!walk.is<ops::Exp>(root.inputs[0]) || !walk.is<ops::Sum>(root.inputs[1])) return {};
    ValueId powers = root.inputs[0];
    auto& sum = walk.enter(root.inputs[1]);
    ValueId difference = walk.behind<ops::Exp>(powers);
    if (sum.inputs[0] != powers || !walk.is<ops::Sub>(difference)) return {};
    walk.enter(powers);  // which the sum reads, too
    auto& sub = walk.enter(difference);
    if (!walk.is<ops::Max>(sub.inputs[1])) return {};
    auto& max = walk.enter(sub.inputs[1]);
    auto axes = kept_axes(walk.graph(), sum);
    bool fits = max.inputs[0] == sub.inputs[0] && axes.size() == 1 && axes == kept_axes(walk.graph(), max);
    return fits ? meaning<ops::Softmax>({.axis = int(axes[0])}, {sub.inputs[0]}) : Meaning{};
}

// x of x², which reads it once or twice.
ValueId behind_square(Walk& walk, ValueId value) {
    if (walk.is<ops::Square>(value)) return walk.behind<ops::Square>(value);
    if (!walk.is<ops::Mul>(value)) return no_value;
    auto& node = walk.enter(value);
    if (node.inputs[0] != node.inputs[1]) return no_value;
    walk.enter(node.inputs[0]);  // twice, by the product
    return node.inputs[0];
}

// The difference from the mean, given that and what it is divided by.
Normalised normalised_of(Walk& walk, ValueId difference, ValueId deviation) {
    ValueId sum = walk.behind<ops::Sqrt>(deviation);
    if (!walk.is<ops::Add>(sum) || !walk.is<ops::Sub>(difference)) return {};
    auto& variance_and_epsilon = walk.enter(sum);
    size_t side = walk.number(variance_and_epsilon.inputs[1]) ? 1 : 0;
    auto epsilon = walk.number(variance_and_epsilon.inputs[side]);
    ValueId variance = variance_and_epsilon.inputs[1 - side];
    if (!epsilon || !walk.is<ops::Mean>(variance)) return {};
    auto& mean_of_squares = walk.enter(variance);
    if (behind_square(walk, mean_of_squares.inputs[0]) != difference) return {};
    walk.enter(difference);  // read by the square and by the quotient
    auto& sub = walk.enter(difference);
    if (!walk.is<ops::Mean>(sub.inputs[1])) return {};
    auto& mean = walk.enter(sub.inputs[1]);
    auto axes = kept_axes(walk.graph(), mean);
    int rank = walk.graph().value(sub.inputs[0]).spec.shape.rank();
    bool are_trailing = !axes.empty() && axes[0] == rank - int64_t(axes.size());
    if (mean.inputs[0] != sub.inputs[0] || !are_trailing || axes != kept_axes(walk.graph(), mean_of_squares))
        return {};
    return {sub.inputs[0], {.axes = int(axes.size()), .epsilon = *epsilon}};
}

Normalised normalised_by(Walk& walk, const Node& node) {
    if (node.op == &ops::Div::info) return normalised_of(walk, node.inputs[0], node.inputs[1]);
    for (size_t side : {1, 0})
        if (walk.is<ops::Reciprocal>(node.inputs[side]))
            return normalised_of(walk, node.inputs[1 - side],
                                 walk.behind<ops::Reciprocal>(node.inputs[side]));
    return {};
}

// The operand that has one element for each of those that are normalised together, and the other.
struct Factor {
    ValueId other = no_value, factor = no_value;
};
Factor factor_of(const Graph& graph, const Node& node) {
    for (size_t side : {1, 0}) {
        Factor found{node.inputs[1 - side], node.inputs[side]};
        auto &x = graph.value(found.other).spec, &factor = graph.value(found.factor).spec;
        bool fits = x.shape.is_known() && factor.shape.is_known() && factor.shape.rank() >= 1 &&
                    factor.shape.rank() < x.shape.rank() && factor.dtype == x.dtype &&
                    std::ranges::equal(factor.shape, x.shape.dims().last(size_t(factor.shape.rank())));
        if (fits) return found;
    }
    return {};
}

Meaning as_layer_norm(Walk& walk) {
    const Node* node = &walk.root();
    ValueId weight = no_value, bias = no_value;
    if (node->op == &ops::Add::info) {
        auto [other, factor] = factor_of(walk.graph(), *node);
        if (!walk.is<ops::Mul>(other)) return {};
        bias = factor;
        node = &walk.enter(other);
    }
    bool is_scaled = node->op == &ops::Mul::info && !walk.is<ops::Reciprocal>(node->inputs[0]) &&
                     !walk.is<ops::Reciprocal>(node->inputs[1]);
    if (is_scaled) {
        auto [other, factor] = factor_of(walk.graph(), *node);
        if (!walk.is<ops::Div>(other) && !walk.is<ops::Mul>(other)) return {};
        weight = factor;
        node = &walk.enter(other);
    }
    auto [x, params] = normalised_by(walk, *node);
    if (x == no_value) return {};
    for (ValueId factor : {weight, bias})
        if (factor != no_value && walk.graph().value(factor).spec.shape.rank() != params.axes) return {};
    std::vector<ValueId> inputs{x};
    if (is_scaled || bias != no_value) inputs.push_back(weight);
    if (bias != no_value) inputs.push_back(bias);
    return meaning<ops::LayerNorm>(params, std::move(inputs));
}

struct Formula {
    const OpInfo* root;
    Meaning (*recognise)(Walk& walk);
};
// The first that fits.
const Formula formulas[] = {
    {&ops::Add::info, as_layer_norm}, {&ops::Clip::info, as_hsigmoid}, {&ops::Div::info, gated},
    {&ops::Div::info, as_hsigmoid},   {&ops::Div::info, as_softmax},   {&ops::Div::info, as_layer_norm},
    {&ops::Mul::info, gated},         {&ops::Mul::info, as_hsigmoid},  {&ops::Mul::info, as_layer_norm},
};

bool is_root(const Node& node) {
    return std::ranges::find(formulas, node.op, &Formula::root) != std::end(formulas);
}

bool may_be_read(const Graph& graph, const Node& node) {
    auto known = [&](ValueId id) { return id != no_value && graph.value(id).spec.shape.is_known(); };
    return node.outputs.size() == 1 && std::ranges::all_of(node.inputs, known) && known(node.outputs[0]) &&
           graph.value(node.outputs[0]).spec.dtype == DType::f32;
}

bool rewrite_formula(Rewrite& rewrite, NodeId id, const std::vector<int>& uses) {
    auto& graph = rewrite.source();
    auto& node = graph.node(id);
    if (!may_be_read(graph, node)) return false;
    for (auto& formula : formulas) {
        if (formula.root != node.op) continue;
        Walk walk(graph, uses, node);
        Meaning found = formula.recognise(walk);
        // What a constant of more axes has widened is no such operator's result.
        if (!found.op || !walk.is_closed()) continue;
        if (!(graph.value(found.inputs[0]).spec == graph.value(node.outputs[0]).spec)) continue;
        auto inputs = rewrite(found.inputs);
        if (found.append_factor)
            inputs.push_back(found.append_factor(rewrite.target(), inputs[0], graph.place(node)));
        rewrite.emit(id, *found.op, found.params, std::move(inputs), node.name);
        walk.absorb(rewrite);
        return true;
    }
    return false;
}

}  // namespace

Graph recognise_formulas(Graph graph, const PassOptions& options) {
    if (std::ranges::none_of(graph.nodes(), is_root)) return remove_dead_nodes(std::move(graph), options);
    auto uses = graph.use_counts();
    Rewrite rewrite(graph);
    for (size_t i = 0; i < graph.nodes().size(); ++i)
        if (!rewrite_formula(rewrite, NodeId(i), uses)) rewrite.copy(NodeId(i));
    return remove_dead_nodes(rewrite.finish(), options);
}

}  // namespace mge
