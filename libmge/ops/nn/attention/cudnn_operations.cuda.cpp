// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/attention/cudnn_operations.cuda.h"

#include "libmge/kernel/cuda/cudnn/cudnn_operations.h"

namespace mge::ops {
namespace {

using cuda::CudnnDims, cuda::CudnnOperations, cuda::CudnnTensor;

class AttentionGraph {
public:
    AttentionGraph(const AttentionShape& shape, DType dtype)
        : s_(shape), type_(cuda::cudnn_type(dtype)), operations_(AttentionTensor::first_between) {}

    cuda::CudnnDescriptor forward(const cuda::CudnnTarget& target);
    cuda::CudnnDescriptor backward(const cuda::CudnnTarget& target);

private:
    CudnnTensor of_queries(int64_t id, const AttentionStrides& strides, int64_t width) const {
        return rows(id, s_.heads, s_.queries, width, strides);
    }
    CudnnTensor of_keys(int64_t id, const AttentionStrides& strides, int64_t width) const {
        return rows(id, s_.shared_heads, s_.keys, width, strides);
    }
    CudnnTensor rows(int64_t id, int64_t heads, int64_t count, int64_t width,
                     const AttentionStrides& x) const {
        return CudnnOperations::stored(id, type_, {s_.batch, heads, count, width},
                                       {x.batch, x.head, x.row, 1});
    }
    // The matrices of keys or values, transposed.
    CudnnTensor transposed(int64_t id, const AttentionStrides& x, int64_t width) const {
        return CudnnOperations::stored(id, type_, {s_.batch, s_.shared_heads, width, s_.keys},
                                       {x.batch, x.head, 1, x.row});
    }
    CudnnTensor of_each_query(int64_t id) const {
        auto dims = query_dims();
        return CudnnOperations::stored(id, CUDNN_DATA_FLOAT, dims,
                                       cuda::cudnn_strides(dims, cuda::cudnn_plain));
    }
    CudnnDims query_dims() const { return {s_.batch, s_.heads, s_.queries, 1}; }
    CudnnDims score_dims() const { return {s_.batch, s_.heads, s_.queries, s_.keys}; }
    CudnnTensor scores() { return operations_.between(CUDNN_DATA_FLOAT, score_dims()); }
    CudnnTensor query_values() { return operations_.between(CUDNN_DATA_FLOAT, query_dims()); }

    CudnnTensor scaled(const CudnnTensor& x) {
        return operations_.pointwise(CUDNN_POINTWISE_MUL, x,
                                     CudnnOperations::value(AttentionTensor::scale, CUDNN_DATA_FLOAT),
                                     scores());
    }
    CudnnTensor scaled_scores() {
        return scaled(operations_.multiply(of_queries(AttentionTensor::q, s_.q, s_.width),
                                           transposed(AttentionTensor::k, s_.k, s_.width), scores()));
    }
    CudnnTensor without_hidden(const CudnnTensor& x);
    // Transposes the matrices of all heads' scores to keys × queries, as factors of a product.
    CudnnTensor by_key(const CudnnTensor& x) {
        int64_t size = s_.queries * s_.keys;
        return operations_.reshape(x, operations_.between(type_, {s_.batch, s_.heads, s_.keys, s_.queries},
                                                          {s_.heads * size, size, 1, s_.keys}));
    }
    // Sums over the heads that share keys.
    void multiply_and_share(const CudnnTensor& a, const CudnnTensor& b, const CudnnTensor& to) {
        if (s_.heads == s_.shared_heads) {
            operations_.multiply(a, b, to);
            return;
        }
        auto all = operations_.between(type_, {s_.batch, s_.heads, to.dims[2], to.dims[3]});
        operations_.reduce(CUDNN_REDUCE_TENSOR_ADD, operations_.multiply(a, b, all), to);
    }

