// SPDX-License-Identifier: Apache-2.0
// Recurrent layers: the contributions of the inputs are one product for all steps, those of the state are
// computed step by step.

#include <algorithm>
#include <functional>
#include <limits>

#include "libmge/graph/inner_graph.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/op/apply.h"
#include "libmge/ops/control/scan.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/activation.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/clip.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/elementwise/trigonometric.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

using Activate = std::function<Tensor(const Tensor&)>;

// An activation with its default parameters.
struct NamedFunction {
    std::string_view name;
    Tensor (*apply)(const Tensor& x, double alpha, double beta);
    double alpha = 0, beta = 0;
    bool takes_alpha = false, takes_beta = false;
};

Tensor line(const Tensor& x, double alpha, double beta) {
    return ops::add(ops::mul(x, number(x, alpha)), number(x, beta));
}

constexpr NamedFunction named_functions[] = {
    {"Sigmoid", [](auto& x, double, double) -> Tensor { return ops::sigmoid(x); }},
    {"Tanh", [](auto& x, double, double) -> Tensor { return ops::tanh(x); }},
    {"Relu", [](auto& x, double, double) -> Tensor { return rectified(x); }},
    {"Softplus", [](auto& x, double, double) -> Tensor { return ops::softplus(x); }},
    {"Softsign",
     [](auto& x, double, double) -> Tensor { return ops::div(x, ops::add(ops::abs(x), number(x, 1))); }},
    {"Affine", line, 1, 0, true, true},
    {"HardSigmoid",
     [](auto& x, double alpha, double beta) -> Tensor { return clipped(line(x, alpha, beta), 0, 1); },
     double(0.2F), 0.5, true, true},
    {"ScaledTanh",
     [](auto& x, double alpha, double beta) -> Tensor {
         return ops::mul(ops::tanh(ops::mul(x, number(x, beta))), number(x, alpha));
     },
     1, 1, true, true},
    {"LeakyRelu", [](auto& x, double alpha, double) -> Tensor { return ops::leaky_relu(x, {alpha}); },
     double(0.01F), 0, true},
    {"ThresholdedRelu",
     [](auto& x, double alpha, double) -> Tensor {
         return ops::where(ops::greater_equal(x, number(x, alpha)), x, number(x, 0));
     },
     1, 0, true},
    {"Elu",
     [](auto& x, double alpha, double) -> Tensor {
         Tensor below = ops::mul(ops::expm1(ops::minimum(x, number(x, 0))), number(x, alpha));
         return ops::where(ops::less(x, number(x, 0)), below, x);
     },
     1, 0, true},
};

const NamedFunction& function_called(std::string_view name) {
    auto found = std::ranges::find(named_functions, name, &NamedFunction::name);
    if (found == std::end(named_functions)) unsupported("the activation '", name, "'");
    return *found;
}

// One direction after the other. Functions with parameters read them from two lists in turn.
std::vector<Activate> activations_of(const Site& site, const std::vector<std::string>& usual,
                                     size_t directions) {
    auto names = site.attributes.words("activations");
    auto alphas = site.attributes.numbers("activation_alpha").value_or(FloatList()),
         betas = site.attributes.numbers("activation_beta").value_or(FloatList());
    size_t next_alpha = 0, next_beta = 0;
    auto taken = [](const FloatList& numbers, size_t& next, double otherwise) {
        return next < numbers.size() ? numbers[next++] : otherwise;
    };
    std::vector<Activate> activations;
    for (size_t i = 0; i < directions * usual.size(); ++i) {
        auto& function = function_called(i < names.size() ? names[i] : usual[i % usual.size()]);
        double alpha = function.takes_alpha ? taken(alphas, next_alpha, function.alpha) : 0;
        double beta = function.takes_beta ? taken(betas, next_beta, function.beta) : 0;
        activations.push_back(
            [apply = function.apply, alpha, beta](const Tensor& x) { return apply(x, alpha, beta); });
    }
    return activations;
}

// The state after a step; c is null for layers without.
struct State {
    Tensor h, c;
};

// One direction of a layer. The gates' parts of `from_input` and the weights are concatenated.
struct Direction {
    Tensor recurrence;              // (gates * hidden, hidden)
    Tensor input_bias, state_bias;  // (gates * hidden); null: absent
    Tensor peepholes;               // (3 * hidden); null: absent
    std::vector<Activate> activations;
    int64_t hidden = 0;
    bool is_linear_before_reset = false, couples_gates = false;
    double most = infinite;  // that goes into a function for a gate or a candidate, on both sides of 0
    Tensor activated(size_t i, const Tensor& x) const {
        return activations[i](most < infinite ? clipped(x, -most, most) : x);
    }
    Tensor part(const Tensor& x, int64_t i) const {
        return cut(x, rank_of(x) - 1, i * hidden, (i + 1) * hidden);
    }
    Tensor rows(const Tensor& weight, int64_t begin, int64_t end) const {
        return cut(weight, 0, begin * hidden, end * hidden);
    }
};
// Contributions of the inputs to a step, (batch, gates * hidden), and the previous state.
using Step = State (*)(const Direction& d, const Tensor& from_input, const State& state);

