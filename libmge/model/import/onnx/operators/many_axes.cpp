// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/operators/many_axes.h"

#include <algorithm>

#include "libmge/base/number_text.h"
#include "libmge/model/import/onnx/importer.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

constexpr int64_t open_extent = -1;

// Extents of the file may have any product.
int64_t product(int64_t a, int64_t b) {
    if (a == open_extent || b == open_extent) return open_extent;
    int64_t result = 0;
    if (__builtin_mul_overflow(a, b, &result)) invalid("a tensor has more than 2^63 elements");
    return result;
}

// A tensor of any number of axes.
ManyAxes any_axes(const Site& site, const Tensor& x) {
    if (auto* many = site.importer.tensors_of_many_axes().find(x)) return *many;
    ManyAxes result{x, {}};
    for (int i = 0; i < rank_of(x); ++i) result.extents.push_back(find_extent(x, i).value_or(open_extent));
    if (std::ranges::count(result.extents, open_extent) > 1)
        unsupported("an operand of more than seven axes with several open dimensions");
    return result;
}

}  // namespace

Tensor with_many_axes(const Site& site, bool allows_zero) {
    std::vector<std::optional<int64_t>> target;
    auto stated = site.attributes.integers("shape");
    if (stated)
        target.assign(stated->begin(), stated->end());
    else if (site.has(1) && is_int(site.in(1).dtype()))
        target = find_numbers(site.in(1));
    if (target.size() <= size_t(max_rank)) return {};
    auto& known = site.importer.tensors_of_many_axes();
    auto* many = known.find(site.in(0));
    ManyAxes result{many ? many->elements : site.in(0), {}};
    for (size_t i = 0; i < target.size(); ++i) {
        int64_t extent = target[i].value_or(open_extent);
        if (extent < open_extent) invalid("its shape holds ", extent);
        if (extent == 0 && !allows_zero) {
            if (many) unsupported("a size that is copied from a tensor of rank ", many->extents.size());
            if (int(i) >= site.rank(0))
                invalid("size ", i, " of its shape is 0, but its input has no axis ", i);
            extent = find_extent(site.in(0), int(i)).value_or(open_extent);
        }
        result.extents.push_back(extent);
    }
    if (std::ranges::count(result.extents, open_extent) > 1)
        unsupported("rank ", target.size(), " with several open dimensions");
    return known.add(std::move(result));
}

// Axes of one element are nowhere; neighbours that stay neighbours are one axis.
Tensor transposed_axes(const Site& site, const ManyAxes& x, const IntList& pattern) {
    IntList sorted = pattern;
    std::ranges::sort(sorted);
    if (sorted != all_axes(int(x.extents.size())))
        invalid("its perm is not a permutation of ", counted(x.extents.size(), "axis", "axes"));
    IntList kept;
    for (int64_t axis : sorted)
        if (x.extents[size_t(axis)] != 1) kept.push_back(axis);
    struct Group {
        int64_t first, last, extent;  // indices into `kept`
    };
    std::vector<Group> groups;
    ManyAxes result;
    for (int64_t axis : pattern) {
        int64_t extent = x.extents[size_t(axis)];
        result.extents.push_back(extent);
        if (extent == 1) continue;
        int64_t place = std::ranges::find(kept, axis) - kept.begin();
        if (!groups.empty() && groups.back().last + 1 == place) {
            groups.back().last = place;
            groups.back().extent = product(groups.back().extent, extent);
        } else {
            groups.push_back({place, place, extent});
        }
    }
    if (groups.size() > size_t(max_rank)) unsupported("a transposition of ", groups.size(), " axes");
    std::vector<Group> before = groups;
    std::ranges::sort(before, {}, &Group::first);
    IntList shape, order;
    for (auto& group : before) shape.push_back(group.extent);
    for (auto& group : groups)
        order.push_back(std::ranges::find(before, group.first, &Group::first) - before.begin());
    result.elements = ops::reshape(x.elements, {.shape = shape});
    if (!order.empty()) result.elements = ops::transpose(result.elements, {.pattern = order});
    return site.importer.tensors_of_many_axes().add(std::move(result));
}

Tensor with_more_axes(const Site& site, const IntList& axes) {
    ManyAxes x = any_axes(site, site.in(0));
    for (int64_t axis : axes) x.extents.insert(x.extents.begin() + axis, 1);
    return site.importer.tensors_of_many_axes().add(std::move(x));
}

// Neighbours along which the same operand repeats are one axis.
Tensor combined_axes(const Site& site, ImportFunction combine) {
    auto& known = site.importer.tensors_of_many_axes();
    if (!known.find(site.in(0)) && !known.find(site.in(1))) return {};
    ManyAxes a = any_axes(site, site.in(0)), b = any_axes(site, site.in(1)), result;
    size_t rank = std::max(a.extents.size(), b.extents.size());
    for (auto* x : {&a, &b}) x->extents.insert(x->extents.begin(), rank - x->extents.size(), 1);
    IntList of_a, of_b;
    for (size_t i = 0; i < rank; ++i) {
        int64_t m = a.extents[i], n = b.extents[i];
        if (m != n && m != 1 && n != 1) {
            if (m == open_extent || n == open_extent)
                unsupported("an open dimension beside one that may differ");
            invalid("sizes ", m, " and ", n, " of axis ", i, " do not broadcast");
        }
        result.extents.push_back(m == 1 ? n : m);
        if (m == 1 && n == 1) continue;
        bool is_alike =
            i && !of_a.empty() && (of_a.back() == 1) == (m == 1) && (of_b.back() == 1) == (n == 1);
        if (is_alike) {
            of_a.back() = product(of_a.back(), m);
            of_b.back() = product(of_b.back(), n);
        } else {
            of_a.push_back(m);
            of_b.push_back(n);
        }
    }
    if (of_a.size() > size_t(max_rank)) unsupported("a broadcast along ", of_a.size(), " axes");
    Tensor operands[] = {ops::reshape(a.elements, {.shape = of_a}),
                         ops::reshape(b.elements, {.shape = of_b})};
    result.elements = combine(site.with(operands))[0];
    return known.add(std::move(result));
}

}  // namespace mge::onnx
