// SPDX-License-Identifier: Apache-2.0
#include "libmge/tensor/extent_terms.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <set>
#include <tuple>
#include <unordered_set>

#include "libmge/base/threads/at_fork.h"

namespace mge {
namespace {

struct AtomOrder {
    static auto key(const ExtentAtom& atom) {
        return std::make_tuple(std::string_view(atom.text), atom.kind, atom.bounds.lower, atom.bounds.upper,
                               atom.a.raw(), atom.b.raw());
    }
    bool operator()(const ExtentAtom& a, const ExtentAtom& b) const { return key(a) < key(b); }
    bool operator()(const ExtentAtom* a, const ExtentAtom* b) const { return a != b && key(*a) < key(*b); }
};

// Handles are addresses of these objects, which live as long as the process.
struct Interned {
    std::mutex mutex;
    std::set<ExtentAtom, AtomOrder> atoms;
    std::set<ExtentTerms> sums;
    std::unordered_set<int64_t> handles;
};
Interned& interned() {
    static auto& all = *new Interned;
    return all;
}
const HeldAcrossFork extents_at_fork([]() -> auto& { return interned().mutex; });

constexpr int64_t handle_base = std::numeric_limits<int64_t>::min();

}  // namespace

bool ProductOrder::operator()(const ExtentProduct& a, const ExtentProduct& b) const {
    if (a.size() != b.size()) return a.size() > b.size();
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), AtomOrder{});
}

const ExtentAtom* intern(ExtentAtom atom) {
    auto& all = interned();
    std::lock_guard lock(all.mutex);
    return &*all.atoms.insert(std::move(atom)).first;
}

Extent extent_of(const ExtentTerms& terms) {
    if (terms.empty()) return 0;
    if (terms.size() == 1 && terms.begin()->first.empty()) return terms.begin()->second;
    auto& all = interned();
    std::lock_guard lock(all.mutex);
    auto [sum, is_new] = all.sums.insert(terms);
    int64_t handle = handle_base + int64_t(reinterpret_cast<intptr_t>(&*sum));
    if (is_new) all.handles.insert(handle);
    return Extent::from_raw(handle);
}

bool Extent::is_known_handle(int64_t raw) {
    auto& all = interned();
    std::lock_guard lock(all.mutex);
    return all.handles.contains(raw);
}

size_t interned_extents() {
    auto& all = interned();
    std::lock_guard lock(all.mutex);
    return all.sums.size();
}

Extent extent_of(const ExtentAtom* atom) { return extent_of(ExtentTerms{{{atom}, 1}}); }

ExtentTerms terms_of(const Extent& extent) {
    if (!extent.is_number())
        return *reinterpret_cast<const ExtentTerms*>(intptr_t(extent.raw() - handle_base));
    ExtentTerms terms;
    if (extent.raw()) terms[{}] = extent.raw();
    return terms;
}

void add_term(ExtentTerms& terms, const ExtentProduct& product, __int128 coefficient) {
    auto found = terms.find(product);
    if (found != terms.end()) coefficient += found->second;
    if (coefficient < Extent::least_number || coefficient > std::numeric_limits<int64_t>::max())
        throw_value_error("shape", "a dimension is larger than 62 bits");
    if (coefficient == 0) {
        if (found != terms.end()) terms.erase(found);
    } else {
        terms[product] = int64_t(coefficient);
    }
}

ExtentProduct multiplied(const ExtentProduct& a, const ExtentProduct& b) {
    ExtentProduct product;
    std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(product), AtomOrder{});
    return product;
}

}  // namespace mge
