// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/product/byte_product.h"

namespace mge::cpu {

const ByteProduct* bounded_product() { return nullptr; }

}  // namespace mge::cpu
