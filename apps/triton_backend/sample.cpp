// SPDX-License-Identifier: Apache-2.0
#include "apps/triton_backend/sample.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace mge::triton {

namespace {

// Bounds for the same row in two runs, whose algorithms may differ.
constexpr double RelativeBound = 1e-2, AbsoluteBound = 1e-3;

double value_of_half(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = std::ldexp(fraction | 1024, exponent - 25);
    if (exponent == 0) value = std::ldexp(fraction, -24);
    if (exponent == 31) value = fraction ? std::nan("") : std::numeric_limits<double>::infinity();
    return bits >> 15 ? -value : value;
}

template <class T>
double read(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return static_cast<double>(value);
}

double value_at(LiteDataType type, const std::byte* from) {
    switch (type) {
        case LITE_FLOAT:
            return read<float>(from);
        case LITE_HALF: {
            uint16_t bits;
            std::memcpy(&bits, from, sizeof bits);
            return value_of_half(bits);
        }
        case LITE_INT:
            return read<int32_t>(from);
        case LITE_INT16:
            return read<int16_t>(from);
        case LITE_INT8:
            return read<int8_t>(from);
        case LITE_BOOL:
        case LITE_UINT8:
            return read<uint8_t>(from);
        case LITE_UINT:
            return read<uint32_t>(from);
        case LITE_UINT16:
            return read<uint16_t>(from);
        case LITE_DOUBLE:
            return read<double>(from);
        default:
            return read<int64_t>(from);
    }
}

// Integers and bools are 0 or 1, which most indices may be; floats are from 1 to 2.
void fill(LiteDataType type, size_t bytes, std::mt19937& random, std::byte* to) {
    std::memset(to, 0, bytes);
    for (std::byte* const end = to + bytes; to != end; to += size_of(type)) {
        const auto bits = static_cast<uint32_t>(random());
        if (type == LITE_FLOAT) {
            const float value = 1 + static_cast<float>(bits >> 8) * 0x1p-24F;
            std::memcpy(to, &value, sizeof value);
        } else if (type == LITE_DOUBLE) {
            const double value = 1 + bits * 0x1p-32;
            std::memcpy(to, &value, sizeof value);
        } else if (type == LITE_HALF) {
            const auto half = static_cast<uint16_t>(0x3C00 | (bits & 1023));
            std::memcpy(to, &half, sizeof half);
        } else {
            *to = static_cast<std::byte>(bits & 1);  // little-endian
        }
    }
}

bool is_close(double a, double b) {
    return a == b || (a != a && b != b) || std::abs(a - b) <= AbsoluteBound + RelativeBound * std::abs(b);
}

}  // namespace

std::vector<OutputValues> run_on_samples(Network& network, int64_t factor) {
    for (size_t i = 0; i < network.inputs().size(); ++i) {
        const TensorInfo& info = network.inputs()[i];
        std::vector<int64_t> shape = info.sizes;
        if (!shape.empty()) shape[0] *= factor;
        std::mt19937 random(static_cast<uint32_t>(i));
        fill(info.type, bytes_of(info.type, shape), random, network.input(i, shape));
    }
    network.run();
    std::vector<OutputValues> found;
    for (size_t i = 0; i < network.outputs().size(); ++i) {
        const std::vector<int64_t> shape = network.output_shape(i);
        const std::byte* values = network.output(i);
        found.push_back({shape, {values, values + bytes_of(network.outputs()[i].type, shape)}});
    }
    return found;
}

bool is_same_with_more_rows(LiteDataType type, int64_t rows, const OutputValues& once,
                            const OutputValues& twice) {
    std::vector<int64_t> expected = once.shape;
    if (expected.empty() || expected[0] != rows) return false;
    expected[0] = 2 * rows;
    if (twice.shape != expected) return false;
    for (size_t at = 0; at < once.bytes.size(); at += size_of(type)) {
        if (!is_close(value_at(type, &once.bytes[at]), value_at(type, &twice.bytes[at]))) return false;
    }
    return true;
}

}  // namespace mge::triton