Tensor product(const Tensor& x, const Tensor& weight) {
    return ops::matmul(x, weight, {.transpose_b = true});
}
Tensor plus(const Tensor& x, const Tensor& bias) { return bias ? ops::add(x, bias) : x; }

// h = f(x W + h R)
State rnn_step(const Direction& d, const Tensor& from_input, const State& state) {
    return {d.activated(0, ops::add(from_input, plus(product(state.h, d.recurrence), d.state_bias))), {}};
}

// Gates: input, output, forget, cell.
State lstm_step(const Direction& d, const Tensor& from_input, const State& state) {
    Tensor sum = ops::add(from_input, plus(product(state.h, d.recurrence), d.state_bias));
    auto gate = [&](int64_t i, int64_t peephole, const Tensor& c) {
        Tensor x = d.part(sum, i);
        return d.peepholes ? ops::add(x, ops::mul(d.part(d.peepholes, peephole), c)) : x;
    };
    Tensor input = d.activated(0, gate(0, 0, state.c));
    Tensor forget =
        d.couples_gates ? Tensor(ops::sub(number(input, 1), input)) : d.activated(0, gate(2, 2, state.c));
    Tensor candidate = d.activated(1, d.part(sum, 3));
    Tensor c = ops::add(ops::mul(forget, state.c), ops::mul(input, candidate));
    Tensor output = d.activated(0, gate(1, 1, c));
    return {ops::mul(output, d.activations[2](c)), c};
}

// Gates: update, reset, candidate.
State gru_step(const Direction& d, const Tensor& from_input, const State& state) {
    auto bias = [&](int64_t begin, int64_t end) {
        return d.state_bias ? d.rows(d.state_bias, begin, end) : Tensor();
    };
    auto from_state = [&](const Tensor& h, int64_t begin, int64_t end) {
        return plus(product(h, d.rows(d.recurrence, begin, end)), bias(begin, end));
    };
    Tensor gates = from_state(state.h, 0, 2);
    Tensor update = d.activated(0, ops::add(d.part(from_input, 0), d.part(gates, 0)));
    Tensor reset = d.activated(0, ops::add(d.part(from_input, 1), d.part(gates, 1)));
    Tensor memory = d.is_linear_before_reset ? ops::mul(reset, from_state(state.h, 2, 3))
                                             : from_state(ops::mul(reset, state.h), 2, 3);
    Tensor candidate = d.activated(1, ops::add(d.part(from_input, 2), memory));
    // (1 - z) candidate + z h
    return {ops::add(candidate, ops::mul(update, ops::sub(state.h, candidate))), {}};
}

struct Kind {
    int64_t gates;
    Step step;
    std::vector<std::string> activations;
    bool has_cell = false;
};

// All h in the order of the sequence, (steps, batch, hidden), and the last state.
struct Walk {
    Tensor all;
    State last;
};

// `lengths`: sequences that are shorter keep their state, and give zeros, from their end on.
Walk walked(const Direction& d, Step step, const Tensor& from_input, const State& start,
            const Tensor& lengths, bool from_end) {
    Tensors carried{start.h}, sliced{from_input};
    if (start.c) carried.push_back(start.c);
    if (lengths) sliced.push_back(count_up(extent_of(from_input, 0), lengths.dtype()));
    TensorSpecs specs = specs_of(carried);
    for (auto& x : sliced) {
        TensorSpec spec = x.spec();
        if (!spec.shape.is_known()) unsupported("a sequence whose shape is known only at run time");
        if (!spec.shape.rank()) invalid("its sequence is a scalar");
        spec.shape.erase(0);
        specs.push_back(spec);
    }
    Tensors captured;
    auto body = capture_subgraph(specs, captured, [&](std::span<const Tensor> in) -> Tensors {
        State before{in[0], start.c ? in[1] : Tensor()};
        State after = step(d, in[carried.size()], before);
        Tensor result = after.h;
        if (lengths) {
            Tensor is_inside = ops::add_axis(ops::less(in[carried.size() + 1], lengths), {.axes = {1}});
            result = ops::where(is_inside, after.h, number(after.h, 0));
            after.h = ops::where(is_inside, after.h, before.h);
            if (after.c) after.c = ops::where(is_inside, after.c, before.c);
        }
        return after.c ? Tensors{after.h, after.c, result} : Tensors{after.h, result};
    });
    Tensors operands = carried;
    operands.insert(operands.end(), sliced.begin(), sliced.end());
    operands.insert(operands.end(), captured.begin(), captured.end());
    Tensors results = ops::scan(TensorList(operands), {.body = body,
                                                       .carried = int64_t(carried.size()),
                                                       .sliced = int64_t(sliced.size()),
                                                       .reverse = from_end});
    return {results.back(), {results[0], start.c ? results[1] : Tensor()}};
}

