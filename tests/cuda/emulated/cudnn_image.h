// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors of four axes as the emulated cuDNN reads and writes them.

#include <array>
#include <cstring>

#include "tests/cuda/emulated/cudnn_descriptor.h"

namespace mge::cuda::emulated {

using Four = std::array<int64_t, 4>;

inline Four four(const Descriptor& d, cudnnBackendAttributeName_t name) {
    Four values{1, 1, 1, 1};
    for (size_t i = 0; i < 4; ++i) values[i] = d.values<int64_t>(name)[i];
    return values;
}
inline bool is_virtual(const Descriptor& tensor) {
    return tensor.has(CUDNN_ATTR_TENSOR_IS_VIRTUAL) && tensor.value<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
}
inline int64_t id_of(const Descriptor& tensor) { return tensor.value<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID); }
inline cudnnDataType_t type_of(const Descriptor& tensor) {
    return tensor.value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
}

inline float from_bits(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
inline uint32_t bits_of(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

struct Image {
    char* at = nullptr;
    cudnnDataType_t type{};
    Four dims{}, strides{};

    float get(const Four& i) const {
        int64_t offset = 0;
        for (size_t axis = 0; axis < 4; ++axis) offset += (dims[axis] == 1 ? 0 : i[axis]) * strides[axis];
        if (type == CUDNN_DATA_FLOAT) return reinterpret_cast<const float*>(at)[offset];
        if (type == CUDNN_DATA_INT32) return float(reinterpret_cast<const int32_t*>(at)[offset]);
        if (type == CUDNN_DATA_INT8 || type == CUDNN_DATA_BOOLEAN)
            return reinterpret_cast<const int8_t*>(at)[offset];
        if (type == CUDNN_DATA_BFLOAT16)
            return from_bits(uint32_t(reinterpret_cast<const uint16_t*>(at)[offset]) << 16);
        return float(reinterpret_cast<const _Float16*>(at)[offset]);
    }
    // Integers wrap around.
    void put(const Four& i, double sum) const {
        int64_t offset = 0;
        for (size_t axis = 0; axis < 4; ++axis) offset += i[axis] * strides[axis];
        auto value = float(sum);
        if (type == CUDNN_DATA_BOOLEAN) {
            at[offset] = value != 0;
        } else if (type == CUDNN_DATA_INT32) {
            reinterpret_cast<uint32_t*>(at)[offset] = uint32_t(int64_t(sum));
        } else if (type == CUDNN_DATA_FLOAT) {
            reinterpret_cast<float*>(at)[offset] = value;
        } else if (type == CUDNN_DATA_BFLOAT16) {
            uint32_t bits = bits_of(value), odd = bits >> 16 & 1;
            bool is_number = value == value;
            reinterpret_cast<uint16_t*>(at)[offset] =
                uint16_t(is_number ? (bits + 0x7fff + odd) >> 16 : 0x7fc0);
        } else {
            reinterpret_cast<_Float16*>(at)[offset] = _Float16(value);
        }
    }
};

template <class Fn>
void for_each(const Four& dims, Fn fn) {
    Four i{};
    for (i[0] = 0; i[0] < dims[0]; ++i[0])
        for (i[1] = 0; i[1] < dims[1]; ++i[1])
            for (i[2] = 0; i[2] < dims[2]; ++i[2])
                for (i[3] = 0; i[3] < dims[3]; ++i[3]) fn(i);
}

inline Image image_of(const Descriptor& tensor, void* at) {
    return {static_cast<char*>(at), type_of(tensor), four(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS),
            four(tensor, CUDNN_ATTR_TENSOR_STRIDES)};
}

}  // namespace mge::cuda::emulated
