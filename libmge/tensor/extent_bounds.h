// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/tensor/extent_terms.h"

namespace mge {

// The largest value that the sum is proved not to fall below; `Extent::least_number` if there is none.
int64_t least_value(const ExtentTerms& terms);
// The same from above; `ExtentBounds::unbounded` if there is none.
int64_t largest_value(const ExtentTerms& terms);

}  // namespace mge
