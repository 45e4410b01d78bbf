// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/gather.h"

#include "libmge/kernel/cuda/copy/make_nest.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/index/indexed_elements.cuda.h"
#include "libmge/ops/index/place_order.cuda.h"

namespace mge::ops {
namespace {

struct Places {
    cuda::IndexedElements elements;
    DType dtype;
    size_t bytes;  // size of x
    PlaceOrder order{};
};

Places make_places(const Problem& problem) {
    auto& x = problem.inputs[0];
    int axis = normalize_axis(problem.op, problem.as<Gather::Params>().axis, x.shape.rank());
    return {make_indexed_elements(problem, axis, problem.inputs[1].shape, -x.shape[axis]), x.dtype,
            x.bytes()};
}

Prepared prepare_places(const PrepareContext& context) {
    return Prepared::make(make_places(context.problem));
}

void run_gather(const Prepared& prepared, const Launch& launch) {
    auto& places = prepared.state<Places>();
    if (places.elements.numel() == 0) return;
    cuda::gather_elements(cuda::stream_of(launch), launched(places.elements, launch), size_of(places.dtype),
                          launch.inputs[0], launch.outputs[0]);
}

// A thread per line pays where lines are short, or so many that they fill the device.
Support supports_lines(const Problem& problem) {
    constexpr int64_t short_line = 64, many_lines = 16384;
    auto elements = make_places(problem).elements;
    if (elements.length > short_line && elements.lines < many_lines) return {"short lines or many of them"};
    return plain_layouts(problem);
}

void run_set_lines(const Prepared& prepared, const Launch& launch) {
    auto& places = prepared.state<Places>();
    copy_first_input(launch, places.bytes);
    if (places.elements.numel() == 0) return;
    cuda::set_lines(cuda::stream_of(launch), launched(places.elements, launch), size_of(places.dtype),
                    launch.inputs[2], launch.outputs[0]);
}

void run_add_lines(const Prepared& prepared, const Launch& launch) {
    auto& places = prepared.state<Places>();
    copy_first_input(launch, places.bytes);
    if (places.elements.numel() == 0) return;
    cuda::add_lines(cuda::stream_of(launch), cuda::type_index(places.dtype),
                    launched(places.elements, launch), launch.inputs[2], launch.outputs[0]);
}

template <PlaceOrder::Method method>
Support supports_order(const Problem& problem) {
    auto support = plain_layouts(problem);
    return support ? PlaceOrder::supports(method, problem.inputs[1].numel()) : support;
}

template <PlaceOrder::Method method>
Prepared prepare_order(const PrepareContext& context) {
    auto& problem = context.problem;
    Places places = make_places(problem);
    places.order = PlaceOrder::of(method, problem.inputs[1].numel(), problem.inputs[0].numel());
    size_t workspace = places.order.workspace();
    return Prepared::make(places, workspace);
}

cuda::OrderedPlaces find_order(const Places& places, const Launch& launch) {
    auto stream = cuda::stream_of(launch);
    auto keys = places.order.keys_in(launch.workspace);
    cuda::find_places(stream, launched(places.elements, launch), keys.keys, keys.numbers);
    return places.order.sort(stream, keys);
}

// Rows of one element each, and a dense source.
cuda::Rows rows_of(const Places& places) {
    return {1, 0, places.elements.numel(), 1, 1, cuda::dense_nest(1)};
}
cuda::Nest source_of(const Places& places) { return cuda::dense_nest(places.elements.numel()); }

void run_set_ordered(const Prepared& prepared, const Launch& launch) {
    auto& places = prepared.state<Places>();
    copy_first_input(launch, places.bytes);
    if (places.elements.numel() == 0) return;
    cuda::set_rows(cuda::stream_of(launch), rows_of(places), find_order(places, launch), source_of(places),
                   size_of(places.dtype), launch.inputs[2], launch.outputs[0]);
}

void run_add_ordered(const Prepared& prepared, const Launch& launch) {
    auto& places = prepared.state<Places>();
    copy_first_input(launch, places.bytes);
    if (places.elements.numel() == 0) return;
    auto order = find_order(places, launch);
    cuda::add_rows(cuda::stream_of(launch), cuda::type_index(places.dtype), rows_of(places), order,
                   source_of(places), launch.inputs[2], launch.outputs[0]);
}

constexpr auto rank = PlaceOrder::Method::rank, radix = PlaceOrder::Method::radix;

constexpr Algorithm scatter_kernels[] = {
    {"lines", supports_lines, prepare_places, run_set_lines},
    {"rank", supports_order<rank>, prepare_order<rank>, run_set_ordered},
    {"radix", supports_order<radix>, prepare_order<radix>, run_set_ordered}};
constexpr Algorithm scatter_add_kernels[] = {
    {"lines", supports_lines, prepare_places, run_add_lines},
    {"rank", supports_order<rank>, prepare_order<rank>, run_add_ordered},
    {"radix", supports_order<radix>, prepare_order<radix>, run_add_ordered}};

}  // namespace

KernelList kernels(Cuda, Gather) { return one_algorithm<prepare_places, run_gather>("elements"); }
KernelList kernels(Cuda, Scatter) { return scatter_kernels; }
KernelList kernels(Cuda, ScatterAdd) { return scatter_add_kernels; }

}  // namespace mge::ops
