// SPDX-License-Identifier: Apache-2.0
// Shapes: reading, changing and joining. Targets that follow from sizes of inputs stay computations.

#include <algorithm>

#include "libmge/base/number_text.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/device/device.h"
#include "libmge/model/import/onnx/importer.h"
#include "libmge/model/import/onnx/inner_graphs.h"
#include "libmge/model/import/onnx/shapes/late_values.h"
#include "libmge/op/apply.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/effect/assert_equal.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/flip.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/pad.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"

namespace mge::onnx {
namespace {

// 0 means the size of x at that axis. Sizes of x and products of them are themselves if they are 0.
Tensor without_zeros(const Tensor& target, const Tensor& x) {
    auto known = symbolic_value(target).elements;
    bool has_none = known && std::ranges::all_of(
                                 *known, [](auto& extent) { return extent.lower() > 0 || extent.is(-1); });
    if (has_none) return target;
    int64_t length = length_of(target, "a shape");
    Tensor have = extents_of(x, 0, int(std::min<int64_t>(length, rank_of(x))));
    if (length > rank_of(x))
        have = ops::concat({have, vector_of(IntList(size_t(length) - size_t(rank_of(x)), 1))});
    return ops::where(ops::equal(target, number(target, 0)), have, target);
}

std::vector<Extent> extents_in(const Tensor& x, const IntList& target, bool allows_zero) {
    std::vector<Extent> extents(target.begin(), target.end());
    for (size_t i = 0; i < extents.size() && !allows_zero; ++i) {
        if (target[i]) continue;
        if (int(i) >= rank_of(x)) invalid("size ", i, " of its shape is 0, but its input has no axis ", i);
        auto fixed = find_extent(x, int(i));
        extents[i] = fixed ? Extent(*fixed) : extent_of(x, int(i));
    }
    return extents;
}

// Ones before the numbers, up to a length.
Tensor lengthened(const Tensor& extents, int have, int length) {
    if (have >= length) return extents;
    return ops::concat({vector_of(IntList(size_t(length - have), 1)), extents}, {.axis = 0});
}

// For a size that is not 1, the other one is either equal or 1.
std::optional<SymbolicExtent> expanded_extent(const std::optional<SymbolicExtent>& had,
                                              const std::optional<SymbolicExtent>& wanted) {
    auto is_no_one = [](auto& extent) { return extent && is_equal(*extent, 1) == false; };
    if (!wanted) return is_no_one(had) ? had : std::nullopt;
    if (!had) return is_no_one(wanted) ? wanted : std::nullopt;
    GuardScope scope;
    return broadcast_extents("Expand", *had, *wanted);
}

Extents expanded_extents(const Tensor& x, const Tensor& target, int rank) {
    std::optional<SymbolicExtent> one(1);
    Extents have = extents_of_shape(x);
    have.resize(size_t(rank_of(x)));
    Extents want = known_extents(target).value_or(Extents(size_t(rank))), both(static_cast<size_t>(rank));
    for (int i = 1; i <= rank; ++i) {
        auto wanted = size_t(i) <= want.size() ? want[want.size() - size_t(i)] : one;
        auto had = i <= rank_of(x) ? have[have.size() - size_t(i)] : one;
        both[size_t(rank - i)] = expanded_extent(had, wanted);
    }
    return both;
}

// Both operands broadcast where their size is 1.
Tensor expanded(const Tensor& x, const Tensor& target) {
    int rank = rank_of(x), length = length_of(target, "a shape");
    auto shape = find_shape(x);
    Tensor known = find_value(target);
    if (shape && known) {
        auto numbers = numbers_in(known);
        Shape both = broadcast_shapes("Expand", *shape, Shape(numbers));
        return ops::broadcast_to(x, {.shape = IntList(both.begin(), both.end())});
    }
    require_within(target, 0, beyond, "a size must be at least 0");
    if (!rank) return with_shape_of(ops::broadcast_to(x, target), target);
    int both = std::max(rank, length);
    Tensor have = lengthened(extents_of(x, 0, rank), rank, both), want = lengthened(target, length, both);
    Tensor extents = ops::where(ops::equal(want, number(want, 1)), have, want);
    return with_extents(ops::broadcast_to(x, extents), expanded_extents(x, target, both));
}

// A part of the sizes along an axis, from the sum of those before.
Tensors parts_along(const Site& site, int axis, const IntList& sizes) {
    const Tensor& x = site.in(0);
    Tensors parts;
    int64_t begin = 0;
    for (int64_t size : sizes) {
        if (size < 0 || size > beyond) invalid("a part has size ", size, ", expected 0 or more");
        parts.push_back(cut(x, axis, begin, begin + size));
        begin += size;
    }
    auto extent = find_extent(x, axis);
    if (extent && begin != *extent)
        invalid("its parts have ", begin, " elements together, the axis has ", *extent);
    return parts;
}

// As many equal parts as there are outputs; the last may be smaller.
Tensors equal_parts(const Site& site, int axis) {
    const Tensor& x = site.in(0);
    auto parts = site.attributes.integer("num_outputs", int64_t(site.outputs()));
    if (parts < 1 || parts != int64_t(site.outputs()))
        invalid("it has ", counted(parts, "part"), " but ", counted(site.outputs(), "output"));
    auto extent = find_extent(x, axis);
    if (!extent) {
        Tensor open = extents_of(x, axis, axis + 1);
        Tensor size = ops::floor_div(ops::add(open, whole(parts - 1)), whole(parts));
        std::vector<Extent> sizes(size_t(parts), size);
        sizes.back() = Tensor(ops::sub(open, ops::mul(size, whole(parts - 1))));
        return late_split(x, axis, target_of(sizes), size_t(parts));
    }
    int64_t size = ceil_div(*extent, parts);
    IntList sizes(size_t(parts), size);
    sizes.back() = *extent - size * (parts - 1);
    if (sizes.back() < 0) invalid("an axis of size ", *extent, " cannot be split into ", parts, " parts");
    return parts_along(site, axis, sizes);
}

struct Bounds {
    IntList axes, steps;
    Tensor starts, ends;
};

// The bound that a run computes of element i of a vector, where it is the start of a slice.
Tensor late_start(const Tensor& x, const Bounds& b, size_t i) {
    Tensor start = bounded(cut(b.starts, 0, int64_t(i), int64_t(i) + 1));
    // Backwards, a start before the first element means the first one, where Python selects nothing.
    if (b.steps[i] > 0) return start;
    auto extent = find_extent(x, int(b.axes[i]));
    Tensor have = extent ? vector_of({*extent}) : std::get<Tensor>(extent_of(x, int(b.axes[i])));
    return ops::maximum(start, ops::neg(have));
}

Tensor sliced(const Tensor& x, const Bounds& b) {
    Tensor starts = find_value(b.starts), ends = find_value(b.ends);
    IntList items;
    Tensors operands{x};
    auto start_of = [&](size_t i) {
        if (!starts) return std::optional<int64_t>();
        int64_t start = std::clamp(numbers_in(starts)[i], -beyond, beyond);
        if (b.steps[i] > 0 || start >= 0) return std::optional(start);
        auto extent = find_extent(x, int(b.axes[i]));
        return extent ? std::optional(std::max(start, -*extent)) : std::nullopt;
    };
    bool are_known = true;
    for (size_t i = 0; i < b.axes.size(); ++i) {
        auto start = start_of(i);
        if (!start) operands.push_back(late_start(x, b, i));
        int64_t end = ops::bound_from_input;
        if (ends)
            end = std::clamp(numbers_in(ends)[i], -beyond, beyond);
        else
            operands.push_back(bounded(cut(b.ends, 0, int64_t(i), int64_t(i) + 1)));
        are_known &= start && ends;
        items.insert(items.end(), {b.axes[i], start.value_or(ops::bound_from_input), end, b.steps[i], 0});
    }
    Tensor part = ops::slice(TensorList(operands), {.items = items});
    if (!are_known) assume_like(part, symbolic_shape(x), b.axes);
    return part;
}

// The parts removed by negative margins, which become 0.
Tensor without_negative_margins(const Tensor& x, IntList& before, IntList& after) {
    Tensor inner = x;
    for (int i = 0; i < rank_of(x); ++i) {
        int64_t begin = std::max<int64_t>(0, -before[size_t(i)]),
                end = std::min<int64_t>(0, after[size_t(i)]);
        if (begin || end) inner = cut(inner, i, begin, end ? end : ops::absent_bound);
        before[size_t(i)] = std::max<int64_t>(0, before[size_t(i)]);
        after[size_t(i)] = std::max<int64_t>(0, after[size_t(i)]);
    }
    return inner;
}

Tensor with_margins(const Tensor& x, IntList before, IntList after, const ops::Pad::Params& how) {
    Tensor inner = without_negative_margins(x, before, after);
    return ops::pad(inner, {.before = before, .after = after, .mode = how.mode, .value = how.value});
}

// The part before is the end of x, the part after is its start, repeated as often as needed.
Tensor wrapped_along(const Tensor& x, int axis, int64_t before, int64_t after) {
    auto extent = find_extent(x, axis);
    if (extent && before <= *extent && after <= *extent) {
        Tensors parts;
        if (before) parts.push_back(cut(x, axis, -before, ops::absent_bound));
        parts.push_back(x);
        if (after) parts.push_back(cut(x, axis, 0, after));
        return ops::concat(TensorList(parts), {.axis = axis});
    }
    Extent have = extent ? Extent(*extent) : extent_of(x, axis);
    Extent count = extent ? Extent(*extent + before + after)
                          : Extent(Tensor(ops::add(std::get<Tensor>(have), whole(before + after))));
    return stretch_of(x, {axis, rank_of(x) - 1 - axis, have, -before, count}, Outside::wrapped, {});
}

Tensor wrapped(const Site& site, IntList before, IntList after) {
    Tensor x = without_negative_margins(site.in(0), before, after);
    for (int i = 0; i < site.rank(0); ++i)
        if (before[size_t(i)] || after[size_t(i)])
            x = wrapped_along(x, i, before[size_t(i)], after[size_t(i)]);
    return x;
}

double pad_value(const Site& site) {
    if (site.opset < 11) return site.attributes.number("value", 0);
    if (!site.has(2)) return 0;
    Tensor known = find_value(site.in(2));
    if (!known) unsupported("padding with a computed value");
    Tensor wide = to_host(known);
    if (wide.spec().numel() != 1)
        invalid("its constant_value has shape ", wide.shape(), ", expected one number");
    if (is_int(wide.dtype()) || wide.dtype() == DType::boolean) return double(numbers_in(wide)[0]);
    InterpreterScope scope(eager_interpreter());
    return *as_dtype(wide, DType::f64).data<double>();
}

// The sizes that x has in the shape `target`.
std::optional<Extents> reshaped_extents(const Tensor& x, const Tensor& target, bool allows_zero) {
    auto extents = known_extents(target);
    auto known = symbolic_value(target).elements;
    if (!extents || !known) return extents;
    Shape shape = symbolic_shape(x);
    std::optional<size_t> open;
    bool is_known = shape.is_known();
    SymbolicExtent given = 1;
    for (size_t i = 0; i < extents->size(); ++i) {
        auto& extent = (*extents)[i];
        if (!allows_zero && extent && extent->is(0))
            extent = int(i) < shape.rank() ? std::optional(shape.extent(int(i))) : std::nullopt;
        else if (extent && extent->lower() <= 0 && !allows_zero)
            extent.reset();  // it may be that of x
        if ((*known)[i].is(-1))
            open = i;
        else if (extent)
            given *= *extent;
        else
            is_known = false;
    }
    if (open && is_known) (*extents)[*open] = exact_quotient(shape.elements(), given);
    return extents;
}

Tensors import_shape(const Site& site) {
    int rank = site.rank(0);
    auto bound = [&](std::string_view name, int64_t otherwise) {
        int64_t value = site.attributes.value(name, otherwise);
        return int(std::clamp<int64_t>(value < 0 ? value + rank : value, 0, rank));
    };
    int start = bound("start", 0), end = bound("end", rank);
    if (start >= end) return {vector_of({})};
    if (auto shape = find_shape(site.in(0)))
        return {vector_of(IntList(shape->begin() + start, shape->begin() + end))};
    return {extents_of(site.in(0), start, end)};
}

Tensors import_size(const Site& site) {
    if (!site.rank(0)) return {scalar_tensor(1, DType::i64, host_device)};
    return {ops::prod(extents_of(site.in(0), 0, site.rank(0)))};
}

Tensors import_reshape(const Site& site) {
    bool allows_zero = site.attributes.integer("allowzero", 0);
    site.attributes.integers("consumed_inputs");
    if (Tensor many = with_many_axes(site, allows_zero)) return {many};
    auto* many = site.importer.tensors_of_many_axes().find(site.in(0));
    const Tensor& x = many ? many->elements : site.in(0);
    auto known = site.attributes.integers("shape");
    if (!known) known = site.find_values(1);
    if (many && !allows_zero && known && std::ranges::count(*known, 0))
        unsupported("a size that is copied from a tensor of rank ", many->extents.size());
    allows_zero |= bool(many);
    if (known)
        return {with_extents(reshaped(x, extents_in(x, *known, allows_zero)),
                             reshaped_extents(x, vector_of(*known), allows_zero))};
    Tensor target = allows_zero ? site.in(1) : without_zeros(site.in(1), x);
    return {with_extents(ops::reshape(x, target), reshaped_extents(x, site.in(1), allows_zero))};
}

Tensors import_flatten(const Site& site) {
    int rank = site.rank(0);
    int64_t axis = site.attributes.integer("axis", 1);
    if (axis < -rank || axis > rank) invalid("axis ", axis, " is out of range for rank ", rank);
    if (axis < 0) axis += rank;
    const Tensor& x = site.in(0);
    if (axis == 0) return {ops::reshape(x, {.shape = {1, -1}})};
    if (axis == rank) return {ops::reshape(x, {.shape = {-1, 1}})};
    // Each group of axes is flattened separately, so that any of them may be empty.
    Tensor rows = ops::flatten(x, {.start = 0, .end = int(axis) - 1});
    return {ops::flatten(rows, {.start = 1, .end = -1})};
}

Tensors import_transpose(const Site& site) {
    auto pattern = site.attributes.integers("perm");
    auto* many = site.importer.tensors_of_many_axes().find(site.in(0));
    if (!pattern) {
        pattern = all_axes(many ? int(many->extents.size()) : site.rank(0));
        std::ranges::reverse(*pattern);
    }
    if (many) return {transposed_axes(site, *many, *pattern)};
    return {pattern->empty() ? site.in(0) : ops::transpose(site.in(0), {.pattern = *pattern})};
}

Tensors import_concat(const Site& site) {
    int axis = site.axis(site.attributes.integer("axis", 1), site.rank(0));
    return {ops::concat(TensorList(Tensors(site.inputs().begin(), site.inputs().end())), {.axis = axis})};
}

Tensors import_split(const Site& site) {
    int axis = site.axis(site.attributes.integer("axis", 0), site.rank(0));
    bool is_late = !site.attributes.has("split") && site.has(1) && !site.find_values(1);
    if (is_late) return late_split(site.in(0), axis, site.in(1), site.outputs());
    auto sizes = site.values_of("split", 1);
    if (!sizes) return equal_parts(site, axis);
    if (sizes->size() != site.outputs())
        invalid("it has ", counted(sizes->size(), "part"), " but ", counted(site.outputs(), "output"));
    return parts_along(site, axis, *sizes);
}

Tensors import_slice(const Site& site) {
    const Tensor& x = site.in(0);
    Bounds bounds;
    if (site.opset < 10) {
        auto starts = site.attributes.integers("starts"), ends = site.attributes.integers("ends");
        if (!starts || !ends) invalid("its starts or ends are missing");
        bounds = {
            site.attributes.integers("axes").value_or(IntList()), {}, vector_of(*starts), vector_of(*ends)};
    } else {
        auto is_late = [&](size_t i) { return site.has(i) && !site.find_values(i); };
        if (is_late(3) || is_late(4)) {
            Tensor part = late_sliced(x, site.in(1), site.in(2), site.optional(3), site.optional(4));
            assume_like(part, symbolic_shape(x), all_axes(rank_of(x)));
            return {part};
        }
        bounds = {site.has(3) ? site.values(3, "axes") : IntList(),
                  site.has(4) ? site.values(4, "steps") : IntList(), site.in(1), site.in(2)};
    }
    auto count = size_t(length_of(bounds.starts, "a list of starts"));
    if (bounds.axes.empty()) bounds.axes = all_axes(int(count));
    if (bounds.steps.empty()) bounds.steps = IntList(count, 1);
    bool fits = bounds.axes.size() == count && bounds.steps.size() == count &&
                size_t(length_of(bounds.ends, "a list of ends")) == count;
    if (!fits) invalid("it has ", count, " starts, but not as many ends, axes or steps");
    for (int64_t& axis : bounds.axes) axis = site.axis(axis, rank_of(x));
    for (int64_t& step : bounds.steps) step = std::clamp(step, -beyond, beyond);
    return {count ? sliced(x, bounds) : x};
}

bool has_late_axes(const Site& site) {
    return !site.attributes.has("axes") && site.has(1) && !site.find_values(1);
}

// An axis that is kept and whose size differs between runs: with size 1 the rank would be different.
void check_longer_axis(const Site& site, const Tensor& x, int axis) {
    site.importer.prefer_at_least(x, axis, 2);
    Tensor is_one = as_dtype(ops::equal(std::get<Tensor>(extent_of(x, axis)), whole(1)), DType::i32);
    ops::assert_equal(ops::mul(is_one, number(is_one, 0)), is_one, {.max_error = 0});
}

Tensors import_squeeze(const Site& site) {
    const Tensor& x = site.in(0);
    if (has_late_axes(site)) return {late_squeezed(x, site.in(1))};
    auto axes = site.values_of("axes", 1);
    if (!axes) {
        axes.emplace();
        for (int i = 0; i < rank_of(x); ++i) {
            auto extent = find_extent(x, i);
            if (!extent) check_longer_axis(site, x, i);
            if (extent == 1) axes->push_back(i);
        }
    }
    return {axes->empty() ? x : ops::remove_axis(x, {.axes = *axes})};
}

Tensors import_unsqueeze(const Site& site) {
    if (has_late_axes(site)) return {late_unsqueezed(site.in(0), site.in(1))};
    auto axes = site.values_of("axes", 1);
    if (!axes) invalid("it has no axes");
    auto* many = site.importer.tensors_of_many_axes().find(site.in(0));
    int rank = (many ? int(many->extents.size()) : site.rank(0)) + int(axes->size());
    for (int64_t& axis : *axes) axis = site.axis(axis, rank);
    std::ranges::sort(*axes);
    if (rank > max_rank) return {with_more_axes(site, *axes)};
    return {axes->empty() ? site.in(0) : ops::add_axis(site.in(0), {.axes = *axes})};
}

Tensors import_expand(const Site& site) { return {expanded(site.in(0), site.in(1))}; }

// Copies along one axis after the other: the rank never grows by more than one.
Tensors import_tile(const Site& site) {
    Tensor x = site.in(0);
    if (site.opset < 6) unsupported("Tile of operator sets below 6");
    if (!site.find_values(1)) return {late_tiled(x, site.in(1))};
    auto repeats = site.values(1, "the number of copies");
    if (int(repeats.size()) != rank_of(x))
        invalid("its repeats have ", counted(repeats.size(), "number"), ", its input has rank ", rank_of(x));
    for (int i = 0; i < int(repeats.size()); ++i) {
        if (repeats[size_t(i)] < 0) invalid("its repeats hold ", repeats[size_t(i)], ", expected at least 0");
        if (repeats[size_t(i)] == 1) continue;
        IntList shape(repeats.size() + 1, -1);
        shape[size_t(i)] = repeats[size_t(i)];
        Tensor copies = ops::broadcast_to(ops::add_axis(x, {.axes = {i}}), {.shape = shape});
        x = ops::flatten(copies, {.start = i, .end = i + 1});
    }
    return {x};
}

Tensors with_late_margins(const Site& site) {
    std::string mode = site.attributes.word("mode", "constant");
    Outside outside = mode == "constant"  ? Outside::value
                      : mode == "edge"    ? Outside::edge
                      : mode == "reflect" ? Outside::mirrored
                                          : Outside::wrapped;
    if (outside == Outside::wrapped && mode != "wrap") unsupported("padding mode '", mode, "'");
    const Tensor& x = site.in(0);
    Tensor value = site.has(2) ? ops::reshape(site.in(2), {.shape = {}}) : number(x, 0);
    return {late_padded(x, site.in(1), site.optional(3), outside, value)};
}

// Margins, axes or a value are known only at run time.
bool has_late_margins(const Site& site) {
    if (site.opset < 11) return false;
    auto is_late = [&](size_t i) { return site.has(i) && !site.find_values(i); };
    bool is_late_value = site.has(2) && !find_value(site.in(2));
    return is_late(1) || is_late_value || is_late(3);
}

Tensors import_pad(const Site& site) {
    const Tensor& x = site.in(0);
    if (has_late_margins(site)) return with_late_margins(site);
    auto pads = site.opset < 2 ? site.attributes.integers("paddings") : site.values_of("pads", 1);
    if (!pads) invalid("it has no pads");
    auto axes = site.has(3) ? site.values(3, "axes") : all_axes(rank_of(x));
    if (pads->size() != 2 * axes.size())
        invalid("its pads have ", counted(pads->size(), "number"), " for ",
                counted(axes.size(), "axis", "axes"));
    IntList before(size_t(rank_of(x)), 0), after = before;
    for (size_t i = 0; i < axes.size(); ++i) {
        auto axis = size_t(site.axis(axes[i], rank_of(x)));
        before[axis] = std::clamp((*pads)[i], -beyond, beyond);
        after[axis] = std::clamp((*pads)[i + axes.size()], -beyond, beyond);
    }
    std::string mode = site.attributes.word("mode", "constant");
    if (mode == "wrap") return {wrapped(site, before, after)};
    ops::Pad::Params how{.value = pad_value(site)};
    if (mode == "reflect")
        how.mode = ops::PadMode::reflect;
    else if (mode == "edge")
        how.mode = ops::PadMode::replicate;
    else if (mode != "constant")
        unsupported("padding mode '", mode, "'");
    return {with_margins(x, before, after, how)};
}

Tensors import_depth_to_space(const Site& site) {
    const Tensor& x = site.in(0);
    if (rank_of(x) != 4) invalid("its input has rank ", rank_of(x), ", expected 4");
    int64_t block = site.attributes.integer("blocksize", 1);
    auto channels = find_extent(x, 1);
    if (!channels) unsupported("an open number of channels");
    std::string mode = site.attributes.word("mode", "DCR");
    if (mode != "DCR" && mode != "CRD") unsupported("the mode '", mode, "'");
    if (block < 1 || *channels % block || *channels / block % block)
        invalid(counted(*channels, "channel"), " cannot be divided into blocks of ", block);
    int64_t depth = *channels / block / block;
    Extent n = extent_of(x, 0), h = extent_of(x, 2), w = extent_of(x, 3);
    bool blocks_first = mode == "DCR";
    Tensor parts = blocks_first ? reshaped(x, {n, block, block, depth, h, w})
                                : reshaped(x, {n, depth, block, block, h, w});
    IntList order = blocks_first ? IntList{0, 3, 4, 1, 5, 2} : IntList{0, 1, 4, 2, 5, 3};
    Tensor rows = ops::flatten(ops::transpose(parts, {.pattern = order}), {.start = 4, .end = 5});
    return {ops::flatten(rows, {.start = 2, .end = 3})};
}

Tensors import_space_to_depth(const Site& site) {
    const Tensor& x = site.in(0);
    if (rank_of(x) != 4) invalid("its input has rank ", rank_of(x), ", expected 4");
    int64_t block = site.attributes.integer("blocksize", 1);
    auto blocks_along = [&](int axis) -> Extent {
        Extent extent = extent_of(x, axis);
        auto* known = std::get_if<int64_t>(&extent);
        if (block < 1 || (known && *known % block))
            invalid("its blocksize ", block, " does not divide the images of shape ", x.shape());
        if (known) return *known / block;
        return ops::floor_div(std::get<Tensor>(extent), vector_of({block}));
    };
    Tensor parts =
        reshaped(x, {extent_of(x, 0), extent_of(x, 1), blocks_along(2), block, blocks_along(3), block});
    std::string mode = site.attributes.word("mode", "DCR");
    if (mode != "DCR" && mode != "CRD") unsupported("the mode '", mode, "'");
    IntList order = mode == "DCR" ? IntList{0, 3, 5, 1, 2, 4} : IntList{0, 1, 3, 5, 2, 4};
    Tensor moved = ops::transpose(parts, {.pattern = order});
    return {ops::flatten(moved, {.start = 1, .end = 3})};
}

}  // namespace

ImportRows shape_rows() {
    static constexpr ImportRow rows[] = {
        {"Concat", import_concat},
        {"DepthToSpace", import_depth_to_space},
        {"Expand", import_expand, 8},
        {"Flatten", import_flatten},
        {"Pad", import_pad},
        {"Reshape", import_reshape, oldest_opset, newest_opset, Takes::many_axes},
        {"Shape", import_shape},
        {"Size", import_size},
        {"Slice", import_slice},
        {"SpaceToDepth", import_space_to_depth},
        {"Split", import_split},
        {"Squeeze", import_squeeze},
        {"Tile", import_tile},
        {"Transpose", import_transpose, oldest_opset, newest_opset, Takes::many_axes},
        {"Unsqueeze", import_unsqueeze, oldest_opset, newest_opset, Takes::many_axes},
    };
    return rows;
}

}  // namespace mge::onnx
