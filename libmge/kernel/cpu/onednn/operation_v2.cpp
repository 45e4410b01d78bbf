// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/onednn/operation.h"

#if DNNL_VERSION_MAJOR == 2  // operation_v3.cpp is for newer versions
#include <algorithm>

namespace mge::onednn {
namespace {

dnnl_status_t init(dnnl_convolution_desc_t& made, const ConvolutionDesc& d) {
    auto *stride = d.stride.data(), *dilation = d.dilation.data(), *before = d.padding.data(),
         *after = d.padding_after.data();
    if (d.direction == dnnl_backward_data)
        return dnnl_dilated_convolution_backward_data_desc_init(&made, d.algorithm, d.x.get(), d.weight.get(),
                                                                d.y.get(), stride, dilation, before, after);
    if (d.direction == dnnl_backward_weights)
        return dnnl_dilated_convolution_backward_weights_desc_init(&made, d.algorithm, d.x.get(),
                                                                   d.weight.get(), nullptr, d.y.get(), stride,
                                                                   dilation, before, after);
    return dnnl_dilated_convolution_forward_desc_init(&made, d.direction, d.algorithm, d.x.get(),
                                                      d.weight.get(), d.bias.get(), d.y.get(), stride,
                                                      dilation, before, after);
}

dnnl_status_t init(dnnl_pooling_desc_t& made, const PoolingDesc& d) {
    auto *stride = d.stride.data(), *window = d.window.data(), *before = d.padding.data(),
         *after = d.padding_after.data();
    if (d.direction == dnnl_backward_data)
        return dnnl_pooling_backward_desc_init(&made, d.algorithm, d.x.get(), d.y.get(), stride, window,
                                               before, after);
    return dnnl_pooling_forward_desc_init(&made, d.direction, d.algorithm, d.x.get(), d.y.get(), stride,
                                          window, before, after);
}

dnnl_status_t init(dnnl_matmul_desc_t& made, const MatmulDesc& d) {
    return dnnl_matmul_desc_init(&made, d.a.get(), d.b.get(), d.bias.get(), d.y.get());
}

dnnl_status_t init(dnnl_batch_normalization_desc_t& made, const BatchNormDesc& d) {
    return dnnl_batch_normalization_forward_desc_init(&made, d.direction, d.x.get(), d.epsilon, d.flags);
}

dnnl_status_t init(dnnl_layer_normalization_desc_t& made, const LayerNormDesc& d) {
    return dnnl_layer_normalization_forward_desc_init(&made, dnnl_forward_training, d.x.get(),
                                                      d.statistics.get(), d.epsilon, d.flags);
}

// The struct by which oneDNN knows an operation.
template <class Desc>
struct Struct;
template <>
struct Struct<ConvolutionDesc> : std::type_identity<dnnl_convolution_desc_t> {};
template <>
struct Struct<PoolingDesc> : std::type_identity<dnnl_pooling_desc_t> {};
template <>
struct Struct<MatmulDesc> : std::type_identity<dnnl_matmul_desc_t> {};
template <>
struct Struct<BatchNormDesc> : std::type_identity<dnnl_batch_normalization_desc_t> {};
template <>
struct Struct<LayerNormDesc> : std::type_identity<dnnl_layer_normalization_desc_t> {};

struct DestroyIterator {
    void operator()(dnnl_primitive_desc_iterator* p) const { dnnl_primitive_desc_iterator_destroy(p); }
};

template <class T>
const T* query(const_dnnl_primitive_desc_t desc, dnnl_query_t what) {
    const T* found = nullptr;
    return dnnl_primitive_desc_query(desc, what, 0, &found) == dnnl_success ? found : nullptr;
}

Extents2d pair(const dnnl_dims_t& values) { return {values[0], values[1]}; }

}  // namespace

void visit_implementations(const Operation& operation, const PrimitiveAttr& attr,
                           const_dnnl_primitive_desc_t hint, const TakeImplementation& take) {
    std::visit(
        [&]<class Desc>(const Desc& d) {
            typename Struct<Desc>::type described;  // the iterator refers to it
            dnnl_primitive_desc_iterator_t made = nullptr;
            auto status = init(described, d);
            if (status == dnnl_success)
                status = dnnl_primitive_desc_iterator_create(&made, &described, attr.get(), engine(), hint);
            if (status == dnnl_out_of_memory) check(status, "dnnl_primitive_desc_iterator_create");
            if (status != dnnl_success) return;
            std::unique_ptr<dnnl_primitive_desc_iterator, DestroyIterator> iterator(made);
            do {
                PrimitiveDesc desc(dnnl_primitive_desc_iterator_fetch(iterator.get()));
                if (desc && !take(std::move(desc))) return;
            } while (dnnl_primitive_desc_iterator_next(iterator.get()) == dnnl_success);
        },
        operation);
}

std::optional<Operation> operation_of(const_dnnl_primitive_desc_t desc) {
    if (auto* d = query<dnnl_convolution_desc_t>(desc, dnnl_query_convolution_d))
        return ConvolutionDesc{d->prop_kind,
                               d->alg_kind,
                               memory_of(desc, DNNL_ARG_SRC),
                               memory_of(desc, DNNL_ARG_WEIGHTS),
                               memory_of(desc, DNNL_ARG_BIAS),
                               memory_of(desc, DNNL_ARG_DST),
                               pair(d->strides),
                               pair(d->dilates),
                               pair(d->padding[0]),
                               pair(d->padding[1])};
    if (query<dnnl_matmul_desc_t>(desc, dnnl_query_matmul_d))
        return MatmulDesc{memory_of(desc, DNNL_ARG_SRC), memory_of(desc, DNNL_ARG_WEIGHTS),
                          memory_of(desc, DNNL_ARG_BIAS), memory_of(desc, DNNL_ARG_DST)};
    if (auto* d = query<dnnl_layer_normalization_desc_t>(desc, dnnl_query_layer_normalization_d))
        return LayerNormDesc{memory_of(desc, DNNL_ARG_SRC), memory_of(desc, DNNL_ARG_MEAN),
                             d->layer_norm_epsilon, d->flags};
    return std::nullopt;
}

void append_sum(dnnl_post_ops_t list) {
    check(dnnl_post_ops_append_sum(list, 1), "dnnl_post_ops_append_sum");
}

void append_eltwise(dnnl_post_ops_t list, const Eltwise& eltwise) {
    check(dnnl_post_ops_append_eltwise(list, 1, eltwise.kind, eltwise.alpha, eltwise.beta),
          "dnnl_post_ops_append_eltwise");
}

Eltwise eltwise_at(const_dnnl_post_ops_t list, int index) {
    Eltwise found;
    float scale;
    check(dnnl_post_ops_get_params_eltwise(list, index, &scale, &found.kind, &found.alpha, &found.beta),
          "dnnl_post_ops_get_params_eltwise");
    return found;
}

}  // namespace mge::onednn
#endif
