// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/tensor/extent_terms.h"

namespace mge {

// The largest proven lower bound of the sum; `Extent::least_number` without one.
int64_t least_value(const ExtentTerms& terms);
// The smallest proven upper bound; `ExtentBounds::unbounded` without one.
int64_t largest_value(const ExtentTerms& terms);

}  // namespace mge
