// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/preprocess.h"

#include <algorithm>

#include "libmge/kernel/cpu/convolution/pixels.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

struct State {
    DType dtype;
    int64_t images, channels, planes, pixels;  // planes: of the result
    int64_t pixel_stride, channel_stride;      // those of x
};

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto &x = p.inputs[0].shape, &y = p.outputs[0].shape;
    bool last = p.as<Preprocess::Params>().channels_last;
    int64_t channels = last ? x[3] : x[1], pixels = y[2] * y[3];
    return Prepared::make(
        State{p.inputs[0].dtype, y[0], channels, y[1], pixels, last ? channels : 1, last ? 1 : pixels});
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    const float *mean = launch.in<float>(1), *scale = launch.in<float>(2);
    dispatch_dtype(s.dtype, NumberTypes{}, [&]<class T>(std::type_identity<T>) {
        float* y = launch.out<float>(0);
        for (int64_t n = 0; n < s.images; ++n)
            for (int64_t c = 0; c < s.planes; ++c)
                for (int64_t i = 0; i < s.pixels; ++i) {
                    const T* image = launch.in<T>(0) + n * s.channels * s.pixels;
                    float x = c < s.channels ? float(image[i * s.pixel_stride + c * s.channel_stride]) : 0.f;
                    *y++ = (x - mean[c]) * scale[c];
                }
    });
}

// Calls fn(image, first pixel, last pixel) on parts of all images.
template <class Fn>
void for_parts(const State& s, int threads, Fn&& fn) {
    par_for(threads, s.images * s.pixels, parallel_grain / std::max<int64_t>(s.planes, 1) + 1,
            [&](int64_t begin, int64_t end) {
                while (begin < end) {
                    int64_t image = begin / s.pixels, first = begin % s.pixels;
                    int64_t last = std::min(s.pixels, first + end - begin);
                    fn(image, first, last);
                    begin += last - first;
                }
            });
}

void fill_padding(const State& s, const Launch& launch, int64_t image, int64_t first, int64_t last) {
    for (int64_t c = s.channels; c < s.planes; ++c)
        std::fill(launch.out<float>(0) + (image * s.planes + c) * s.pixels + first,
                  launch.out<float>(0) + (image * s.planes + c) * s.pixels + last,
                  (0.f - launch.in<float>(1)[c]) * launch.in<float>(2)[c]);
}

template <class T>
void normalise(const void* from, int64_t stride, float mean, float scale, float* y, int64_t n) {
    auto* x = static_cast<const T*>(from);
    for (int64_t i = 0; i < n; ++i) y[i] = (float(x[i * stride]) - mean) * scale;
}

void run_planes(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto run = normalise<float>;
    dispatch_dtype(s.dtype, NumberTypes{}, [&]<class T>(std::type_identity<T>) { run = normalise<T>; });
    for_parts(s, launch.threads, [&](int64_t image, int64_t first, int64_t last) {
        for (int64_t c = 0; c < s.channels; ++c) {
            int64_t from = image * s.channels * s.pixels + c * s.channel_stride + first * s.pixel_stride;
            run(launch.in<std::byte>(0) + from * int64_t(size_of(s.dtype)), s.pixel_stride,
                launch.in<float>(1)[c], launch.in<float>(2)[c],
                launch.out<float>(0) + (image * s.planes + c) * s.pixels + first, last - first);
        }
        fill_padding(s, launch, image, first, last);
    });
}

Support supports_colours(const Problem& p) {
    if (Support plain = plain_layouts(p); !plain) return plain;
    int64_t channels = p.inputs[0].shape[3];
    bool is_last = p.as<Preprocess::Params>().channels_last;
    if (p.inputs[0].dtype != DType::u8 || !is_last || (channels != 3 && channels != 4))
        return {"three or four neighbouring uint8 channels only"};
    return supported;
}

void run_colours(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    for_parts(s, launch.threads, [&](int64_t image, int64_t first, int64_t last) {
        cpu::PixelRange range{launch.in<uint8_t>(0) + (image * s.pixels + first) * s.channels,
                              launch.out<float>(0) + image * s.planes * s.pixels + first,
                              last - first,
                              s.pixels,
                              launch.in<float>(1),
                              launch.in<float>(2)};
        if (s.channels == 3)
            cpu::split_three_colours(range);
        else
            cpu::split_four_colours(range);
        fill_padding(s, launch, image, first, last);
    });
}

}  // namespace

KernelList kernels(Cpu, Preprocess) {
    static constexpr Algorithm list[] = {
        {"colours", supports_colours, prepare, run_colours},
        {"planes", plain_layouts, prepare, run_planes},
        {"reference", plain_layouts, prepare, run_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops
