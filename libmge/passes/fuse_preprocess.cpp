// SPDX-License-Identifier: Apache-2.0
// convert, subtract, scale, pad channels, transpose => preprocess, in any order after an input of the graph
// or a warped picture, if intermediate values have no other readers. Together they are y = a[c] · x + b[c]
// with the channels of x moved to axis 1 (or already there), so y = (x − mean[c]) · scale[c]: mean = −b / a
// and scale = a, computed in double from the graph's constants. Padded channels have a = 0 and are written
// with x = 0, mean = −b, scale = 1.
//
// By default this is done if it saves a transpose or a padding; purely elementwise steps are left to
// fuse_elementwise, unless the switch requests them.
//
// The pass is not a table of rules (graph/match.h), because each step changes a, b and the order of the axes,
// which decide what the next step may be.

#include <algorithm>
#include <array>
#include <cmath>

#include "libmge/device/device.h"
#include "libmge/graph/readers.h"
#include "libmge/graph/rewrite.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/image.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/pad.h"
#include "libmge/ops/vision/preprocess.h"
#include "libmge/ops/vision/remap.h"
#include "libmge/passes/other_shapes.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

using Order = std::array<int, ops::image_rank>;
constexpr Order unchanged{0, 1, 2, 3}, from_channels_last{0, 3, 1, 2};

// A preprocess has numbers for each channel; more channels than pictures have are not worthwhile, and a
// malicious graph could request any number of them if another size is zero.
constexpr size_t most_input_channels = 4096;

struct Affine {
    double a = 1, b = 0;
};

// The effect of the steps so far on the input.
struct Prefix {
    bool channels_last = true;
    Order order = unchanged;  // axis i of the value is axis order[i] of the input
    std::vector<Affine> channels;
    size_t input_channels = 0;
    bool is_float = false, moves = false;
    std::vector<NodeId> steps;

    int axis_of_channels() const {
        int axis = channels_last ? 3 : 1;
        return int(std::find(order.begin(), order.end(), axis) - order.begin());
    }
    bool is_image() const { return is_float && order == (channels_last ? from_channels_last : unchanged); }
};

// The numbers of a preprocess, in double.
struct MeanAndScale {
    double mean, scale;
};
MeanAndScale mean_and_scale(const Prefix& prefix, size_t channel) {
    auto [a, b] = prefix.channels[channel];
    bool is_padding = channel >= prefix.input_channels;
    return {0 - (is_padding ? b : b / a), is_padding ? 1 : a};  // never −0
}

// As f32, the mean must not overflow, and the scale must keep its digits.
bool has_numbers_of_f32(const Prefix& prefix) {
    for (size_t c = 0; c < prefix.channels.size(); ++c) {
        auto [mean, scale] = mean_and_scale(prefix, c);
        if (!std::isfinite(float(mean)) || !std::isnormal(float(scale))) return false;
    }
    return true;
}

// The one value that a tensor is full of.
std::optional<double> uniform_value(const Graph& graph, ValueId id) {
    auto& value = graph.value(id);
    const Node* maker = maker_of(graph, id);
    if (maker && maker->op == &ops::Full::info) return maker->as<ops::Full::Params>().value;
    if (!value.is_constant() || value.spec.dtype != DType::f32 || value.spec.numel() == 0)
        return std::nullopt;
    auto* first = value.constant.data<float>();
    if (std::any_of(first, first + value.spec.numel(), [&](float x) { return !(x == *first); }))
        return std::nullopt;
    return double(*first);
}

// A constant operand as one number per channel; empty when it varies otherwise.
std::vector<double> per_channel(const Tensor& constant, int axis, size_t channels) {
    auto& shape = constant.shape();
    if (constant.dtype() != DType::f32 || shape.rank() > ops::image_rank) return {};
    for (int i = 0; i < shape.rank(); ++i) {
        bool is_channel = i + ops::image_rank - shape.rank() == axis;
        if (shape[i] != 1 && !(is_channel && shape[i] == int64_t(channels))) return {};
    }
    std::vector<double> values(channels);
    for (size_t c = 0; c < channels; ++c) values[c] = constant.data<float>()[shape.numel() == 1 ? 0 : c];
    return values;
}

