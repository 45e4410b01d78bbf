// SPDX-License-Identifier: Apache-2.0
// Reading and writing of parts of tensors. A mask shows for each indexed axis which of begin, end, step and
// index are given; their values are further inputs, in that order.

#include <algorithm>

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/model/import/megengine/extents.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/index/cond_take.h"
#include "libmge/ops/index/one_hot.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::megengine {
namespace {

// x[...] as slices along some axes and index tensors along others.
struct Places {
    IntList items;   // items of ops::Slice
    Tensors bounds;  // the computed ones of its host inputs
    IntList axes;    // axes of ops::Take
    Tensors indices;
};

class PlaceReader {
public:
    PlaceReader(const Site& site, size_t first, bool indices_are_tensors)
        : site_(site), next_(first), indices_are_tensors_(indices_are_tensors) {}

    Places read() {
        auto* items = site_.params<file::IndexDescMaskDump>().items();
        for (flatbuffers::uoffset_t i = 0; items && i < items->size(); ++i) read_item(*items->Get(i));
        if (next_ != site_.size())
            invalid("it has ", counted(site_.size(), "input"), ", its indices name ", next_);
        return std::move(places_);
    }

private:
    void read_item(const file::IndexDescMaskItem& item) {
        if (item.idx() && indices_are_tensors_) {
            if (item.begin() || item.end() || item.step()) invalid("an axis is both sliced and indexed");
            int64_t axis = item.axis() < 0 ? item.axis() + site_.known_rank(0) : item.axis();
            // Files list the axes in any order, ours rise.
            auto at = std::ranges::lower_bound(places_.axes, axis);
            places_.indices.insert(places_.indices.begin() + (at - places_.axes.begin()),
                                   as_index(site_.in(next_++)));
            places_.axes.insert(at, axis);
            return;
        }
        int64_t begin = bound(item.begin()), end = bound(item.end()), step = bound(item.step());
        if (item.idx()) begin = bound(true);
        places_.items.insert(places_.items.end(), {item.axis(), begin, end, step, item.idx()});
    }

    int64_t bound(bool given) {
        if (!given) return ops::absent_bound;
        const Tensor& value = site_.in(next_++);
        if (as_constant(value)) {
            auto numbers = constant_values(value, "an index");
            if (numbers.size() != 1) invalid("a bound of ", numbers.size(), " numbers");
            return numbers[0];
        }
        places_.bounds.push_back(as_index(value));
        return ops::bound_from_input;
    }

    const Site& site_;
    size_t next_;
    bool indices_are_tensors_;
    Places places_;
};

Tensors joined(Tensors first, const Tensors& more) {
    first.insert(first.end(), more.begin(), more.end());
    return first;
}

// A vector without its axis remains a vector.
Tensor read_slices(const Site& site, const Places& places) {
    const Tensor& x = site.in(0);
    if (places.items.empty()) return x;
    Tensor y = ops::slice(joined({x}, places.bounds), {.items = places.items});
    int64_t dropped = 0;
    for (size_t i = 0; i < places.items.size(); i += ops::item_size) dropped += places.items[i + 4];
    return dropped && dropped == site.rank(0) ? ops::reshape(y, {.shape = {1}}) : at_least_vector(y);
}

// A value for an index of lower rank than its own (1, …) loses leading axes implicitly; a scalar index gets a
// vector of one element.
template <class O, class Function>
Tensors change_slices(const Site& site, const Function& function) {
    Places places = PlaceReader(site, 2, false).read();
    Tensor value = site.in(1);
    if (value.dtype() != site.in(0).dtype()) value = convert_dtype(value, site.in(0).dtype());
    return {function(joined({site.in(0), value}, places.bounds), typename O::Params{places.items})};
}

// If some axes are sliced: the slices are extracted, changed and written back.
template <class O, class Function>
Tensors change_taken(const Site& site, const Function& function) {
    Places places = PlaceReader(site, 2, true).read();
    const Tensor& x = site.in(0);
    Tensor part = places.items.empty() ? x : ops::slice(joined({x}, places.bounds), {.items = places.items});
    Tensor changed = function(joined({part, site.in(1)}, places.indices), typename O::Params{places.axes});
    if (places.items.empty()) return {changed};
    return {ops::set_slice(joined({x, changed}, places.bounds), {.items = places.items})};
}

enum Compare : uint32_t { eq, neq, lt, leq, gt, geq };

Tensor compared(const Tensor& mask, const file::CondTake& p) {
    if (mask.dtype() == DType::boolean && p.mode() == eq && p.val() == 1) return mask;
    Tensor x = convert_dtype(mask, DType::f32);
    Tensor value = scalar_tensor(p.val(), DType::f32, host_device),
           eps = scalar_tensor(p.eps(), DType::f32, host_device);
    switch (p.mode()) {
        case eq:
            return ops::less(ops::abs(ops::sub(x, value)), eps);
        case neq:
            return ops::greater_equal(ops::abs(ops::sub(x, value)), eps);
        case lt:
            return ops::less(x, value);
        case leq:
            return ops::less_equal(x, value);
        case gt:
            return ops::greater(x, value);
        case geq:
            return ops::greater_equal(x, value);
        default:
            unsupported("comparison ", p.mode());
    }
}

}  // namespace

