// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/embedding.h"

#include "libmge/kernel/cuda/copy/make_nest.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/index/place_order.cuda.h"
#include "libmge/ops/index/take.cuda.h"

namespace mge::ops {
namespace {

struct Lookup {
    cuda::Rows rows;
    cuda::IndexCheck check;
    DType dtype;
    size_t bytes;  // size of the weight
    PlaceOrder order{};
};

Lookup make_lookup(const Problem& problem, int64_t count, const TensorSpec& weight) {
    int64_t rows = weight.shape[0], width = weight.shape[1];
    // An operator's name ends with 0.
    return {{1, 0, count, width, width, cuda::dense_nest(width)},
            {nullptr, problem.op.data(), 0, -rows, rows},
            weight.dtype,
            weight.bytes()};
}

cuda::Combinations combinations_of(const Lookup& lookup, const Launch& launch, size_t index) {
    cuda::Combinations one{};
    one.axes = 1;
    one.axis[0] = {launch.in<int32_t>(index), cuda::dense_nest(lookup.rows.count), 1, lookup.check};
    one.axis[0].check.fault = cuda::index_fault_of(launch);
    return one;
}

Prepared prepare_rows(const PrepareContext& context) {
    auto& inputs = context.problem.inputs;
    return Prepared::make(make_lookup(context.problem, inputs[1].numel(), inputs[0]));
}

void run_rows(const Prepared& prepared, const Launch& launch) {
    auto& lookup = prepared.state<Lookup>();
    if (lookup.rows.numel() == 0) return;
    cuda::take_rows(cuda::stream_of(launch), lookup.rows, combinations_of(lookup, launch, 1),
                    size_of(lookup.dtype), launch.inputs[0], launch.outputs[0]);
}

template <PlaceOrder::Method method>
Support supports_sums(const Problem& problem) {
    auto support = plain_layouts(problem);
    return support ? PlaceOrder::supports(method, problem.inputs[0].numel()) : support;
}

template <PlaceOrder::Method method>
Prepared prepare_sums(const PrepareContext& context) {
    auto& problem = context.problem;
    Lookup lookup = make_lookup(problem, problem.inputs[0].numel(), problem.outputs[0]);
    lookup.order = PlaceOrder::of(method, lookup.rows.count, problem.outputs[0].shape[0]);
    size_t workspace = lookup.order.workspace();
    return Prepared::make(lookup, workspace);
}

void run_sums(const Prepared& prepared, const Launch& launch) {
    auto& lookup = prepared.state<Lookup>();
    launch.queue->fill(launch.outputs[0], 0, lookup.bytes);
    if (lookup.rows.numel() == 0) return;
    auto stream = cuda::stream_of(launch);
    auto keys = lookup.order.keys_in(launch.workspace);
    cuda::find_places(stream, keys.length, combinations_of(lookup, launch, 0), keys.keys, keys.numbers);
    auto order = lookup.order.sort(stream, keys);
    auto dense = cuda::dense_nest(lookup.rows.numel());
    cuda::add_rows(stream, cuda::type_index(lookup.dtype), lookup.rows, order, dense, launch.inputs[1],
                   launch.outputs[0]);
}

constexpr auto rank = PlaceOrder::Method::rank, radix = PlaceOrder::Method::radix;

constexpr Algorithm embedding_backward_kernels[] = {
    {"rank", supports_sums<rank>, prepare_sums<rank>, run_sums},
    {"radix", supports_sums<radix>, prepare_sums<radix>, run_sums}};

}  // namespace

KernelList kernels(Cuda, Embedding) { return one_algorithm<prepare_rows, run_rows>("rows"); }
KernelList kernels(Cuda, EmbeddingBackward) { return embedding_backward_kernels; }

}  // namespace mge::ops
