// SPDX-License-Identifier: Apache-2.0
#include "libmge/tensor/element_bytes.h"

#include <cstring>

#include "libmge/tensor/dtype_dispatch.h"

namespace mge {

uint64_t element_bytes(DType dtype, double value) {
    uint64_t bytes = 0;
    dispatch_dtype(dtype, AllTypes{}, [&](auto type) {
        using T = typename decltype(type)::type;
        T element;
        if constexpr (std::is_same_v<T, bool>)
            element = value != 0;
        else if constexpr (std::is_integral_v<T>)
            element = T(int64_t(value));
        else
            element = T(float(value));
        std::memcpy(&bytes, &element, sizeof element);
    });
    return bytes;
}

}  // namespace mge
