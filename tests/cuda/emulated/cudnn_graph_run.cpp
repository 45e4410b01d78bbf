// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulated/cudnn_graph_run.h"

#include <array>
#include <cmath>

#include "tests/cuda/emulated/cudnn_image.h"

namespace mge::cuda::emulated {
namespace {

// How a tensor's elements follow each other, in one of the two orders.
bool has_order(const Descriptor& tensor, const std::array<size_t, 4>& order) {
    Four dims = four(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS), strides = four(tensor, CUDNN_ATTR_TENSOR_STRIDES);
    int64_t stride = 1;
    for (size_t i = 4; i-- > 0;) {
        size_t axis = order[i];
        if (dims[axis] > 1 && strides[axis] != stride) return false;
        stride *= dims[axis];
    }
    return true;
}

struct Names {
    cudnnBackendAttributeName_t x, weight, y, window, alpha, beta;
};
std::optional<Names> names_of(cudnnBackendDescriptorType_t type) {
    if (type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)
        return Names{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    if (type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR)
        return Names{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    if (type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR)
        return Names{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    return std::nullopt;
}
cudnnBackendAttributeName_t result_name(const Descriptor& operation, const Names& names) {
    if (operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR) return names.x;
    return operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR ? names.weight
                                                                                            : names.y;
}

struct Window {
    const int64_t *padding, *dilation, *stride;
};

// x of y's element under an element of the kernel; false outside.
bool x_of(const Window& w, const Four& y, const Four& kernel, const Four& x_dims, Four& x) {
    for (size_t i = 2; i < 4; ++i) {
        x[i] = y[i] * w.stride[i - 2] - w.padding[i - 2] + kernel[i] * w.dilation[i - 2];
        if (x[i] < 0 || x[i] >= x_dims[i]) return false;
    }
    return true;
}

float as_factor(float value, bool in_tf32) {
    return in_tf32 ? from_bits(bits_of(value) & 0xffffe000) : value;
}

// Dense sums of doubles, of the result's dims.
struct Sums {
    Four dims;
    std::vector<double> values;
    explicit Sums(const Four& of) : dims(of), values(size_t(of[0] * of[1] * of[2] * of[3])) {}
    double& at(const Four& i) {
        return values[size_t(((i[0] * dims[1] + i[1]) * dims[2] + i[2]) * dims[3] + i[3])];
    }
};

}  // namespace

std::optional<ConvolutionPattern> pattern_of(const Descriptor& graph) {
    auto& operations = graph.others(CUDNN_ATTR_OPERATIONGRAPH_OPS);
    ConvolutionPattern p;
    p.operation = operations.front().get();
    auto names = names_of(p.operation->type);
    if (!names) return std::nullopt;
    auto *x = &p.operation->other(names->x), *weight = &p.operation->other(names->weight),
         *y = &p.operation->other(names->y);
    p.result = &p.operation->other(result_name(*p.operation, *names));
    p.stored = {x, weight, y};
    bool is_forward = p.operation->type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
    if (operations.size() > 1 && !is_forward) return std::nullopt;
    if (operations.size() > 1) p.stored.pop_back();
    for (size_t i = 1; i < operations.size(); ++i) {
        auto& op = *operations[i];
        if (op.type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR || p.has_relu) return std::nullopt;
        auto& in = op.other(CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
        // An intermediate value is a float that is not stored.
        if (id_of(in) != id_of(*p.result) || !is_virtual(*p.result) || type_of(*p.result) != CUDNN_DATA_FLOAT)
            return std::nullopt;
        auto mode = op.other(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)
                        .value<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
        if (mode == CUDNN_POINTWISE_ADD) {
            auto& added = op.other(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
            Four dims = four(added, CUDNN_ATTR_TENSOR_DIMENSIONS),
                 whole = four(*p.result, CUDNN_ATTR_TENSOR_DIMENSIONS);
            bool is_bias = dims == Four{1, whole[1], 1, 1};
            if (p.bias || (!is_bias && (p.z || dims != whole))) return std::nullopt;
            // An ambiguous addition is a bias, unless another one follows.
            bool another_follows =
                i + 1 < operations.size() && operations[i + 1]->has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
            (is_bias && !(dims == whole && another_follows) ? p.bias : p.z) = &added;
            p.stored.push_back(&added);
        } else if (mode == CUDNN_POINTWISE_RELU_FWD) {
            p.has_relu = true;
            auto& pointwise = op.other(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
            p.keeps_nan = pointwise.has(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION) &&
                          pointwise.value<cudnnNanPropagation_t>(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION) ==
                              CUDNN_PROPAGATE_NAN;
        } else {
            return std::nullopt;
        }
        p.result = &op.other(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    }
    bool is_followed = operations.size() > 1;
    if (is_followed) p.stored.push_back(p.result);
    if (is_virtual(*p.result) || (is_followed && !p.bias)) return std::nullopt;
    // Sums of steps are stored.
    p.type = type_of(*x);
    bool has_steps = p.type == CUDNN_DATA_INT8;
    auto sums = p.operation->other(names->window).value<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
    if (sums != (has_steps ? CUDNN_DATA_INT32 : CUDNN_DATA_FLOAT) ||
        (has_steps && (is_followed || !is_forward)))
        return std::nullopt;
    bool all_plain = true, all_last = true;
    for (auto* tensor : p.stored) {
        auto type = has_steps && tensor == p.result ? CUDNN_DATA_INT32 : p.type;
        if (is_virtual(*tensor) || type_of(*tensor) != type) return std::nullopt;
        all_plain &= has_order(*tensor, {0, 1, 2, 3});
        all_last &= has_order(*tensor, {0, 2, 3, 1});
    }
    if (!all_plain && !all_last) return std::nullopt;
    p.is_channels_last = !all_plain;
    return p;
}

void run_pattern(const ConvolutionPattern& p, const std::map<int64_t, void*>& addresses, bool in_tf32) {
    auto image = [&](const Descriptor& tensor) {
        auto found = addresses.find(id_of(tensor));
        return image_of(tensor, found == addresses.end() ? nullptr : found->second);
    };
    auto names = *names_of(p.operation->type);
    Image x = image(p.operation->other(names.x)), weight = image(p.operation->other(names.weight)),
          y = image(p.operation->other(names.y)), result = image(*p.result);
    auto& d = p.operation->other(names.window);
    Window window{d.values<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
                  d.values<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS),
                  d.values<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES)};
    auto kind = p.operation->type;
    bool is_forward = kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
         is_data = kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
    Sums sums(is_forward ? y.dims : is_data ? x.dims : weight.dims);
    int64_t of_group = y.dims[1] / (x.dims[1] / weight.dims[1]);
    // Each product of an element of y and one of the weight, for any sum.
    for_each(y.dims, [&](const Four& at) {
        for_each({1, weight.dims[1], weight.dims[2], weight.dims[3]}, [&](Four w) {
            w[0] = at[1];
            Four from{at[0], at[1] / of_group * weight.dims[1] + w[1], 0, 0};
            if (!x_of(window, at, w, x.dims, from)) return;
            auto factor = [&](const Image& of, const Four& i) {
                return double(as_factor(of.get(i), in_tf32));
            };
            if (is_forward)
                sums.at(at) += factor(x, from) * factor(weight, w);
            else if (is_data)
                sums.at(from) += factor(y, at) * factor(weight, w);
            else
                sums.at(w) += factor(y, at) * factor(x, from);
        });
    });
    // As an H100 does: the bits of a float are no 1.
    int64_t alpha = p.type == CUDNN_DATA_INT8 ? p.operation->value<int32_t>(names.alpha) : 1;
    Image z = p.z ? image(*p.z) : Image{}, bias = p.bias ? image(*p.bias) : Image{};
    for_each(result.dims, [&](const Four& at) {
        if (p.type == CUDNN_DATA_INT8) return result.put(at, double(alpha * int64_t(sums.at(at))));
        auto sum = float(sums.at(at));
        if (p.z) sum += z.get(at);
        if (p.bias) sum += bias.get({0, at[1], 0, 0});
        bool stays = sum > 0 || (p.keeps_nan && std::isnan(sum));
        if (p.has_relu && !stays) sum = 0;
        result.put(at, sum);
    });
}

}  // namespace mge::cuda::emulated
