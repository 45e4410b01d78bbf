// SPDX-License-Identifier: Apache-2.0
// Convolutions as products of matrices whose elements are found in the images while they are read ("implicit
// GEMM"); the batches of products are the groups.
//
//     y        (oc, pixels of y)     = weight (oc, window) × windows of x (window, pixels of y)
//     dx       (ic, pixels of x)     = weight (ic, oc and kernel) × what of dy saw the pixel
//     dweight  (oc, window)          = dy (oc, pixels of y) × windows of x (pixels of y, window)

#include "libmge/ops/nn/convolution/conv2d.cuda.h"

#include "libmge/kernel/cuda/activation.cuh"
#include "libmge/kernel/cuda/products.cuh"
#include "libmge/ops/nn/convolution/windows.cuda.cuh"

namespace mge::cuda {
namespace {

template <class T>
struct WindowsByElement : Windows<T> {
    using Row = Pixel;
    using Column = Pixel;
    MGE_DEVICE bool runs_along_k() const { return true; }
    MGE_DEVICE Row row(int64_t element) const { return this->step(element); }
    MGE_DEVICE Column column(int64_t pixel) const { return this->begin(pixel); }
    MGE_DEVICE float value(const Row& row, const Column& column) const { return this->at(column, row); }
};

// The weight of backward data: by channel of x, and channel and element of the kernel of dy.
template <class T>
struct WeightByInput {
    const T* weight;  // that of the group
    ConvExtents c;

    using Row = int64_t;
    using Column = int64_t;
    MGE_DEVICE bool runs_along_k() const { return true; }
    MGE_DEVICE Row row(int64_t channel) const { return channel * c.kernel_size.value; }
    MGE_DEVICE Column column(int64_t k) const {
        int filter = quotient(int(k), c.kernel_size), size = int(c.kernel_size.value);
        return filter * c.ic * size + (k - int64_t(filter) * size);
    }
    MGE_DEVICE float value(Row row, Column column) const { return widen(weight[row + column]); }
};

// im2col of dy for a pixel of x: by that pixel, and channel and element of the kernel.
template <class T>
struct Witnesses {
    const T* dy;  // that of the group
    ConvExtents c;

    using Row = Pixel;
    using Column = Pixel;
    MGE_DEVICE bool runs_along_k() const { return false; }
    MGE_DEVICE Row row(int64_t number) const {
        int64_t image = long_quotient(number, c.in_size);
        int64_t rest = number - image * c.in_size.value;
        int64_t row = long_quotient(rest, c.in_columns);
        int64_t column = rest - row * c.in_columns.value;
        return {image * c.groups * c.oc * c.out_size.value,
                {int(row) + c.padding[0], int(column) + c.padding[1]}};
    }
    MGE_DEVICE Column column(int64_t k) const {
        Pixel p = window_element(c, int(k));
#pragma unroll
        for (int i = 0; i < 2; ++i) p.at[i] *= c.dilation[i];
        p.offset *= c.out_steps.channel;
        return p;
    }
    MGE_DEVICE float value(const Row& row, const Column& column) const {
        int at[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            int distance = row.at[i] - column.at[i];
            if (distance < 0) return 0;
            at[i] = quotient(distance, c.by_stride[i]);
            if (at[i] * c.stride[i] != distance || at[i] >= c.out[i]) return 0;
        }
        int64_t pixel = int64_t(at[0]) * c.out[1] + at[1];
        return widen(dy[row.offset + column.offset + pixel * c.out_steps.pixel]);
    }
};

// dy of backward weight: by channel, and pixel of all images.
template <class T>
struct OutputByChannel {
    const T* dy;  // that of the group
    ConvExtents c;

