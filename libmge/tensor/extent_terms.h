// SPDX-License-Identifier: Apache-2.0
#pragma once
// Representation of symbolic extents (extent.h): sums of products of atoms.

#include <map>
#include <string>
#include <vector>

#include "libmge/tensor/extent.h"

namespace mge {

// A factor of a product: a symbol or a function of other extents. Interned: equal atoms have equal addresses.
struct ExtentAtom {
    enum class Kind : uint8_t { symbol, floordiv, min, max };
    Kind kind;
    std::string text;     // as it is printed
    Extent a, b;          // operands of a function
    ExtentBounds bounds;  // bounds of its value
};

// A product, its factors in order; a power repeats its factor. The empty one is 1.
using ExtentProduct = std::vector<const ExtentAtom*>;
// Products of more factors come first, so the constant is last.
struct ProductOrder {
    bool operator()(const ExtentProduct& a, const ExtentProduct& b) const;
};
// A sum: the products with their coefficients, which are not 0.
using ExtentTerms = std::map<ExtentProduct, int64_t, ProductOrder>;

const ExtentAtom* intern(ExtentAtom atom);
Extent extent_of(const ExtentTerms& terms);
Extent extent_of(const ExtentAtom* atom);
ExtentTerms terms_of(const Extent& extent);

// The number of forms that live as long as the process. It depends on the models, not on the shapes of runs.
size_t interned_extents();

// Adds coefficient * product. UserError if the sum of coefficients is out of the range of extents.
void add_term(ExtentTerms& terms, const ExtentProduct& product, __int128 coefficient);
ExtentProduct multiplied(const ExtentProduct& a, const ExtentProduct& b);

}  // namespace mge
