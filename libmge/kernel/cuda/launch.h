// SPDX-License-Identifier: Apache-2.0
#pragma once
// For .cuda.cpp: from problems and launches to the arguments of device text.

#include "libmge/device/cuda/cuda_queue.h"
#include "libmge/device/cuda/last_launches.h"
#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/cuda/types.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::cuda {

// Where a launch asks for its work; the calling thread's device is that of the launch afterwards.
inline Stream stream_of(const Launch& launch) {
    note_launch();
    return static_cast<CudaQueue&>(*launch.queue).stream();
}

// For an IndexCheck.
inline IndexFault* index_fault_of(const Launch& launch) {
    return static_cast<CudaQueue&>(*launch.queue).index_fault();
}

// The device's type for one of the host's: mge::Half is cuda::f16.
template <class T>
struct DeviceTypeOf {
    using Type = T;
};
template <>
struct DeviceTypeOf<Half> {
    using Type = f16;
};
template <>
struct DeviceTypeOf<BFloat16> {
    using Type = bf16;
};
template <class T>
using DeviceType = typename DeviceTypeOf<T>::Type;

// dispatch_dtype with the device's types: fn(std::type_identity<T>{}).
template <class Listed, class Fn>
void dispatch_device_type(DType dtype, Listed types, Fn&& fn) {
    dispatch_dtype(dtype, types,
                   [&](auto type) { fn(std::type_identity<DeviceType<typename decltype(type)::type>>{}); });
}

// A number among AllTypes.
inline int type_index(DType dtype) { return int(dtype) - int(DType::boolean); }
static_assert(int(DType::f32) - int(DType::boolean) + 1 == type_count);
static_assert(DType::i64 < DType::f16 && DType::f16 < DType::bf16 && DType::bf16 < DType::f32);

}  // namespace mge::cuda