    using Row = int64_t;
    using Column = int64_t;
    MGE_DEVICE bool runs_along_k() const { return true; }
    MGE_DEVICE Row row(int64_t channel) const { return channel * c.out_steps.channel; }
    MGE_DEVICE Column column(int64_t pixel) const {
        return pixel_offset(pixel, c.out_size, c.groups * c.oc, c.out_steps);
    }
    MGE_DEVICE float value(Row row, Column column) const { return widen(dy[row + column]); }
};

template <class T>
struct ConvWork {
    using Value = T;
    ConvArguments a;
    ProductExtents extents;
    float* parts;

    explicit ConvWork(const ConvArguments& from) : a(from), extents(from.extents), parts(from.parts) {}
    MGE_DEVICE int64_t window() const { return a.conv.ic * a.conv.kernel_size.value; }
    MGE_DEVICE const T* weight(int64_t group) const {
        return static_cast<const T*>(a.weight) + group * a.conv.oc * window();
    }
    MGE_DEVICE const T* x(int64_t group) const {
        return static_cast<const T*>(a.x) + group * a.conv.ic * a.conv.in_steps.channel;
    }
    MGE_DEVICE const T* dy(int64_t group) const {
        return static_cast<const T*>(a.dy) + group * a.conv.oc * a.conv.out_steps.channel;
    }
    MGE_DEVICE T* result() const { return static_cast<T*>(a.result); }
};

template <class T>
struct Forward : ConvWork<T> {
    using ConvWork<T>::ConvWork;
    MGE_DEVICE Strided<T> left(int64_t group) const { return {this->weight(group), this->window(), 1}; }
    MGE_DEVICE WindowsByPixel<T> right(int64_t group) const { return {{this->x(group), this->a.conv}}; }
    MGE_DEVICE void put(int64_t group, int64_t row, int64_t column, float sum) const {
        auto [channel, at] = output_place(this->a.conv, group, row, column);
        if (this->a.bias) sum += widen(static_cast<const T*>(this->a.bias)[channel]);
        if (this->a.residual) sum += widen(static_cast<const T*>(this->a.residual)[at]);
        this->result()[at] = from_float<T>(activated(this->a.activation, sum));
    }
};

template <class T>
struct BackwardData : ConvWork<T> {
    using ConvWork<T>::ConvWork;
    MGE_DEVICE WeightByInput<T> left(int64_t group) const { return {this->weight(group), this->a.conv}; }
    MGE_DEVICE Witnesses<T> right(int64_t group) const { return {this->dy(group), this->a.conv}; }
    MGE_DEVICE void put(int64_t group, int64_t row, int64_t column, float sum) const {
        auto& c = this->a.conv;
        int64_t at = pixel_offset(column, c.in_size, c.groups * c.ic, c.in_steps);
        this->result()[at + (group * c.ic + row) * c.in_steps.channel] = from_float<T>(sum);
    }
};

template <class T>
struct BackwardWeight : ConvWork<T> {
    using ConvWork<T>::ConvWork;
    MGE_DEVICE OutputByChannel<T> left(int64_t group) const { return {this->dy(group), this->a.conv}; }
    MGE_DEVICE WindowsByElement<T> right(int64_t group) const { return {{this->x(group), this->a.conv}}; }
    MGE_DEVICE void put(int64_t group, int64_t row, int64_t column, float sum) const {
        int64_t at = (group * this->extents.rows + row) * this->extents.columns + column;
        this->result()[at] = from_float<T>(sum);
    }
};

}  // namespace

void run_conv2d(Stream stream, int type, const ConvArguments& arguments) {
    dispatch_type(type, FloatTypes{}, [&]<class T>(T*) { launch_products(stream, Forward<T>(arguments)); });
}
void run_conv2d_backward_data(Stream stream, int type, const ConvArguments& arguments) {
    dispatch_type(type, FloatTypes{},
                  [&]<class T>(T*) { launch_products(stream, BackwardData<T>(arguments)); });
}
void run_conv2d_backward_weight(Stream stream, int type, const ConvArguments& arguments) {
    dispatch_type(type, FloatTypes{},
                  [&]<class T>(T*) { launch_products(stream, BackwardWeight<T>(arguments)); });
}

}  // namespace mge::cuda