Direction direction_of(const Site& site, const Kind& kind, int64_t hidden, int64_t i,
                       std::span<const Activate> activations) {
    size_t count = kind.activations.size();
    auto first = activations.begin() + ptrdiff_t(size_t(i) * count);
    std::vector<Activate> own(first, first + ptrdiff_t(count));
    Direction d{.recurrence = element(site.in(2), 0, i), .activations = std::move(own), .hidden = hidden};
    int64_t rows = kind.gates * hidden;
    if (site.has(3)) {
        Tensor biases = element(site.in(3), 0, i);
        d.input_bias = cut(biases, 0, 0, rows);
        d.state_bias = cut(biases, 0, rows, 2 * rows);
    }
    if (site.has(7)) d.peepholes = element(site.in(7), 0, i);
    d.is_linear_before_reset = site.attributes.integer("linear_before_reset", 0);
    d.couples_gates = site.attributes.integer("input_forget", 0);
    d.most = site.attributes.number("clip", infinite);
    if (!(d.most > 0)) invalid("its clip is ", d.most, ", expected a number above 0");
    return d;
}

Tensors layer(const Site& site, const Kind& kind) {
    bool is_batch_first = site.attributes.integer("layout", 0);
    site.attributes.integer("output_sequence", 0);
    std::string how = site.attributes.word("direction", "forward");
    bool is_known = how == "forward" || how == "reverse" || how == "bidirectional";
    if (!is_known) invalid("its direction is '", how, "', expected forward, reverse or bidirectional");
    int64_t directions = how == "bidirectional" ? 2 : 1;
    // The batch is the first axis of everything, or the second.
    auto turned = [&](const Tensor& t) { return is_batch_first ? moved_axis(t, 0, 1) : t; };
    Tensor x = turned(site.in(0)), lengths = site.optional(4);
    auto weight = find_shape(site.in(2));
    if (!weight || weight->rank() != 3 || (*weight)[0] != directions)
        invalid("its weights have shape ", site.in(2).shape());
    int64_t hidden = site.attributes.integer("hidden_size", (*weight)[2]);
    if (hidden != (*weight)[2]) invalid("its hidden_size is ", hidden, ", its weights have shape ", *weight);
    Tensor zeros = ops::full(target_of({extent_of(x, 1), hidden}), {.dtype = x.dtype()});
    auto activations = activations_of(site, kind.activations, size_t(directions));
    Tensors all, last_h, last_c;
    for (int64_t i = 0; i < directions; ++i) {
        Direction d = direction_of(site, kind, hidden, i, activations);
        Tensor from_input = plus(product(x, element(site.in(1), 0, i)), d.input_bias);
        State start{site.has(5) ? element(turned(site.in(5)), 0, i) : zeros, {}};
        if (kind.has_cell) start.c = site.has(6) ? element(turned(site.in(6)), 0, i) : zeros;
        bool is_reverse = i == 1 || how == "reverse";
        // Backwards, each sequence begins at its own end.
        auto turned_back = [&](const Tensor& t) {
            return is_reverse && lengths ? reversed_sequences(t, 1, lengths) : t;
        };
        Walk walk = walked(d, kind.step, turned_back(from_input), start, lengths, is_reverse && !lengths);
        all.push_back(ops::add_axis(turned_back(walk.all), {.axes = {1}}));
        last_h.push_back(ops::add_axis(walk.last.h, {.axes = {0}}));
        if (kind.has_cell) last_c.push_back(ops::add_axis(walk.last.c, {.axes = {0}}));
    }
    // (steps, directions, batch, hidden), or (batch, steps, directions, hidden)
    Tensor sequence = ops::concat(TensorList(all), {.axis = 1});
    if (is_batch_first) sequence = moved_axis(sequence, 2, 0);
    Tensors results{sequence, turned(ops::concat(TensorList(last_h), {.axis = 0}))};
    if (kind.has_cell) results.push_back(turned(ops::concat(TensorList(last_c), {.axis = 0})));
    return results;
}

Tensors import_rnn(const Site& site) { return layer(site, {1, rnn_step, {"Tanh"}}); }
Tensors import_gru(const Site& site) { return layer(site, {3, gru_step, {"Sigmoid", "Tanh"}}); }

}  // namespace

Tensors import_lstm(const Site& site) {
    return layer(site, {4, lstm_step, {"Sigmoid", "Tanh", "Tanh"}, true});
}

ImportRows recurrent_rows() {
    static constexpr ImportRow rows[] = {
        {"GRU", import_gru, 7},
        {"LSTM", import_lstm, 7},
        {"RNN", import_rnn, 7},
    };
    return rows;
}

}  // namespace mge::onnx