// One operator applied to value · a + b with a constant on its right or left; false for other operators.
bool combine(const OpInfo* op, bool constant_is_right, double k, Affine& x) {
    if (op == &ops::Add::info) {
        x.b += k;
    } else if (op == &ops::Sub::info) {
        x = constant_is_right ? Affine{x.a, x.b - k} : Affine{-x.a, k - x.b};
    } else if (op == &ops::Mul::info) {
        x = {x.a * k, x.b * k};
    } else if (op == &ops::Div::info && constant_is_right) {
        x = {x.a / k, x.b / k};
    } else {
        return false;
    }
    return std::isfinite(x.a) && std::isfinite(x.b);
}

class Matcher {
public:
    Matcher(const Graph& graph, const PassOptions& options)
        : graph_(graph),
          shapes_(graph, options),
          uses_(graph.use_counts()),
          readers_(readers_of_values(graph)) {}

    // The longest chain behind the input that is one preprocess.
    std::optional<Prefix> match(ValueId input, bool channels_last) const {
        auto& spec = graph_.value(input).spec;
        if (!spec.shape.is_known() || spec.shape.rank() != ops::image_rank || spec.dtype == DType::boolean)
            return std::nullopt;
        Prefix prefix{.channels_last = channels_last};
        int channels_at = channels_last ? 3 : ops::channel_axis;
        prefix.input_channels = size_t(spec.shape[channels_at]);
        if (prefix.input_channels == 0 || prefix.input_channels > most_input_channels ||
            !shapes_.is_fixed(input, channels_at))
            return std::nullopt;
        prefix.channels.resize(prefix.input_channels);
        prefix.is_float = spec.dtype == DType::f32;
        std::optional<Prefix> longest;
        ValueId value = input;
        while (uses_[size_t(value)] == 1 && readers_[size_t(value)].size() == 1) {
            NodeId id = readers_[size_t(value)][0];
            auto& node = graph_.node(id);
            if (!graph_.value(node.outputs[0]).spec.shape.is_known() || !take(prefix, node, value)) break;
            prefix.steps.push_back(id);
            value = node.outputs[0];
            if (prefix.is_image() && has_numbers_of_f32(prefix)) longest = prefix;
        }
        return longest;
    }

private:
    bool take(Prefix& prefix, const Node& node, ValueId value) const {
        if (node.op == &ops::Convert::info) return take_convert(prefix, node);
        if (node.op == &ops::Transpose::info) return take_transpose(prefix, node);
        if (node.op == &ops::Pad::info) return take_pad(prefix, node);
        if (node.op == &ops::Concat::info) return take_concat(prefix, node, value);
        return prefix.is_float && take_arithmetic(prefix, node, value);
    }
    static bool take_convert(Prefix& prefix, const Node& node) {
        bool is_first = !prefix.is_float && node.as<ops::Convert::Params>().dtype == DType::f32;
        prefix.is_float = true;
        return is_first;
    }
    static bool take_transpose(Prefix& prefix, const Node& node) {
        auto axes = ops::transpose_axes(node.as<ops::Transpose::Params>(), ops::image_rank);
        Order order{};
        for (size_t i = 0; i < order.size(); ++i) order[i] = prefix.order[size_t(axes[i])];
        prefix.order = order;
        prefix.moves = true;
        return true;
    }
    static bool take_pad(Prefix& prefix, const Node& node) {
        auto& p = node.as<ops::Pad::Params>();
        int axis = prefix.axis_of_channels();
        for (size_t i = 0; i < size_t(ops::image_rank); ++i)
            if (p.before[i] != 0 || (int(i) != axis && p.after[i] != 0)) return false;
        return p.mode == ops::PadMode::constant && add_channels(prefix, p.after[size_t(axis)], p.value);
    }
    bool take_concat(Prefix& prefix, const Node& node, ValueId value) const {
        if (node.inputs.size() != 2 || node.inputs[0] != value) return false;
        int axis = node.as<ops::Concat::Params>().axis;
        if ((axis < 0 ? axis + ops::image_rank : axis) != prefix.axis_of_channels()) return false;
        if (!shapes_.is_fixed(node.inputs[1], prefix.axis_of_channels())) return false;
        auto uniform = uniform_value(graph_, node.inputs[1]);
        auto& shape = graph_.value(node.inputs[1]).spec.shape;
        return uniform && shape.is_known() &&
               add_channels(prefix, shape[prefix.axis_of_channels()], *uniform);
    }
    static bool add_channels(Prefix& prefix, int64_t count, double x) {
        // As an integer the value could still wrap around.
        if (!std::isfinite(x) || (!prefix.is_float && x != 0)) return false;
        if (size_t(count) > most_input_channels - prefix.channels.size()) return false;
        prefix.channels.insert(prefix.channels.end(), size_t(count), Affine{0, x});
        prefix.moves = true;
        return true;
    }
    bool take_arithmetic(Prefix& prefix, const Node& node, ValueId value) const {
        if (node.inputs.size() != 2) return false;
        bool is_right = node.inputs[0] == value;
        Tensor constant = constant_of(graph_, node.inputs[is_right ? 1 : 0]);
        if (!constant) return false;
        auto numbers = per_channel(constant, prefix.axis_of_channels(), prefix.channels.size());
        if (numbers.empty()) return false;
        for (size_t c = 0; c < numbers.size(); ++c)
            if (!combine(node.op, is_right, numbers[c], prefix.channels[c])) return false;
        return std::all_of(prefix.channels.begin(),
                           prefix.channels.begin() + ptrdiff_t(prefix.input_channels),
                           [](const Affine& x) { return x.a != 0; });
    }

