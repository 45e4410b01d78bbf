// SPDX-License-Identifier: Apache-2.0
#include "libmge/tensor/element_bytes.h"

#include <cstring>

#include "libmge/tensor/dtype_dispatch.h"
#include "libmge/tensor/narrow.h"
#include "libmge/tensor/truncate.h"

namespace mge {

uint64_t element_bytes(DType dtype, double value) {
    if (is_narrow(dtype)) return narrow_bits(dtype, value);
    uint64_t bytes = 0;
    dispatch_dtype(dtype, AllTypes{}, [&]<class T>(std::type_identity<T>) {
        T element;
        if constexpr (std::is_same_v<T, bool>)
            element = value != 0;
        else if constexpr (std::is_same_v<T, uint64_t>)
            element = truncate_to_u64(value);
        else if constexpr (std::is_integral_v<T>)
            element = T(truncate_to_i64(value));
        else
            element = T(ComputedAs<T>(value));
        std::memcpy(&bytes, &element, sizeof element);
    });
    return bytes;
}

}  // namespace mge
