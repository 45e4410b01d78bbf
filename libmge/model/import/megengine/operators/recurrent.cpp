// SPDX-License-Identifier: Apache-2.0
// Recurrent cells, and whole layers unrolled to steps: the number of steps is that of the dump, and a run may
// only change the batch size.

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/model/import/megengine/operators/flat_weights.h"
#include "libmge/model/import/megengine/operators/recurrence.h"
#include "libmge/ops/elementwise/activation.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/trigonometric.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"

namespace mge::megengine {
namespace {

using ops::absent_bound;
// Limit of a layer's steps over all directions; a larger graph would take longer to compile than to run.
constexpr int64_t most_steps = 4096;

Tensor element(const Tensor& x, int64_t i) { return ops::slice({x}, {.items = {0, i, i, 1, 1}}); }

struct LayerShape {
    int64_t layers, directions, hidden, chunks;
    bool has_bias;
};

struct Weights {
    Tensor ih, hh, bias_ih, bias_hh;
};

// One step of one cell; `c` is null for cells without it.
using Step = LstmState (*)(const Site& site, const Tensor& sum, const Tensor& c, int64_t hidden);

struct Layers {
    Tensor y, h, c;
};

std::vector<Weights> cut_weights(const Site& site, const Tensor& flat, const LayerShape& layer,
                                 int64_t input) {
    FlatWeights weights(site, flat);
    int64_t rows = layer.chunks * layer.hidden;
    std::vector<Weights> cells;
    for (int64_t i = 0; i < layer.layers * layer.directions; ++i) {
        int64_t columns = i < layer.directions ? input : layer.directions * layer.hidden;
        Weights w{weights.matrix(rows, columns), weights.matrix(rows, layer.hidden), {}, {}};
        if (layer.has_bias) {
            w.bias_ih = weights.row(rows);
            w.bias_hh = weights.row(rows);
        }
        cells.push_back(w);
    }
    weights.finish();
    return cells;
}

// One cell over the whole sequence, from its end for the second direction: all h in the order of the
// sequence, and the last state.
struct Pass {
    Tensors h;
    LstmState last;
};
Pass run_cell(const Site& site, const Tensors& sequence, const Weights& w, LstmState state, bool is_backward,
              Step step) {
    Pass pass{Tensors(sequence.size()), {}};
    int64_t hidden = w.hh.shape()[1];
    for (size_t i = 0; i < sequence.size(); ++i) {
        size_t t = is_backward ? sequence.size() - 1 - i : i;
        Tensor sum = ops::add(linear(sequence[t], w.ih, w.bias_ih), linear(state.h, w.hh, w.bias_hh));
        state = step(site, sum, state.c, hidden);
        pass.h[t] = state.h;
    }
    pass.last = state;
    return pass;
}

Tensor with_step_axis(const Tensor& x) { return ops::add_axis(x, {.axes = {0}}); }

// (steps, batch, width); a number of steps that differs from the dump's does not fit the shape.
Tensor stacked(const Tensors& sequence, const Tensor& x, int64_t width) {
    Tensors steps;
    for (auto& h : sequence) steps.push_back(with_step_axis(h));
    std::vector<int32_t> last{int32_t(width)};
    Tensor target = ops::concat({ops::shape_of(x, {.axis = 0}), ops::shape_of(x, {.axis = 1}),
                                 tensor_from_host({DType::i32, {1}, {}}, last.data(), host_device)});
    return ops::reshape(ops::concat(steps), target);
}

Layers unrolled(const Site& site, const LayerShape& layer, const Tensor& weights, Step step) {
    const Tensor &x = site.in(0), &h0 = site.in(1);
    bool has_c = site.size() == 4;
    if (rank_of(x) != 3 || rank_of(h0) != 3) invalid("inputs of rank ", rank_of(x), " and ", rank_of(h0));
    int64_t steps = x.shape()[0];
    if (layer.layers < 1 || steps < 1)
        invalid("it has ", counted(layer.layers, "layer"), " and ", counted(steps, "step"));
    if (layer.layers > most_steps || steps * layer.layers * layer.directions > most_steps)
        unsupported(counted(steps, "step"), " in ", counted(layer.layers, "layer"));
    auto cells = cut_weights(site, weights, layer, x.shape()[2]);
    Tensors sequence, last_h, last_c;
    for (int64_t t = 0; t < steps; ++t) sequence.push_back(element(x, t));
    for (int64_t l = 0; l < layer.layers; ++l) {
        std::vector<Tensors> results;
        for (int64_t d = 0; d < layer.directions; ++d) {
            int64_t cell = l * layer.directions + d;
            LstmState start{element(h0, cell), has_c ? element(site.in(2), cell) : Tensor(), {}};
            Pass pass = run_cell(site, sequence, cells[size_t(cell)], start, d == 1, step);
            results.push_back(pass.h);
            last_h.push_back(with_step_axis(pass.last.h));
            if (has_c) last_c.push_back(with_step_axis(pass.last.c));
        }
        for (size_t t = 0; t < sequence.size(); ++t)
            sequence[t] = results.size() == 1 ? results[0][t]
                                              : ops::concat({results[0][t], results[1][t]}, {.axis = -1});
    }
    return {stacked(sequence, x, layer.directions * layer.hidden), ops::concat(last_h),
            has_c ? ops::concat(last_c) : Tensor()};
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    Tensor y = ops::matmul(x, weight, {.transpose_b = true});
    return bias ? ops::add(y, bias) : y;
}

LstmState lstm_step(const Tensor& gates, const Tensor& c, int64_t width) {
    auto part = [&](int64_t i) {
        return ops::slice({gates}, {.items = {-1, i * width, (i + 1) * width, absent_bound, 0}});
    };
    Tensor input = ops::sigmoid(part(0)), forget = ops::sigmoid(part(1));
    Tensor candidate = ops::tanh(part(2)), output = ops::sigmoid(part(3));
    Tensor next = ops::add(ops::mul(forget, c), ops::mul(input, candidate));
    return {ops::mul(output, ops::tanh(next)), next, gates};
}

Tensor rnn_activation(const Tensor& sum, uint32_t nonlinearity) {
    enum : uint32_t { identity, relu, tanh };
    switch (nonlinearity) {
        case identity:
            return sum;
        case relu:
            return ops::relu(sum);
        case tanh:
            return ops::tanh(sum);
        default:
            unsupported("nonlinearity ", nonlinearity);
    }
}

// Inputs: x, weight_ih, bias_ih, h, weight_hh, bias_hh, c.
Tensors import_lstm_cell(const Site& site) {
    if (rank_of(site.in(4)) != 2) invalid("a weight of rank ", rank_of(site.in(4)));
    Tensor gates =
        ops::add(linear(site.in(0), site.in(1), site.in(2)), linear(site.in(3), site.in(4), site.in(5)));
    LstmState state = lstm_step(gates, site.in(6), site.in(4).shape()[1]);
    return {state.h, state.c, state.gates};
}

// Inputs: x, weight_ih, bias_ih, h, weight_hh, bias_hh.
Tensors import_rnn_cell(const Site& site) {
    Tensor sum =
        ops::add(linear(site.in(0), site.in(1), site.in(2)), linear(site.in(3), site.in(4), site.in(5)));
    return {rnn_activation(sum, site.params<file::RNNCell>().nonline_mode())};
}

// Inputs: x (steps, batch, width), h, c, weights. Outputs: all h, the last h, the last c, something reserved.
Tensors import_lstm(const Site& site) {
    auto& p = site.params<file::LSTM>();
    // MegEngine stores the size of a projection and computes without it.
    bool is_projected = rank_of(site.in(1)) == 3 && site.in(1).shape()[2] != int64_t(p.hidden_size());
    if (p.proj_size() && is_projected) unsupported("a projection of the hidden state");
    LayerShape layer{p.num_layers(), p.bidirectional() ? 2 : 1, p.hidden_size(), 4, p.bias()};
    auto step = [](const Site&, const Tensor& sum, const Tensor& c, int64_t hidden) {
        return lstm_step(sum, c, hidden);
    };
    Layers result = unrolled(site, layer, site.in(3), step);
    return {result.y, result.h, result.c, Tensor()};
}

// The same without c.
Tensors import_rnn(const Site& site) {
    auto& p = site.params<file::RNN>();
    if (site.size() != 3) invalid("it has ", counted(site.size(), "input"), ", not 3");
    LayerShape layer{p.num_layers(), p.bidirectional() ? 2 : 1, p.hidden_size(), 1, p.bias()};
    auto step = [](const Site& at, const Tensor& sum, const Tensor&, int64_t) -> LstmState {
        return {rnn_activation(sum, at.params<file::RNN>().nonline_mode()), {}, {}};
    };
    Layers result = unrolled(site, layer, site.in(2), step);
    return {result.y, result.h, Tensor()};
}

}  // namespace mge::megengine
