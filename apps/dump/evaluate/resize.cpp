// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/evaluate/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "libmge/device/device.h"

namespace mge::dump {
namespace {

constexpr int weight_bits = 32 - 8 - 2;  // as in Pillow: a sum of weights times pixels fits 32 bits

// The pixels of the source that one pixel of the result is made of.
struct Window {
    int64_t first = 0;
    std::vector<int32_t> weights;
};

int32_t to_fixed(double weight) {
    double scaled = weight * (1 << weight_bits);
    return int32_t(weight < 0 ? scaled - 0.5 : scaled + 0.5);
}

Window window_of(int64_t target, int64_t from, double scale) {
    double filter_scale = std::max(scale, 1.0), support = filter_scale;
    double center = (double(target) + 0.5) * scale;
    auto first = std::max<int64_t>(int64_t(center - support + 0.5), 0);
    auto last = std::min(int64_t(center + support + 0.5), from);
    std::vector<double> weights;
    double sum = 0, inverse = 1.0 / filter_scale;
    for (int64_t i = 0; i < last - first; ++i) {
        double distance = std::abs((double(i + first) - center + 0.5) * inverse);
        weights.push_back(distance < 1 ? 1 - distance : 0);
        sum += weights.back();
    }
    Window window{first, {}};
    for (double weight : weights) window.weights.push_back(to_fixed(sum != 0 ? weight / sum : weight));
    return window;
}

std::vector<Window> windows_of(int64_t from, int64_t to) {
    std::vector<Window> windows;
    double scale = double(from) / double(to);
    for (int64_t i = 0; i < to; ++i) windows.push_back(window_of(i, from, scale));
    return windows;
}

uint8_t clipped(int32_t sum) { return uint8_t(std::clamp(sum >> weight_bits, 0, 255)); }

// Filters along an axis. Elements of that axis are `inner` bytes apart, and there are `outer` such blocks.
void filter(const uint8_t* from, uint8_t* to, int64_t outer, int64_t length, int64_t inner,
            const std::vector<Window>& windows) {
    auto count = int64_t(windows.size());
    for (int64_t block = 0; block < outer; ++block)
        for (int64_t i = 0; i < count; ++i) {
            auto& window = windows[size_t(i)];
            const uint8_t* first = from + (block * length + window.first) * inner;
            uint8_t* target = to + (block * count + i) * inner;
            for (int64_t k = 0; k < inner; ++k) {
                int32_t sum = 1 << (weight_bits - 1);
                for (size_t j = 0; j < window.weights.size(); ++j)
                    sum += first[int64_t(j) * inner + k] * window.weights[j];
                target[k] = clipped(sum);
            }
        }
}

Tensor new_image_like(const Tensor& image, PixelSize size) {
    return empty_tensor({DType::u8, {1, size.height, size.width, image.shape()[3]}, {}}, host_device);
}

}  // namespace

PixelSize size_with_shorter_side(PixelSize size, int64_t shorter) {
    if (size.width <= size.height)
        return {int64_t(double(shorter) * double(size.height) / double(size.width)), shorter};
    return {shorter, int64_t(double(shorter) * double(size.width) / double(size.height))};
}

Tensor resize_bilinear(const Tensor& image, PixelSize size) {
    int64_t height = image.shape()[1], width = image.shape()[2], channels = image.shape()[3];
    Tensor wide = image;
    if (size.width != width) {
        wide = new_image_like(image, {height, size.width});
        filter(image.data<uint8_t>(), wide.data<uint8_t>(), height, width, channels,
               windows_of(width, size.width));
    }
    if (size.height == height) return wide;
    Tensor result = new_image_like(image, size);
    filter(wide.data<uint8_t>(), result.data<uint8_t>(), 1, height, size.width * channels,
           windows_of(height, size.height));
    return result;
}

Tensor crop_center(const Tensor& image, PixelSize size) {
    int64_t height = image.shape()[1], width = image.shape()[2], channels = image.shape()[3];
    Tensor result = new_image_like(image, size);
    std::memset(result.data(), 0, result.spec().bytes());
    // Python rounds halves to even. A border on a side is half of what is missing, rounded down.
    auto offset = [](int64_t have, int64_t want) {
        return have >= want ? int64_t(std::nearbyint(double(have - want) / 2)) : -((want - have) / 2);
    };
    int64_t top = offset(height, size.height), left = offset(width, size.width);
    int64_t first = std::max<int64_t>(left, 0), last = std::min(left + size.width, width);
    for (int64_t y = 0; y < size.height; ++y) {
        if (y + top < 0 || y + top >= height || last <= first) continue;
        const uint8_t* from = image.data<uint8_t>() + ((y + top) * width + first) * channels;
        uint8_t* to = result.data<uint8_t>() + (y * size.width + first - left) * channels;
        std::copy_n(from, (last - first) * channels, to);
    }
    return result;
}

}  // namespace mge::dump