Tensors import_subtensor(const Site& site) { return {read_slices(site, PlaceReader(site, 1, false).read())}; }

Tensors import_set_subtensor(const Site& site) {
    return change_slices<ops::SetSlice>(
        site, [](const Tensors& in, const ops::SetSlice::Params& p) { return ops::set_slice(in, p); });
}

Tensors import_incr_subtensor(const Site& site) {
    return change_slices<ops::AddSlice>(
        site, [](const Tensors& in, const ops::AddSlice::Params& p) { return ops::add_slice(in, p); });
}

// Slices keep their axes, so they may come first.
Tensors import_take(const Site& site) {
    Places places = PlaceReader(site, 1, true).read();
    Tensor x = read_slices(site, places);
    if (places.axes.empty()) return {x};
    return {at_least_vector(ops::take(joined({x}, places.indices), {.axes = places.axes}))};
}

// Every combination of the indices of all axes: one axis after the other.
Tensors import_mesh(const Site& site) {
    Places places = PlaceReader(site, 1, true).read();
    Tensor x = read_slices(site, places);
    for (size_t i = 0; i < places.axes.size(); ++i)
        x = ops::take({x, places.indices[i]}, {.axes = {places.axes[i]}});
    return {x};
}

// A matrix with a vector on its k-th diagonal, or the k-th diagonal of a matrix.
Tensors import_diagonal(const Site& site) {
    constexpr int64_t furthest = 1 << 20;
    int64_t k = site.params<file::Diag>().k(), down = std::max<int64_t>(-k, 0),
            right = std::max<int64_t>(k, 0);
    const Tensor& x = site.in(0);
    if (down > furthest || right > furthest) invalid("diagonal ", k);
    auto number = [](int64_t n) { return scalar_tensor(double(n), DType::i32, host_device); };
    auto moved = [&](const Tensor& t, int64_t by) { return by ? ops::add(t, number(by)) : t; };
    auto length = [&](int axis) { return as_tensor(extent_of(x, axis)); };
    if (rank_of(x) == 1) {
        Tensor place = convert_dtype(count_up(length(0)), DType::i32), size = moved(length(0), down + right);
        Tensor zeros = ops::full(target_shape({size, size}), {.dtype = x.dtype()});
        return {ops::set_take({zeros, x, moved(place, down), moved(place, right)}, {.axes = {0, 1}})};
    }
    if (rank_of(x) != 2) invalid("an input of rank ", rank_of(x));
    Tensor size = ops::minimum(moved(length(0), -down), moved(length(1), -right));
    Tensor place = convert_dtype(count_up(ops::maximum(size, number(0))), DType::i32);
    return {ops::take({x, moved(place, down), moved(place, right)}, {.axes = {0, 1}})};
}

Tensors import_set_take(const Site& site) {
    return change_taken<ops::SetTake>(
        site, [](const Tensors& in, const ops::SetTake::Params& p) { return ops::set_take(in, p); });
}

Tensors import_incr_take(const Site& site) {
    return change_taken<ops::AddTake>(
        site, [](const Tensors& in, const ops::AddTake::Params& p) { return ops::add_take(in, p); });
}

Tensors import_one_hot(const Site& site) {
    return {ops::indexing_one_hot(site.in(0), site.in(1), {.axis = site.params<file::Axis>().axis()})};
}

Tensors import_set_one_hot(const Site& site) {
    return {ops::indexing_set_one_hot(site.in(0), site.in(1), site.in(2),
                                      {.axis = site.params<file::Axis>().axis()})};
}

Tensors import_cond_take(const Site& site) {
    return ops::cond_take(site.in(0), compared(site.in(1), site.params<file::CondTake>()));
}

}  // namespace mge::megengine
