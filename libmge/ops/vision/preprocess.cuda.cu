// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/preprocess.cuda.h"

#include "libmge/kernel/cuda/grid.cuh"
#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {
namespace {

// A thread takes neighbouring pixels in all planes: x is read once, and y is written in packs.
template <class T, int pack>
__global__ void preprocess_pixels(Preprocessing p, const T* x, const float* mean, const float* scale,
                                  float* y) {
    int64_t packs = p.images * p.pixels / pack;
    for (int64_t i = first_piece(); i < packs; i += piece_step()) {
        int64_t image = i * pack, pixel = split_index(image, p.pixels);
        const T* from = x + image * p.channels * p.pixels + pixel * p.pixel_stride;
        for (int64_t plane = 0; plane < p.planes; ++plane) {
            Pack<float, pack> made;
#pragma unroll
            for (int k = 0; k < pack; ++k) {
                float value = plane < p.channels
                                  ? float(widen(from[k * p.pixel_stride + plane * p.channel_stride]))
                                  : 0;
                made.v[k] = (value - mean[plane]) * scale[plane];
            }
            *reinterpret_cast<Pack<float, pack>*>(y + (image * p.planes + plane) * p.pixels + pixel) = made;
        }
    }
}

}  // namespace

void preprocess(Stream stream, int type, const Preprocessing& p, const void* x, const float* mean,
                const float* scale, float* y) {
    constexpr int pack = pack_size<float>;
    int pixels_at_once = p.pixels % pack == 0 && is_aligned(y) ? pack : 1;
    dispatch_type(type, NumberTypes{}, [&]<class T>(T*) {
        auto* kernel = pixels_at_once == 1 ? preprocess_pixels<T, 1> : preprocess_pixels<T, pack>;
        launch(kernel, grid_for(p.images * p.pixels / pixels_at_once), block_threads, 0, stream, p,
               static_cast<const T*>(x), mean, scale, y);
    });
}

}  // namespace mge::cuda