    const AttentionShape& s_;
    cudnnDataType_t type_;
    CudnnOperations operations_;
};

// Query i sees key j where i + keys − queries >= j, or i >= j.
CudnnTensor AttentionGraph::without_hidden(const CudnnTensor& x) {
    if (!s_.is_causal) return x;
    auto whole = [&](cudnnDataType_t type) { return operations_.between(type, score_dims()); };
    auto query = operations_.index_along(2, x), key = operations_.index_along(3, x);
    if (counts_from_the_last(s_)) {
        query = operations_.pointwise(CUDNN_POINTWISE_ADD, query,
                                      CudnnOperations::value(AttentionTensor::keys, CUDNN_DATA_INT32),
                                      whole(CUDNN_DATA_INT32), CUDNN_DATA_INT32);
        query = operations_.pointwise(CUDNN_POINTWISE_SUB, query,
                                      CudnnOperations::value(AttentionTensor::queries, CUDNN_DATA_INT32),
                                      whole(CUDNN_DATA_INT32), CUDNN_DATA_INT32);
    }
    auto sees = operations_.pointwise(CUDNN_POINTWISE_CMP_GE, query, key, whole(CUDNN_DATA_BOOLEAN),
                                      CUDNN_DATA_BOOLEAN);
    return operations_.select(x, CudnnOperations::value(AttentionTensor::hidden, CUDNN_DATA_FLOAT), sees,
                              scores());
}

// y = softmax(scale q kᵀ) v
cuda::CudnnDescriptor AttentionGraph::forward(const cuda::CudnnTarget& target) {
    auto score = without_hidden(scaled_scores());
    auto most = operations_.reduce(CUDNN_REDUCE_TENSOR_MAX, score, query_values());
    auto power = operations_.pointwise(
        CUDNN_POINTWISE_EXP, operations_.pointwise(CUDNN_POINTWISE_SUB, score, most, scores()), scores());
    auto sum = operations_.reduce(CUDNN_REDUCE_TENSOR_ADD, power, query_values());
    operations_.pointwise(CUDNN_POINTWISE_ADD, most,
                          operations_.pointwise(CUDNN_POINTWISE_LOG, sum, query_values()),
                          of_each_query(AttentionTensor::log_sum_exp));
    auto weight =
        operations_.pointwise(CUDNN_POINTWISE_DIV, power, sum, operations_.between(type_, score_dims()));
    operations_.multiply(weight, of_keys(AttentionTensor::v, s_.v, s_.value_width),
                         of_queries(AttentionTensor::y, s_.y, s_.value_width));
    return operations_.graph(target);
}

// p = e^(score − log_sum_exp); dv = pᵀ dy; ds = p (dy vᵀ − Σ dy·y) scale; dk = dsᵀ q; dq = ds k
cuda::CudnnDescriptor AttentionGraph::backward(const cuda::CudnnTarget& target) {
    auto q = of_queries(AttentionTensor::q, s_.q, s_.width),
         dy = of_queries(AttentionTensor::dy, s_.y, s_.value_width);
    auto product = operations_.pointwise(
        CUDNN_POINTWISE_MUL, dy, of_queries(AttentionTensor::y, s_.y, s_.value_width),
        operations_.between(CUDNN_DATA_FLOAT, {s_.batch, s_.heads, s_.queries, s_.value_width}));
    auto rest = operations_.pointwise(
        CUDNN_POINTWISE_MUL, operations_.reduce(CUDNN_REDUCE_TENSOR_ADD, product, query_values()),
        CudnnOperations::value(AttentionTensor::one, CUDNN_DATA_FLOAT), of_each_query(AttentionTensor::rest));
    auto difference = operations_.pointwise(CUDNN_POINTWISE_SUB, scaled_scores(),
                                            of_each_query(AttentionTensor::log_sum_exp), scores());
    auto weight = operations_.pointwise(CUDNN_POINTWISE_EXP, without_hidden(difference), scores());
    multiply_and_share(by_key(weight), dy, of_keys(AttentionTensor::dv, s_.v, s_.value_width));

    auto dweight = operations_.multiply(dy, transposed(AttentionTensor::v, s_.v, s_.value_width), scores());
    auto centred = operations_.pointwise(CUDNN_POINTWISE_SUB, dweight, rest, scores());
    auto dscore = scaled(operations_.pointwise(CUDNN_POINTWISE_MUL, centred, weight, scores()));
    multiply_and_share(by_key(dscore), q, of_keys(AttentionTensor::dk, s_.k, s_.width));

    auto k = operations_.reshape(transposed(AttentionTensor::k, s_.k, s_.width),
                                 operations_.between(type_, {s_.batch, s_.shared_heads, s_.keys, s_.width},
                                                     {s_.k.batch, s_.k.head, s_.k.row, 1}));
    CudnnDims dims{s_.batch, s_.heads, s_.queries, s_.width};
    auto sums = CudnnOperations::stored(AttentionTensor::dq_sums, CUDNN_DATA_FLOAT, dims,
                                        cuda::cudnn_strides(dims, cuda::cudnn_plain));
    operations_.pointwise(CUDNN_POINTWISE_IDENTITY, operations_.multiply(dscore, k, sums),
                          of_queries(AttentionTensor::dq, s_.q, s_.width));
    return operations_.graph(target);
}

}  // namespace

cuda::CudnnDescriptor attention_graph(const AttentionShape& shape, DType dtype,
                                      const cuda::CudnnTarget& target) {
    return AttentionGraph(shape, dtype).forward(target);
}
cuda::CudnnDescriptor attention_backward_graph(const AttentionShape& shape, DType dtype,
                                               const cuda::CudnnTarget& target) {
    return AttentionGraph(shape, dtype).backward(target);
}

}  // namespace mge::ops
