// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/shapes/extents.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "libmge/device/device.h"
#include "libmge/model/import/onnx/operators.h"
#include "libmge/op/apply.h"
#include "libmge/ops/create/arange.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::onnx {

int rank_of(const Tensor& t) {
    auto rank = find_rank(t);
    if (!rank) unsupported("an input whose rank is known only at run time");
    return *rank;
}

IntList numbers_in(const Tensor& constant) {
    IntList result;
    if (is_float(constant.dtype()) || is_narrow(constant.dtype()))
        invalid("a list of integers has dtype ", constant.dtype());
    dispatch_dtype(constant.dtype(), AllTypes{}, [&]<class T>(std::type_identity<T>) {
        auto* data = constant.data<T>();
        for (int64_t i = 0; i < constant.spec().numel(); ++i) result.push_back(int64_t(data[i]));
    });
    return result;
}

int64_t only(const IntList& numbers, std::string_view what) {
    if (numbers.size() != 1) invalid(what, " has ", numbers.size(), " values, expected one");
    return numbers[0];
}

Tensor as_literal(const Tensor& t) {
    if (!t.is_symbolic() && t.spec().numel() <= known_value_limit) t.impl()->symbol = literal_mark;
    return t;
}

Tensor number(const Tensor& like, double value) {
    return as_literal(scalar_tensor(value, like.dtype(), host_device));
}

Tensor whole(int64_t value) { return scalar_tensor(double(value), DType::i64, host_device); }
Tensor real(double value, DType dtype) { return scalar_tensor(value, dtype, host_device); }

Tensor vector_of(const IntList& values) {
    return as_literal(
        tensor_from_host({DType::i64, {int64_t(values.size())}, {}}, values.data(), host_device));
}

Tensor as_dtype(const Tensor& t, DType dtype) { return t.dtype() == dtype ? t : convert_dtype(t, dtype); }
Tensor as_index(const Tensor& t) {
    if (t.dtype() != DType::i64 && t.dtype() != DType::u64 && t.dtype() != DType::u32)
        return as_dtype(t, DType::i32);
    constexpr auto least = std::numeric_limits<int32_t>::min(), most = std::numeric_limits<int32_t>::max();
    Tensor known = find_value(t);
    bool fits = known && std::ranges::all_of(numbers_in(known), [](int64_t n) { return n == int32_t(n); });
    if (fits) return as_dtype(known, DType::i32);
    Tensor bounded = ops::minimum(t, number(t, most));
    if (t.dtype() == DType::i64) bounded = ops::maximum(bounded, number(t, least));
    return as_dtype(bounded, DType::i32);
}
Tensor as_float(const Tensor& t) { return as_dtype(t, DType::f32); }
DType wide(DType dtype) { return dtype == DType::f64 ? dtype : DType::f32; }
Tensor as_wide(const Tensor& t) { return as_dtype(t, wide(t.dtype())); }
Tensor as_scalar(const Tensor& t) { return ops::reshape(t, {.shape = {}}); }

IntList all_axes(int rank) {
    IntList axes(size_t(rank), 0);
    std::iota(axes.begin(), axes.end(), 0);
    return axes;
}

Tensor extents_of(const Tensor& x, int begin, int end) {
    Tensor all = as_dtype(ops::shape_of(x), DType::i64);
    return begin == 0 && end == rank_of(x) ? all : cut(all, 0, begin, end);
}

Extent extent_of(const Tensor& x, int axis) { return as_dtype(ops::shape_of(x, {.axis = axis}), DType::i64); }

Tensor target_of(const std::vector<Extent>& extents) {
    Tensors parts;
    IntList known;
    auto flush = [&] {
        if (!known.empty()) parts.push_back(vector_of(std::exchange(known, {})));
    };
    for (auto& extent : extents) {
        if (auto* value = std::get_if<int64_t>(&extent)) {
            known.push_back(*value);
            continue;
        }
        flush();
        parts.push_back(std::get<Tensor>(extent));
    }
    flush();
    return parts.size() == 1 ? parts[0] : ops::concat(TensorList(parts), {.axis = 0});
}

Tensor reshaped(const Tensor& x, const std::vector<Extent>& extents) {
    IntList known;
    for (auto& extent : extents)
        if (auto* value = std::get_if<int64_t>(&extent)) known.push_back(*value);
    if (known.size() == extents.size()) return ops::reshape(x, {.shape = known});
    return ops::reshape(x, target_of(extents));
}

Tensor cut(const Tensor& x, int axis, int64_t begin, int64_t end) {
    return ops::slice({x}, {.items = {axis, begin, end, ops::absent_bound, 0}});
}

Tensor element(const Tensor& x, int axis, int64_t i) {
    return ops::slice({x}, {.items = {axis, i, i, 1, 1}});
}

Tensor with_trailing_axes(const Tensor& x, int count) {
    IntList axes;
    for (int i = 0; i < count; ++i) axes.push_back(rank_of(x) + i);
    return axes.empty() ? x : ops::add_axis(x, {.axes = axes});
}

Tensor count_up(const Extent& count, DType dtype) {
    if (auto* known = std::get_if<int64_t>(&count))
        return ops::arange({.start = 0, .stop = double(*known), .step = 1, .dtype = dtype});
    return with_unknown_length(ops::arange(Tensor(), std::get<Tensor>(count), Tensor(), {.dtype = dtype}));
}

Tensor moved_axis(const Tensor& x, int from, int to) {
    if (from == to) return x;
    if (std::max(from, to) >= rank_of(x))
        invalid("axis ", std::max(from, to), " is out of range for ", x.shape());
    IntList pattern = all_axes(rank_of(x));
    pattern.erase(pattern.begin() + from);
    pattern.insert(pattern.begin() + to, from);
    return ops::transpose(x, {.pattern = pattern});
}

}  // namespace mge::onnx
