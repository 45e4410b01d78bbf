// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/take.h"

#include <algorithm>

#include "libmge/kernel/cuda/copy/make_nest.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/index/place_order.cuda.h"
#include "libmge/ops/index/slice/assigned_value.h"
#include "libmge/ops/index/take.cuda.h"

namespace mge::ops {
namespace {

struct Places {
    cuda::Combinations combinations{};
    cuda::Rows rows{};
    DType dtype = DType::none;
    size_t bytes = 0;  // size of x
    // Order of the changed positions.
    PlaceOrder order{};
    cuda::Nest value{};
};

// When the indexed axes are no neighbours, what is not indexed is one row, which is not dense.
void fill_scattered_row(cuda::Rows& rows, const Shape& x, const TakeShape& take) {
    auto strides = dense_strides(x);
    Shape rest;
    Strides rest_strides{};
    for (int i = 0; i < x.rank(); ++i) {
        if (std::find(take.axes.begin(), take.axes.end(), i) != take.axes.end()) continue;
        rest_strides[size_t(rest.rank())] = strides[size_t(i)];
        rest.push_back(x[i]);
    }
    rows.inner = rest.numel();
    rows.inner_nest = cuda::make_nest(rest, rest_strides);
}

cuda::Rows rows_of(const Shape& x, const TakeShape& take) {
    int first = take.axes.front(), last = take.axes.back();
    cuda::Rows rows{1, 0, take.indices.numel(), dense_strides(x)[size_t(last)], 1, {}};
    if (last - first + 1 != int(take.axes.size())) {
        fill_scattered_row(rows, x, take);
        return rows;
    }
    for (int i = 0; i < first; ++i) rows.outer *= x[i];
    rows.inner = rows.place_stride;
    rows.inner_nest = cuda::dense_nest(rows.inner);
    rows.outer_stride = rows.outer ? x.numel() / rows.outer : 0;
    return rows;
}

Places make_places(const Problem& problem, size_t first_index) {
    auto& x = problem.inputs[0];
    auto indices = problem.inputs.subspan(first_index);
    auto take = take_shape(problem.op, problem.as<Take::Params>(), x.shape, indices);
    Places places{.rows = rows_of(x.shape, take), .dtype = x.dtype, .bytes = x.bytes()};
    auto strides = dense_strides(x.shape);
    places.combinations.axes = int(indices.size());
    for (size_t i = 0; i < indices.size(); ++i) {
        int axis = take.axes[i];
        int64_t stride = places.rows.place_stride ? strides[size_t(axis)] / places.rows.place_stride : 0;
        // An operator's name ends with 0.
        places.combinations.axis[i] = {nullptr,
                                       cuda::broadcast_nest(indices[i].shape, take.indices),
                                       stride,
                                       {nullptr, problem.op.data(), axis, -x.shape[axis], x.shape[axis]}};
    }
    return places;
}

cuda::Combinations combinations_of(const Places& places, const Launch& launch, size_t first_index) {
    auto combinations = places.combinations;
    for (int i = 0; i < combinations.axes; ++i) {
        combinations.axis[i].index = launch.in<int32_t>(first_index + size_t(i));
        combinations.axis[i].check.fault = cuda::index_fault_of(launch);
    }
    return combinations;
}

Prepared prepare_take(const PrepareContext& context) {
    return Prepared::make(make_places(context.problem, 1));
}

void run_take(const Prepared& prepared, const Launch& launch) {
    auto& places = prepared.state<Places>();
    if (places.rows.numel() == 0) return;
    cuda::take_rows(cuda::stream_of(launch), places.rows, combinations_of(places, launch, 1),
                    size_of(places.dtype), launch.inputs[0], launch.outputs[0]);
}

template <PlaceOrder::Method method>
Support supports_change(const Problem& problem) {
    auto take = take_shape(problem.op, problem.as<Take::Params>(), problem.inputs[0].shape,
                           problem.inputs.subspan(2));
    auto support = plain_layouts(problem);
    return support ? PlaceOrder::supports(method, take.indices.numel()) : support;
}

template <PlaceOrder::Method method>
Prepared prepare_change(const PrepareContext& context) {
    auto& problem = context.problem;
    Places places = make_places(problem, 2);
    auto &x = problem.inputs[0].shape, &value = problem.inputs[1].shape;
    int64_t most_places = places.rows.place_stride ? x.numel() / places.rows.place_stride : 0;
    Shape result = take_shape(problem.op, problem.as<Take::Params>(), x, problem.inputs.subspan(2)).result;
    places.value = cuda::broadcast_nest(check_value_shape(problem.op, value, result), result);
    places.order = PlaceOrder::of(method, places.rows.count, most_places);
    size_t workspace = places.order.workspace();
    return Prepared::make(std::move(places), workspace);
}

// Copies x to y and puts the places in order.
cuda::OrderedPlaces start_change(const Places& places, const Launch& launch) {
    copy_first_input(launch, places.bytes);
    auto stream = cuda::stream_of(launch);
    auto keys = places.order.keys_in(launch.workspace);
    cuda::find_places(stream, places.rows.count, combinations_of(places, launch, 2), keys.keys, keys.numbers);
    return places.order.sort(stream, keys);
}

void run_set(const Prepared& prepared, const Launch& launch) {
    auto& places = prepared.state<Places>();
    if (places.rows.numel() == 0) return copy_first_input(launch, places.bytes);
    auto order = start_change(places, launch);
    cuda::set_rows(cuda::stream_of(launch), places.rows, order, places.value, size_of(places.dtype),
                   launch.inputs[1], launch.outputs[0]);
}

void run_add(const Prepared& prepared, const Launch& launch) {
    auto& places = prepared.state<Places>();
    if (places.rows.numel() == 0) return copy_first_input(launch, places.bytes);
    auto order = start_change(places, launch);
    cuda::add_rows(cuda::stream_of(launch), cuda::type_index(places.dtype), places.rows, order, places.value,
                   launch.inputs[1], launch.outputs[0]);
}

constexpr auto rank = PlaceOrder::Method::rank, radix = PlaceOrder::Method::radix;

constexpr Algorithm set_take_kernels[] = {{"rank", supports_change<rank>, prepare_change<rank>, run_set},
                                          {"radix", supports_change<radix>, prepare_change<radix>, run_set}};
constexpr Algorithm add_take_kernels[] = {{"rank", supports_change<rank>, prepare_change<rank>, run_add},
                                          {"radix", supports_change<radix>, prepare_change<radix>, run_add}};

}  // namespace

KernelList kernels(Cuda, Take) { return one_algorithm<prepare_take, run_take>("rows"); }
KernelList kernels(Cuda, SetTake) { return set_take_kernels; }
KernelList kernels(Cuda, AddTake) { return add_take_kernels; }

}  // namespace mge::ops