    const Graph& graph_;
    OtherShapes shapes_;
    std::vector<int> uses_;
    std::vector<std::vector<NodeId>> readers_;
};

// The sources of pictures.
std::vector<ValueId> sources(const Graph& graph) {
    std::vector<ValueId> result = graph.inputs();
    for (auto& node : graph.nodes())
        if (node.op == &ops::Remap::info) result.push_back(node.outputs[0]);
    return result;
}

Tensor vector_of(const std::vector<float>& values) {
    return tensor_from_host({DType::f32, {int64_t(values.size())}, {}}, values.data(), host_device);
}

void emit(Rewrite& rewrite, ValueId input, const Prefix& prefix) {
    std::vector<float> mean, scale;
    for (size_t c = 0; c < prefix.channels.size(); ++c) {
        auto numbers = mean_and_scale(prefix, c);
        mean.push_back(float(numbers.mean));
        scale.push_back(float(numbers.scale));
    }
    auto params = std::make_shared<ops::Preprocess::Params>(ops::Preprocess::Params{prefix.channels_last});
    auto& last = rewrite.source().node(prefix.steps.back());
    DeviceId device = rewrite.source().place(last);
    ValueId means = rewrite.target().add_constant(vector_of(mean), {}, device);
    ValueId scales = rewrite.target().add_constant(vector_of(scale), {}, device);
    rewrite.emit(prefix.steps.back(), ops::Preprocess::info, params, {rewrite(input), means, scales},
                 last.name);
    for (NodeId step : prefix.steps) rewrite.absorb(step, rewrite(last.outputs[0]));
}

}  // namespace

Graph fuse_preprocess(Graph graph, const PassOptions& options) {
    bool is_requested = options.switches.fuse_preprocess.value_or(false);
    Matcher matcher(graph, options);
    std::vector<std::pair<ValueId, Prefix>> found;
    for (ValueId input : sources(graph)) {
        std::optional<Prefix> best;
        for (bool channels_last : {true, false}) {
            auto prefix = matcher.match(input, channels_last);
            if (prefix && (!best || prefix->steps.size() > best->steps.size())) best = std::move(prefix);
        }
        if (best && best->steps.size() > 1 && (best->moves || is_requested)) found.emplace_back(input, *best);
    }
    if (found.empty()) return graph;
    Rewrite rewrite(graph);
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        auto it = std::ranges::find_if(found, [&](auto& f) { return f.second.steps.back() == NodeId(i); });
        if (it != found.end())
            emit(rewrite, it->first, it->second);
        else
            rewrite.copy(NodeId(i));
    }
    return remove_dead_nodes(rewrite.finish(), options);
}

}  // namespace mge
