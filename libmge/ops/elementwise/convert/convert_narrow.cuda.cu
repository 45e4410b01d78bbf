// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/convert/convert_narrow.cuda.h"

#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {
namespace {

MGE_DEVICE uint8_t code_of(const NarrowCodes& codes, float x) {
    if (x != x) return codes.nan;
    unsigned bits = __float_as_uint(x), sign = bits >> 31, size = bits & 0x7fffffff;
    int first = 0, last = codes.count[sign] - 1;
    while (first < last) {
        int middle = (first + last + 1) / 2;
        if (codes.least[sign][middle] <= size)
            first = middle;
        else
            last = middle - 1;
    }
    return codes.code[sign][first];
}

template <class T>
__global__ void to_codes(const T* x, uint8_t* y, int64_t n, NarrowCodes codes) {
    for (int64_t i = first_piece(); i < n; i += piece_step()) y[i] = code_of(codes, to_float(x[i]));
}

template <class T>
__global__ void to_low_bits(const T* x, uint8_t* y, int64_t n, unsigned mask) {
    for (int64_t i = first_piece(); i < n; i += piece_step()) {
        float value = to_float(x[i]);
        bool is_held = value >= -0x1p63f && value < 0x1p63f;
        y[i] = uint8_t((is_held ? (unsigned long long)((long long)value) : 0) & mask);
    }
}

}  // namespace

void convert_by_codes(Stream stream, int type, const void* x, uint8_t* y, int64_t n,
                      const NarrowCodes& codes) {
    dispatch_type(type, FloatTypes{}, [&]<class T>(T*) {
        launch(to_codes<T>, grid_for(n), block_threads, 0, stream, static_cast<const T*>(x), y, n, codes);
    });
}
void convert_to_low_bits(Stream stream, int type, const void* x, uint8_t* y, int64_t n, unsigned mask) {
    dispatch_type(type, FloatTypes{}, [&]<class T>(T*) {
        launch(to_low_bits<T>, grid_for(n), block_threads, 0, stream, static_cast<const T*>(x), y, n, mask);
    });
}

}  // namespace mge::cuda
