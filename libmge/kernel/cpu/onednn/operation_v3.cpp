// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/onednn/operation.h"

#if DNNL_VERSION_MAJOR > 2  // operation_v2.cpp is for older versions

namespace mge::onednn {
namespace {

// Makes the first implementation's description.
struct Create {
    dnnl_primitive_desc_t& made;
    const_dnnl_primitive_attr_t attr;
    const_dnnl_primitive_desc_t hint;

    dnnl_status_t operator()(const ConvolutionDesc& d) const {
        auto *stride = d.stride.data(), *dilation = d.dilation.data(), *before = d.padding.data(),
             *after = d.padding_after.data();
        if (d.direction == dnnl_backward_data)
            return dnnl_convolution_backward_data_primitive_desc_create(
                &made, engine(), d.algorithm, d.x.get(), d.weight.get(), d.y.get(), stride, dilation, before,
                after, hint, attr);
        if (d.direction == dnnl_backward_weights)
            return dnnl_convolution_backward_weights_primitive_desc_create(
                &made, engine(), d.algorithm, d.x.get(), d.weight.get(), nullptr, d.y.get(), stride, dilation,
                before, after, hint, attr);
        return dnnl_convolution_forward_primitive_desc_create(
            &made, engine(), d.direction, d.algorithm, d.x.get(), d.weight.get(), d.bias.get(), d.y.get(),
            stride, dilation, before, after, attr);
    }
    dnnl_status_t operator()(const PoolingDesc& d) const {
        constexpr Extents2d no_dilation{};
        auto *stride = d.stride.data(), *window = d.window.data(), *before = d.padding.data(),
             *after = d.padding_after.data();
        if (d.direction == dnnl_backward_data)
            return dnnl_pooling_backward_primitive_desc_create(&made, engine(), d.algorithm, d.x.get(),
                                                               d.y.get(), stride, window, no_dilation.data(),
                                                               before, after, hint, attr);
        return dnnl_pooling_forward_primitive_desc_create(&made, engine(), d.direction, d.algorithm,
                                                          d.x.get(), d.y.get(), stride, window,
                                                          no_dilation.data(), before, after, attr);
    }
    dnnl_status_t operator()(const MatmulDesc& d) const {
        return dnnl_matmul_primitive_desc_create(&made, engine(), d.a.get(), d.b.get(), d.bias.get(),
                                                 d.y.get(), attr);
    }
    dnnl_status_t operator()(const BatchNormDesc& d) const {
        return dnnl_batch_normalization_forward_primitive_desc_create(&made, engine(), d.direction, d.x.get(),
                                                                      d.x.get(), d.epsilon, d.flags, attr);
    }
    dnnl_status_t operator()(const LayerNormDesc& d) const {
        return dnnl_layer_normalization_forward_primitive_desc_create(
            &made, engine(), dnnl_forward_training, d.x.get(), d.x.get(), d.statistics.get(), d.epsilon,
            d.flags, attr);
    }
};

template <class T>
T query(const_dnnl_primitive_desc_t desc, dnnl_query_t what) {
    T found{};
    check(dnnl_primitive_desc_query(desc, what, 0, &found), "dnnl_primitive_desc_query");
    return found;
}

Extents2d pair(const_dnnl_primitive_desc_t desc, dnnl_query_t what) {
    auto& values = *query<const dnnl_dims_t*>(desc, what);
    return {values[0], values[1]};
}

}  // namespace

void visit_implementations(const Operation& operation, const PrimitiveAttr& attr,
                           const_dnnl_primitive_desc_t hint, const TakeImplementation& take) {
    dnnl_primitive_desc_t made = nullptr;
    auto status = std::visit(Create{made, attr.get(), hint}, operation);
    if (status == dnnl_out_of_memory) check(status, "dnnl_*_primitive_desc_create");
    if (status != dnnl_success) return;
    PrimitiveDesc desc(made);
    do {
        check(dnnl_primitive_desc_clone(&made, desc.get()), "dnnl_primitive_desc_clone");
        if (!take(PrimitiveDesc(made))) return;
    } while (dnnl_primitive_desc_next_impl(desc.get()) == dnnl_success);
}

std::optional<Operation> operation_of(const_dnnl_primitive_desc_t desc) {
    switch (kind_of(desc)) {
        case dnnl_convolution:
            return ConvolutionDesc{query<dnnl_prop_kind_t>(desc, dnnl_query_prop_kind),
                                   query<dnnl_alg_kind_t>(desc, dnnl_query_alg_kind),
                                   memory_of(desc, DNNL_ARG_SRC),
                                   memory_of(desc, DNNL_ARG_WEIGHTS),
                                   memory_of(desc, DNNL_ARG_BIAS),
                                   memory_of(desc, DNNL_ARG_DST),
                                   pair(desc, dnnl_query_strides),
                                   pair(desc, dnnl_query_dilations),
                                   pair(desc, dnnl_query_padding_l),
                                   pair(desc, dnnl_query_padding_r)};
        case dnnl_matmul:
            return MatmulDesc{memory_of(desc, DNNL_ARG_SRC), memory_of(desc, DNNL_ARG_WEIGHTS),
                              memory_of(desc, DNNL_ARG_BIAS), memory_of(desc, DNNL_ARG_DST)};
        case dnnl_layer_normalization:
            return LayerNormDesc{memory_of(desc, DNNL_ARG_SRC), memory_of(desc, DNNL_ARG_MEAN),
                                 query<float>(desc, dnnl_query_epsilon_f32),
                                 query<unsigned>(desc, dnnl_query_flags)};
        default:
            return std::nullopt;
    }
}

void append_sum(dnnl_post_ops_t list) {
    check(dnnl_post_ops_append_sum(list, 1, 0, dnnl_data_type_undef), "dnnl_post_ops_append_sum");
}

void append_eltwise(dnnl_post_ops_t list, const Eltwise& eltwise) {
    check(dnnl_post_ops_append_eltwise(list, eltwise.kind, eltwise.alpha, eltwise.beta),
          "dnnl_post_ops_append_eltwise");
}

Eltwise eltwise_at(const_dnnl_post_ops_t list, int index) {
    Eltwise found;
    check(dnnl_post_ops_get_params_eltwise(list, index, &found.kind, &found.alpha, &found.beta),
          "dnnl_post_ops_get_params_eltwise");
    return found;
}

}  // namespace mge::onednn
#endif
