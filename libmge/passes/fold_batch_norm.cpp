// SPDX-License-Identifier: Apache-2.0
// batch_norm(conv(x, w) + b) in inference is another convolution:
//
//     a = scale / sqrt(variance + epsilon)      conv(x, w) * a + (b - mean) * a + shift
//                                            => conv(x, w * a) with bias (b - mean) * a + shift
//
// for constant weights, bias and statistics; for matmul the same along the columns of b. Done in double, so
// that the folded weights are rounded once.

#include <cmath>

#include "libmge/device/device.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/rows/times_double.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/nn/batch_norm/batch_norm.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/passes/epilogue.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

struct Statistics {
    Tensor scale, shift, mean, variance;
    double epsilon = 0;
};

// Nullopt if the batch norm has no constant statistics.
std::optional<Statistics> find_statistics(const Graph& graph, const Node& node) {
    auto& params = node.as<ops::BatchNorm::Params>();
    if (params.training) return std::nullopt;
    Statistics s{constant_of(graph, named_input(node, "scale")),
                 constant_of(graph, named_input(node, "bias")),
                 constant_of(graph, named_input(node, "running_mean")),
                 constant_of(graph, named_input(node, "running_var")), params.epsilon};
    for (auto* tensor : {&s.scale, &s.shift, &s.mean, &s.variance})
        if (!*tensor || tensor->dtype() != DType::f32) return std::nullopt;
    return s;
}

// The input with the weights, and the mapping of its elements to output channels: element i to channel (i /
// inner) % channels.
struct Weights {
    std::string_view input;
    int64_t inner;
};
std::optional<Weights> find_weights(const Graph& graph, const Node& node, int64_t channels) {
    bool is_conv = node.op == &ops::Conv2d::info;
    if (!is_conv && node.op != &ops::Matmul::info) return std::nullopt;
    std::string_view name = is_conv ? "weight" : "b";
    Tensor constant = constant_of(graph, named_input(node, name));
    if (!constant || constant.dtype() != DType::f32 || channels == 0) return std::nullopt;
    auto& shape = constant.shape();
    // (OC, IC, kh, kw) or (G, OC/G, IC/G, kh, kw): output channels are outermost in both.
    if (is_conv) return Weights{name, constant.spec().numel() / channels};
    if (shape.rank() != 2) return std::nullopt;
    return Weights{name, node.as<ops::Matmul::Params>().transpose_b ? shape[1] : 1};
}

struct Folded {
    std::vector<double> factor;  // by output channel
    Tensor bias;
};

// Element i times the factor of its channel, (i / inner) % channels.
Tensor times_factor(const Tensor& weights, const std::vector<double>& factor, int64_t inner, int threads) {
    Tensor result = empty_tensor(weights.spec(), host_device);
    if (inner == 0) return result;
    const auto multiply = cpu::times_double();
    const int64_t rows = weights.spec().numel() / inner, grain = parallel_grain / inner + 1;
    par_for(threads, rows, grain, [&](int64_t begin, int64_t end) {
        const float* x = weights.data<float>() + begin * inner;
        float* y = result.data<float>() + begin * inner;
        size_t channel = size_t(begin) % factor.size();
        for (int64_t row = begin; row < end; ++row, x += inner, y += inner) {
            multiply(x, factor[channel], y, inner);
            if (++channel == factor.size()) channel = 0;
        }
    });
    return result;
}

Folded fold(const Statistics& s, const Tensor& bias) {
    int64_t channels = s.scale.spec().numel();
    std::vector<double> factor(static_cast<size_t>(channels));
    std::vector<float> new_bias(static_cast<size_t>(channels));
    for (int64_t c = 0; c < channels; ++c) {
        double a = s.scale.data<float>()[c] / std::sqrt(double(s.variance.data<float>()[c]) + s.epsilon);
        double b = bias ? bias.data<float>()[c] : 0.0;
        factor[size_t(c)] = a;
        new_bias[size_t(c)] = float((b - s.mean.data<float>()[c]) * a + s.shift.data<float>()[c]);
    }
    return {std::move(factor), tensor_from_host({DType::f32, {channels}, {}}, new_bias.data(), host_device)};
}

std::optional<match::New> without_batch_norm(const match::Match& m, const PassOptions& options) {
    auto& graph = m.graph();
    auto& producer = m.node("producer");
    auto statistics = find_statistics(graph, m.root());
    if (!statistics || named_input(producer, "residual") != no_value) return std::nullopt;
    auto& output = m.spec("producer");
    // The channels of a batch norm are axis 1: the last one of a matmul only in two dimensions.
    int64_t channels = statistics->scale.spec().numel();
    if (output.shape.rank() < 2 || output.shape[1] != channels ||
        (producer.op == &ops::Matmul::info && output.shape.rank() != 2))
        return std::nullopt;
    auto weights = find_weights(graph, producer, channels);
    ValueId present = named_input(producer, "bias");
    Tensor bias = constant_of(graph, present);
    if (!weights || (present != no_value && (!bias || bias.spec().numel() != channels))) return std::nullopt;
    Folded folded = fold(*statistics, bias);
    Shape along_channels = output.shape;
    for (int i = 0; i < along_channels.rank(); ++i) along_channels[i] = i == 1 ? channels : 1;
    bias = as_bias(graph, producer, folded.bias.with_shape(along_channels));
    if (!bias) return std::nullopt;
    Tensor scaled = times_factor(constant_of(graph, named_input(producer, weights->input)), folded.factor,
                                 weights->inner, options.threads);
    return fused(producer, {{weights->input, scaled}, {"bias", bias}});
}

}  // namespace

Graph fold_batch_norm(Graph graph, const PassOptions& options) {
    static const match::Table<PassOptions> rules{
        {match::op<ops::BatchNorm>(fusable("producer")), without_batch_norm}};
    return match::replace_matches(std::move(graph), rules, options);
}

}  // namespace mge
