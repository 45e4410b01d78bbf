// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operations of cuDNN's, one behind the other, as a graph of them is built: each gives a tensor that the next
// may read.

#include <cstdint>
#include <span>
#include <vector>

#include "libmge/kernel/cuda/cudnn/cudnn_graph.h"

namespace mge::cuda {

struct CudnnTensor {
    CudnnDescriptor descriptor;
    CudnnDims dims{}, strides{};
};

class CudnnOperations {
public:
    // Numbers of tensors that are not stored begin here.
    explicit CudnnOperations(int64_t first_between) : next_(first_between) {}

    static CudnnTensor stored(int64_t id, cudnnDataType_t type, const CudnnDims& dims,
                              const CudnnDims& strides);
    // A number of the host.
    static CudnnTensor value(int64_t id, cudnnDataType_t type);
    // An intermediate tensor; row-major by default.
    CudnnTensor between(cudnnDataType_t type, const CudnnDims& dims);
    CudnnTensor between(cudnnDataType_t type, const CudnnDims& dims, const CudnnDims& strides);

    // Each gives `to` back.
    CudnnTensor pointwise(cudnnPointwiseMode_t mode, const CudnnTensor& x, const CudnnTensor& to,
                          cudnnDataType_t math = CUDNN_DATA_FLOAT);
    CudnnTensor pointwise(cudnnPointwiseMode_t mode, const CudnnTensor& x, const CudnnTensor& b,
                          const CudnnTensor& to, cudnnDataType_t math = CUDNN_DATA_FLOAT);
    // The index of each element of x along an axis, as int32.
    CudnnTensor index_along(int64_t axis, const CudnnTensor& x);
    // x where `takes_x`, otherwise b.
    CudnnTensor select(const CudnnTensor& x, const CudnnTensor& b, const CudnnTensor& takes_x,
                       const CudnnTensor& to);
    // Along the axes in which `to` has one element or fewer heads than x.
    CudnnTensor reduce(cudnnReduceTensorOp_t how, const CudnnTensor& x, const CudnnTensor& to);
    // The products of the matrices of a and b in their last two axes.
    CudnnTensor multiply(const CudnnTensor& a, const CudnnTensor& b, const CudnnTensor& to);
    // The same elements in other dims.
    CudnnTensor reshape(const CudnnTensor& x, const CudnnTensor& to);

    CudnnDescriptor graph(const CudnnTarget& target) const {
        return cudnn_operation_graph(operations_, target);
    }

private:
    CudnnTensor point(const CudnnDescriptor& what, const CudnnTensor& x, const CudnnTensor* b,
                      const CudnnTensor* takes_x, const CudnnTensor& to);
    std::vector<CudnnDescriptor> operations_;
    int64_t next_;
};

}  // namespace mge::cuda
