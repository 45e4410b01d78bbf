// SPDX-License-Identifier: Apache-2.0
// Lower bounds of sums. First every atom x with the smallest value l is written as l + x', and the products
// are expanded: s*t - s with s, t >= 1 becomes t' + s'*t', where no coefficient is negative, so 0 is a bound.
// Then functions are replaced by their bounds: max(a, b) >= a, k*floordiv(a, k) <= a.
#include "libmge/tensor/extent_bounds.h"

#include <algorithm>

namespace mge {
namespace {

using Wide = __int128;
// An expanded product of n different atoms has 2^n products.
constexpr size_t most_expanded = 1024;
constexpr int64_t no_bound = Extent::least_number;
// Replacements of functions within functions. A sum of many functions has more of them than can be tried.
constexpr int deepest_replacement = 4, most_replacements = 4681;  // all of a sum of four functions

ExtentTerms with_least_values_apart(const ExtentTerms& terms) {
    ExtentTerms result;
    for (auto& [product, coefficient] : terms) {
        ExtentTerms expanded{{{}, coefficient}};
        for (const ExtentAtom* atom : product) {
            ExtentTerms next;
            bool has_least = atom->bounds.lower != no_bound;
            for (auto& [factors, k] : expanded) {
                add_term(next, multiplied(factors, {atom}), k);
                if (has_least) add_term(next, factors, Wide(k) * atom->bounds.lower);
            }
            if (next.size() > most_expanded) throw Undecidable("a product has too many factors");
            expanded = std::move(next);
        }
        for (auto& [factors, k] : expanded) add_term(result, factors, k);
    }
    return result;
}

// The largest value of a product of atoms that start at 0; nullopt if it is unbounded.
std::optional<Wide> largest_product(const ExtentProduct& product) {
    Wide largest = 1;
    for (const ExtentAtom* atom : product) {
        if (atom->bounds.upper == ExtentBounds::unbounded) return std::nullopt;
        largest *= Wide(atom->bounds.upper) - atom->bounds.lower;
        if (largest > ExtentBounds::unbounded) return std::nullopt;
    }
    return largest;
}

int64_t least_of_sum(const ExtentTerms& terms) {
    Wide least = 0;
    for (auto& [product, k] : with_least_values_apart(terms)) {
        bool is_bounded = std::ranges::all_of(
            product, [](const ExtentAtom* atom) { return atom->bounds.lower != no_bound; });
        if (product.empty()) {
            least += k;
        } else if (!is_bounded) {
            return no_bound;
        } else if (k < 0) {
            auto largest = largest_product(product);
            if (!largest) return no_bound;
            least += k * *largest;
        }
    }
    return int64_t(std::clamp<Wide>(least, no_bound, ExtentBounds::unbounded));
}

// How far the search may go.
struct Effort {
    int depth, replacements;
};

int64_t least_with_replacements(const ExtentTerms& terms, const Effort& left);

// scale * (terms without `atom`) + coefficient * replacement, a lower bound of scale * terms.
int64_t least_with(const ExtentTerms& terms, const ExtentAtom* atom, int64_t scale, const Extent& replacement,
                   const Effort& left) {
    ExtentTerms replaced;
    int64_t coefficient = terms.at({atom});
    for (auto& [product, k] : terms)
        if (product != ExtentProduct{atom}) add_term(replaced, product, Wide(k) * scale);
    for (auto& [product, k] : terms_of(replacement)) add_term(replaced, product, Wide(k) * coefficient);
    int64_t least = least_with_replacements(replaced, left);
    if (least == no_bound || scale == 1) return least;
    return least / scale + (least % scale > 0);
}

int64_t least_without(const ExtentTerms& terms, const ExtentAtom* atom, const Effort& left) {
    bool is_added = terms.at({atom}) > 0;
    auto with = [&](const Extent& replacement, int64_t scale = 1) {
        return least_with(terms, atom, scale, replacement, left);
    };
    switch (atom->kind) {
        case ExtentAtom::Kind::symbol:
            return no_bound;
        case ExtentAtom::Kind::max:
            return is_added ? std::max(with(atom->a), with(atom->b)) : std::min(with(atom->a), with(atom->b));
        case ExtentAtom::Kind::min:
            return is_added ? std::min(with(atom->a), with(atom->b)) : std::max(with(atom->a), with(atom->b));
        case ExtentAtom::Kind::floordiv:
            if (!atom->b.is_number()) return no_bound;
            return with(is_added ? atom->a - atom->b + 1 : atom->a, atom->b.number());
    }
    return no_bound;
}

int64_t least_with_replacements(const ExtentTerms& terms, const Effort& left) {
    int64_t least = least_of_sum(terms);
    auto is_function = [](auto& term) {
        return term.first.size() == 1 && term.first[0]->kind != ExtentAtom::Kind::symbol;
    };
    const auto functions = int(std::ranges::count_if(terms, is_function));
    if (functions == 0 || left.depth == 0) return least;
    // Each function has up to two replacements.
    const Effort of_each{left.depth - 1, (left.replacements - 1) / (2 * functions)};
    if (of_each.replacements == 0) return least;
    for (auto& term : terms)
        if (is_function(term)) least = std::max(least, least_without(terms, term.first[0], of_each));
    return least;
}

}  // namespace

int64_t least_value(const ExtentTerms& terms) {
    try {
        return least_with_replacements(terms, {deepest_replacement, most_replacements});
    } catch (const UserError&) {
        return no_bound;  // a coefficient is out of the range of extents, or a product is too long
    }
}

int64_t largest_value(const ExtentTerms& terms) {
    ExtentTerms negated;
    for (auto& [product, k] : terms) add_term(negated, product, -Wide(k));
    int64_t least = least_value(negated);
    return least == no_bound ? ExtentBounds::unbounded : -least;
}

}  // namespace mge
