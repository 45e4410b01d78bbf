// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/linalg/matmul.cuda.h"

#include "libmge/kernel/cuda/activation.cuh"
#include "libmge/kernel/cuda/products.cuh"

namespace mge::cuda {
namespace {

// Products of narrow integers are sums in int32.
template <class T, bool = is_integer<T> && sizeof(T) < 4>
struct Product {
    using Type = T;
};
template <class T>
struct Product<T, true> {
    using Type = int32_t;
};

template <class T>
struct MatmulWork {
    using Value = T;
    using Out = typename Product<T>::Type;

    MatmulArguments x;
    ProductExtents extents;
    float* parts;

    MGE_DEVICE int64_t offset(int64_t batch, const int64_t* strides) const {
        int64_t result = 0;
        for (int axis = x.axes - 1; axis >= 0; --axis) {
            result += batch % x.batch[axis] * strides[axis];
            batch /= x.batch[axis];
        }
        return result;
    }
    MGE_DEVICE Strided<T> left(int64_t batch) const {
        return {static_cast<const T*>(x.a) + offset(batch, x.a_batch_stride), x.a_stride_m, x.a_stride_k};
    }
    MGE_DEVICE Strided<T> right(int64_t batch) const {
        return {static_cast<const T*>(x.b) + offset(batch, x.b_batch_stride), x.b_stride_n, x.b_stride_k};
    }
    MGE_DEVICE SumOf<T> summand(const void* from, bool is_wide, int64_t i) const {
        if (is_wide) return SumOf<T>(widen(static_cast<const Out*>(from)[i]));
        return SumOf<T>(widen(static_cast<const T*>(from)[i]));
    }
    MGE_DEVICE void put(int64_t batch, int64_t row, int64_t column, SumOf<T> sum) const {
        int64_t at = (batch * extents.rows + row) * extents.columns + column;
        if (x.bias) sum += summand(x.bias, x.is_bias_wide, column);
        if (x.residual) sum += summand(x.residual, x.is_residual_wide, at);
        auto* y = static_cast<Out*>(x.y);
        if constexpr (is_integer<T>)
            y[at] = Out(sum);
        else
            y[at] = from_float<T>(activated(x.activation, sum));
    }
};

}  // namespace

void run_matmul(Stream stream, int type, const MatmulArguments& x) {
    dispatch_type(type, NumberTypes{}, [&]<class T>(T*) {
        launch_products(stream, MatmulWork<T>{x, x.extents, x.parts});
    });
}

}  // namespace mge::cuda
