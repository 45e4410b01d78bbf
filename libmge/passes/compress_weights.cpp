// SPDX-License-Identifier: Apache-2.0
// matmul(x, w) => compressed_matmul(x, steps, scale), for large constant matrices w: their linear layers
// store weights in `weight_bits` bits each, which are read in every run. All arithmetic stays f32, so only
// the weights are rounded.
//
// - 8 bits: 255 steps of a 127th of the largest magnitude in a row of the matrix, one row for each column of
//   the result.
// - 4 bits: 16 steps from the least to the largest of each 32 weights of a row, zero among them.

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/device/device.h"
#include "libmge/graph/rewrite.h"
#include "libmge/kernel/compressed_weight.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/quantize/compressed/compressed_matmul.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

// Smaller matrices stay in a cache anyway, and a row of few columns has scales as large as its weights.
constexpr int64_t fewest_weights = 1 << 14, fewest_columns = 32;
constexpr int64_t group_of_4_bits = 32;

struct Compressed {
    CompressedWeight shape;
    std::vector<uint8_t> steps, zeros;
    std::vector<float> scales;
};

// Some weights of a row in steps; `put` takes each step with its place.
template <class Put>
void compress_group(std::span<const float> w, int bits, float& scale, int& zero, const Put& put) {
    auto [least, largest] = std::minmax_element(w.begin(), w.end());
    const float low = std::min(*least, 0.f), high = std::max(*largest, 0.f);
    const int last = (1 << bits) - 1;
    scale = bits == 8 ? std::max(-low, high) / 127 : (high - low) / float(last);
    zero = bits == 8 || scale == 0 ? 1 << (bits - 1)
                                   : int(std::clamp(std::round(-low / scale), 0.f, float(last)));
    for (size_t i = 0; i < w.size(); ++i) {
        const float step = scale == 0 ? 0 : std::round(w[i] / scale);
        put(i, uint8_t(std::clamp(step + float(zero), 0.f, float(last))));
    }
}

// Rows of w^T, which are stored so (`is_transposed`) or along the columns of the constant.
Compressed compress(const Tensor& constant, bool is_transposed, int bits) {
    const float* w = constant.data<float>();
    const int64_t rows = constant.shape()[is_transposed ? 0 : 1],
                  columns = constant.shape()[is_transposed ? 1 : 0];
    Compressed result{{rows, columns, bits == 4 ? group_of_4_bits : columns, bits}, {}, {}, {}};
    const CompressedWeight& s = result.shape;
    result.steps.resize(size_t(rows * s.row_bytes()));
    std::vector<float> row(static_cast<size_t>(columns));
    for (int64_t n = 0; n < rows; ++n) {
        for (int64_t k = 0; k < columns; ++k)
            row[size_t(k)] = is_transposed ? w[n * columns + k] : w[k * rows + n];
        for (int64_t g = 0; g < s.groups(); ++g) {
            uint8_t* steps = result.steps.data() + n * s.row_bytes() + g * s.group_bytes();
            float scale;
            int zero;
            compress_group(std::span(row).subspan(size_t(g * s.group), size_t(s.columns_of(g))), bits, scale,
                           zero, [&](size_t i, uint8_t step) {
                               if (bits == 8)
                                   steps[i] = step;
                               else
                                   steps[i / 2] |= uint8_t(i % 2 ? step << 4 : step);
                           });
            result.scales.push_back(scale);
            result.zeros.push_back(uint8_t(zero));
        }
    }
    return result;
}

bool is_finite(const Tensor& constant) {
    const float* w = constant.data<float>();
    return std::all_of(w, w + constant.spec().numel(), [](float x) { return std::isfinite(x); });
}

// The constant matrix by which a product multiplies rows of x; null if there is none large enough.
Tensor matrix_of(const Graph& graph, const Node& node) {
    if (node.op != &ops::Matmul::info) return {};
    auto& p = node.as<ops::Matmul::Params>();
    auto& x = graph.value(node.inputs[0]).spec;
    Tensor w = constant_of(graph, node.inputs[1]);
    if (!w || constant_of(graph, node.inputs[0]) || w.dtype() != DType::f32 || x.dtype != DType::f32)
        return {};
    if (w.shape().rank() != 2 || !x.shape.is_known() || x.shape.rank() < 1 ||
        (p.transpose_a && x.shape.rank() > 1))
        return {};
    const bool is_small =
        w.spec().numel() < fewest_weights || w.shape()[p.transpose_b ? 1 : 0] < fewest_columns;
    return is_small || !is_finite(w) ? Tensor() : w;
}

class Compression {
public:
    Compression(const Graph& source, int bits) : source_(source), rewrite_(source), bits_(bits) {}

    Graph run() && {
        for (size_t i = 0; i < source_.nodes().size(); ++i) {
            auto& node = source_.node(NodeId(i));
            if (Tensor w = matrix_of(source_, node))
                replace(NodeId(i), node, w);
            else
                rewrite_.copy(NodeId(i));
        }
        return rewrite_.finish();
    }

private:
    struct Inputs {
        ValueId steps, scale, zero;
    };
    template <class T>
    ValueId add(const std::vector<T>& values, const Shape& shape, const std::string& name, DeviceId place) {
        Tensor constant = tensor_from_host({DTypeOf<T>, shape, {}}, values.data(), host_device);
        return rewrite_.target().add_constant(constant, name, place);
    }
    // Products with the same matrix have one in few bits.
    Inputs inputs_of(ValueId id, const Tensor& w, bool is_transposed) {
        auto [it, is_new] = known_.try_emplace({id, is_transposed});
        if (!is_new) return it->second;
        const Compressed c = compress(w, is_transposed, bits_);
        auto& value = source_.value(id);
        const Shape groups{c.shape.rows, c.shape.groups()};
        auto named = [&](std::string_view part) {
            return value.name.empty() ? "" : text(value.name, ':', part);
        };
        it->second = {add(c.steps, {c.shape.rows, c.shape.row_bytes()}, value.name, value.device),
                      add(c.scales, groups, named("scale"), value.device),
                      bits_ == 8 ? no_value : add(c.zeros, groups, named("zero_point"), value.device)};
        return it->second;
    }
    void replace(NodeId id, const Node& node, const Tensor& w) {
        auto& p = node.as<ops::Matmul::Params>();
        auto [steps, scale, zero] = inputs_of(node.inputs[1], w, p.transpose_b);
        std::vector<ValueId> inputs{rewrite_(node.inputs[0]), steps, scale, zero};
        for (size_t i = 2; i < node.inputs.size(); ++i) inputs.push_back(rewrite_(node.inputs[i]));
        auto params = std::make_shared<ops::CompressedMatmul::Params>(ops::CompressedMatmul::Params{
            .bits = bits_, .group = bits_ == 4 ? group_of_4_bits : 0, .activation = p.activation});
        rewrite_.emit(id, ops::CompressedMatmul::info, std::move(params), std::move(inputs), node.name);
    }

    const Graph& source_;
    Rewrite rewrite_;
    const int bits_;
    std::map<std::pair<ValueId, bool>, Inputs> known_;
};

}  // namespace

Graph compress_weights(Graph graph, const PassOptions& options) {
    return options.weight_bits ? Compression(graph, options.weight_bits).run() : graph;
}

}  // namespace mge
