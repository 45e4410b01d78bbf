// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/cudnn/cudnn_operations.h"

namespace mge::cuda {
namespace {

CudnnDescriptor point_descriptor(cudnnPointwiseMode_t mode, cudnnDataType_t math) {
    CudnnDescriptor d(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    d.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
    d.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, math);
    return d;
}

}  // namespace

CudnnTensor CudnnOperations::stored(int64_t id, cudnnDataType_t type, const CudnnDims& dims,
                                    const CudnnDims& strides) {
    return {cudnn_tensor(id, type, dims, strides, CudnnTensorKind::stored), dims, strides};
}

CudnnTensor CudnnOperations::value(int64_t id, cudnnDataType_t type) {
    constexpr CudnnDims one{1, 1, 1, 1};
    return {cudnn_tensor(id, type, one, one, CudnnTensorKind::value), one, one};
}

CudnnTensor CudnnOperations::between(cudnnDataType_t type, const CudnnDims& dims) {
    return between(type, dims, cudnn_strides(dims, cudnn_plain));
}
CudnnTensor CudnnOperations::between(cudnnDataType_t type, const CudnnDims& dims, const CudnnDims& strides) {
    return {cudnn_tensor(next_++, type, dims, strides, CudnnTensorKind::between), dims, strides};
}

CudnnTensor CudnnOperations::point(const CudnnDescriptor& what, const CudnnTensor& x, const CudnnTensor* b,
                                   const CudnnTensor* takes_x, const CudnnTensor& to) {
    CudnnDescriptor d(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    d.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, what);
    d.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x.descriptor);
    if (b) d.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b->descriptor);
    if (takes_x) d.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, takes_x->descriptor);
    operations_.push_back(d.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to.descriptor).finalize());
    return to;
}

CudnnTensor CudnnOperations::pointwise(cudnnPointwiseMode_t mode, const CudnnTensor& x, const CudnnTensor& to,
                                       cudnnDataType_t math) {
    return point(point_descriptor(mode, math).finalize(), x, nullptr, nullptr, to);
}
CudnnTensor CudnnOperations::pointwise(cudnnPointwiseMode_t mode, const CudnnTensor& x, const CudnnTensor& b,
                                       const CudnnTensor& to, cudnnDataType_t math) {
    return point(point_descriptor(mode, math).finalize(), x, &b, nullptr, to);
}

CudnnTensor CudnnOperations::index_along(int64_t axis, const CudnnTensor& x) {
    auto what = point_descriptor(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT);
    what.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, axis).finalize();
    return point(what, x, nullptr, nullptr, between(CUDNN_DATA_INT32, x.dims));
}

CudnnTensor CudnnOperations::select(const CudnnTensor& x, const CudnnTensor& b, const CudnnTensor& takes_x,
                                    const CudnnTensor& to) {
    auto what = point_descriptor(CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT).finalize();
    return point(what, x, &b, &takes_x, to);
}

CudnnTensor CudnnOperations::reduce(cudnnReduceTensorOp_t how, const CudnnTensor& x, const CudnnTensor& to) {
    CudnnDescriptor what(CUDNN_BACKEND_REDUCTION_DESCRIPTOR), d(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    what.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, how);
    what.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT).finalize();
    d.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, what);
    d.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x.descriptor);
    operations_.push_back(d.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, to.descriptor).finalize());
    return to;
}

CudnnTensor CudnnOperations::multiply(const CudnnTensor& a, const CudnnTensor& b, const CudnnTensor& to) {
    CudnnDescriptor what(CUDNN_BACKEND_MATMUL_DESCRIPTOR), d(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    what.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT).finalize();
    d.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, what);
    d.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a.descriptor);
    d.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b.descriptor);
    operations_.push_back(d.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, to.descriptor).finalize());
    return to;
}

CudnnTensor CudnnOperations::reshape(const CudnnTensor& x, const CudnnTensor& to) {
    CudnnDescriptor d(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    d.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x.descriptor);
    operations_.push_back(d.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, to.descriptor).finalize());
    return to;
}

}  // namespace mge::cuda
