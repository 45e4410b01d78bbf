// SPDX-License-Identifier: Apache-2.0
#pragma once
// For .cuda.cpp: converts problems and launches to the arguments of device code.

#include <algorithm>
#include <iterator>

#include "libmge/device/cuda/cuda_queue.h"
#include "libmge/device/cuda/last_launches.h"
#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/cuda/types.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::cuda {

// The stream of a launch; the calling thread's device is that of the launch afterwards.
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
using DeviceType = std::conditional_t<std::is_same_v<T, Half>, f16,
                                      std::conditional_t<std::is_same_v<T, BFloat16>, bf16, T>>;

// Device code exists for the types of DTypes::common.
[[noreturn]] inline void throw_without_text(DType dtype) {
    throw UserError(
        text("GPUs compute nothing of dtype ", dtype, "; move the tensors to a CPU, or convert them"),
        ErrorClass::type);
}

// dispatch_dtype with the device's types: fn(std::type_identity<T>{}).
template <class Listed, class Fn>
void dispatch_device_type(DType dtype, Listed types, Fn&& fn) {
    if (!is_among(dtype, DTypes::common)) throw_without_text(dtype);
    dispatch_dtype(dtype, types, [&]<class T>(std::type_identity<T>) {
        if constexpr (is_common_type<T>) fn(std::type_identity<DeviceType<T>>{});
    });
}

// A number among AllTypes of device text.
inline int type_index(DType dtype) {
    constexpr DType known[] = {DType::boolean, DType::u8,  DType::i8,  DType::u16,  DType::i16,
                               DType::i32,     DType::i64, DType::f16, DType::bf16, DType::f32};
    static_assert(std::size(known) == type_count);
    auto found = std::find(std::begin(known), std::end(known), dtype);
    if (found == std::end(known)) throw_without_text(dtype);
    return int(found - known);
}

}  // namespace mge::cuda
