// SPDX-License-Identifier: Apache-2.0
#include "libmge/op/int32_places.h"

#include "libmge/base/error.h"

namespace mge {

void require_int32_places(std::string_view op, int64_t elements) {
    constexpr int64_t most = int64_t(1) << 31;
    if (elements > most)
        throw_value_error(op, "the result is int32, which cannot index ", elements,
                          " elements; the limit is ", most);
}

}  // namespace mge
