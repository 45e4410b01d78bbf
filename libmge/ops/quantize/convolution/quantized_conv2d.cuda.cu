// SPDX-License-Identifier: Apache-2.0
// Convolutions of steps, as those of numbers are made (ops/nn/convolution/conv2d.cuda.cu): sums in int32.
#include "libmge/ops/quantize/convolution/quantized_conv2d.cuda.h"

#include "libmge/kernel/cuda/activation.cuh"
#include "libmge/kernel/cuda/products.cuh"
#include "libmge/kernel/cuda/steps.cuh"
#include "libmge/ops/nn/convolution/windows.cuda.cuh"

namespace mge::cuda {
namespace {

using Sum = SumOf<int32_t>;

MGE_DEVICE int32_t zero_in(const int32_t* zero) { return zero ? *zero : 0; }

template <class T>
struct StepWeights : Strided<T> {
    int32_t zero;
    MGE_DEVICE Sum value(int64_t row, int64_t column) const {
        return Sum(int32_t(this->data[row + column]) - zero);
    }
};

// Outside of the image there are zeros.
template <class T>
struct StepWindows : WindowsByPixel<T> {
    int32_t zero;
    MGE_DEVICE Sum value(const Pixel& row, const Pixel& column) const {
        if (!this->is_inside(row, column)) return 0;
        return Sum(int32_t(this->x[row.offset + column.offset]) - zero);
    }
};

MGE_DEVICE int32_t step_at(const void* steps, int type, int64_t i) {
    if (type == type_number<uint8_t>) return static_cast<const uint8_t*>(steps)[i];
    if (type == type_number<int8_t>) return static_cast<const int8_t*>(steps)[i];
    return static_cast<const int32_t*>(steps)[i];
}
MGE_DEVICE void put_step(void* steps, int type, int64_t i, int32_t step) {
    if (type == type_number<int32_t>)
        static_cast<int32_t*>(steps)[i] = step;
    else
        static_cast<uint8_t*>(steps)[i] = uint8_t(step);
}

// The epilogue of the sum of an element of y.
struct StepEpilogue {
    StepConvArguments a;

    MGE_DEVICE void put(const OutputPlace& place, Sum sum) const {
        if (a.bias) sum += Sum(a.bias[place.channel]);
        put_step(a.y, a.y_type, place.offset, a.is_exact ? int32_t(sum) : finished(int32_t(sum), place));
    }
    // Rounded sums: contracted with a product they would be other steps than the host's.
    MGE_DEVICE int32_t finished(int32_t sum, const OutputPlace& place) const {
        float real = float(sum) * a.scale[a.is_scale_per_channel ? place.channel : 0];
        if (a.inner_scale) {
            float scale = *a.inner_scale, zero = float(zero_in(a.inner_zero));
            int step = steps::to_step(true, real, scale, zero, {a.inner_lower, a.inner_upper});
            real = steps::to_real(step, zero, scale);
        }
        if (a.shift) real = __fadd_rn(real, a.shift[place.channel]);
        if (a.residual) {
            int32_t step = step_at(a.residual, a.residual_type, place.offset);
            real = __fadd_rn(real, steps::to_real(step, float(zero_in(a.residual_zero)), *a.residual_scale));
        }
        float x = activated(a.activation, real), scale = *a.y_scale, zero = float(zero_in(a.y_zero));
        steps::StepRange range{a.lower, a.upper};
        return steps::to_step(a.is_even, x, scale, zero, range);
    }
};

template <class X, class Weight>
struct StepConvWork {
    using Value = int32_t;
    StepEpilogue epilogue;
    ProductExtents extents;
    float* parts = nullptr;

    MGE_DEVICE StepWeights<Weight> left(int64_t group) const {
        auto& a = epilogue.a;
        int64_t window = a.conv.ic * a.conv.kernel_size.value;
        auto* weight = static_cast<const Weight*>(a.weight) + group * a.conv.oc * window;
        return {{weight, window, 1}, zero_in(a.weight_zero)};
    }
    MGE_DEVICE StepWindows<X> right(int64_t group) const {
        auto& a = epilogue.a;
        auto* x = static_cast<const X*>(a.x) + group * a.conv.ic * a.conv.in_steps.channel;
        return {{{x, a.conv}}, zero_in(a.x_zero)};
    }
    MGE_DEVICE void put(int64_t group, int64_t row, int64_t column, Sum sum) const {
        epilogue.put(output_place(epilogue.a.conv, group, row, column), sum);
    }
};

// In the order of y.
__global__ void finish(StepEpilogue epilogue, const int32_t* sums, int64_t elements) {
    auto& c = epilogue.a.conv;
    const int64_t channels = c.groups * c.oc, size = c.out_size.value;
    for (int64_t i = first_piece(); i < elements; i += piece_step()) {
        int64_t rest = i, at = i, channel;
        if (c.out_steps.channel == 1) {
            channel = split_index(rest, channels);
        } else {
            const int64_t pixel = split_index(rest, size);
            channel = split_index(rest, channels);
            at = (rest * size + pixel) * channels + channel;
        }
        epilogue.put({channel, i}, Sum(sums[at]));
    }
}

}  // namespace

void convolve_steps(Stream stream, int x_type, int weight_type, const StepConvArguments& x) {
    using ByteTypes = Types<uint8_t, int8_t>;
    dispatch_type(x_type, ByteTypes{}, [&]<class X>(X*) {
        dispatch_type(weight_type, ByteTypes{}, [&]<class Weight>(Weight*) {
            launch_products(stream, StepConvWork<X, Weight>{{x}, x.extents});
        });
    });
}

void finish_steps(Stream stream, const StepConvArguments& x, const int32_t* sums) {
    const int64_t elements = x.extents.elements();
    launch(finish, grid_for(elements), block_threads, 0, stream, StepEpilogue{x}, sums, elements);
}

}  // namespace mge::cuda
