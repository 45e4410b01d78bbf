// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/collective/collective.h"

#include <algorithm>
#include <set>

#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/convert/convert.h"

namespace mge::ops {

namespace {

using Mode = CollectiveMode;

void require_group(const Collective::Params& p) {
    std::set<int64_t> different(p.ranks.begin(), p.ranks.end());
    if (p.ranks.empty() || different.size() != p.ranks.size() || *different.begin() < 0)
        throw_value_error(Collective::name, "ranks must be distinct numbers of at least 0, got ",
                          to_text(p.ranks));
    if (p.rank < 0 || p.rank >= int64_t(p.ranks.size()))
        throw_value_error(Collective::name, "rank must be a position among ", p.ranks.size(),
                          " processes, got ", p.rank);
}

bool is_reduction(Mode mode) {
    return mode == Mode::all_reduce_sum || mode == Mode::all_reduce_max || mode == Mode::all_reduce_min ||
           mode == Mode::reduce_sum || mode == Mode::reduce_scatter_sum;
}

// The process's value is divided along the first axis, one part for each.
bool is_cut(const Collective::Params& p) {
    return p.mode == Mode::reduce_scatter_sum || p.mode == Mode::all_to_all ||
           (p.mode == Mode::scatter && p.rank == 0);
}

Shape with_first_extent(Shape shape, int64_t extent) {
    shape[0] = extent;
    return shape;
}

Shape result_shape(const Collective::Params& p, const Shape& x) {
    int64_t n = int64_t(p.ranks.size());
    bool is_joined = p.mode == Mode::all_gather || p.mode == Mode::gather;
    if (p.rank != 0 && (p.mode == Mode::reduce_sum || p.mode == Mode::gather)) return {0};
    if (!x.is_known() || !(is_joined || is_cut(p))) return x;
    auto mode_name = EnumNames<Mode>::names[size_t(p.mode)];
    if (x.rank() == 0) throw_value_error(Collective::name, mode_name, " needs a first axis, got a scalar");
    if (is_joined) return with_first_extent(x, x[0] * n);
    if (x[0] % n != 0)
        throw_value_error(Collective::name, mode_name, " cannot split the first axis of size ", x[0],
                          " into ", n, " equal parts");
    return p.mode == Mode::all_to_all ? x : with_first_extent(x, x[0] / n);
}

}  // namespace

TensorSpecs Collective::infer(const Params& p, Specs in) {
    require_group(p);
    bool has_sum = !is_narrow(in[0].dtype) && in[0].dtype != DType::boolean;
    if (is_reduction(p.mode) && !has_sum)
        throw_type_error(name, EnumNames<Mode>::names[size_t(p.mode)], " takes numbers, got dtype ",
                         in[0].dtype);
    return {{in[0].dtype, result_shape(p, in[0].shape), {}}};
}

// All processes of the group compute it, those too for which nothing comes of it.
Tensors Collective::gradient(const GradientContext<Params>& g) {
    auto& p = g.params;
    Tensor x = g.input("x"), dy = g.output_grad();
    auto exchanged = [&](Mode mode, const Tensor& given) {
        return collective(given, {.mode = mode, .ranks = p.ranks, .rank = p.rank});
    };
    auto for_first = [&](Mode mode) {
        Tensor sum = exchanged(mode, dy);
        return p.rank == 0 ? g.result({{"x", sum}}) : g.result({});
    };
    // A result on another process has no gradient here: x has the spec of the received one.
    const Tensor& received = p.rank == 0 ? dy : x;
    switch (p.mode) {
        case Mode::all_reduce_sum:
            return g.result({{"x", exchanged(Mode::all_reduce_sum, dy)}});
        case Mode::all_reduce_max:
        case Mode::all_reduce_min: {
            Tensor is_chosen = convert(equal(x, g.output()), {.dtype = x.spec().dtype});
            return g.result({{"x", mul(exchanged(Mode::all_reduce_sum, dy), is_chosen)}});
        }
        case Mode::reduce_sum:
            return g.result({{"x", exchanged(Mode::broadcast, received)}});
        case Mode::broadcast:
            return for_first(Mode::reduce_sum);
        case Mode::all_gather:
            return g.result({{"x", exchanged(Mode::reduce_scatter_sum, dy)}});
        case Mode::gather:
            return g.result({{"x", exchanged(Mode::scatter, received)}});
        case Mode::reduce_scatter_sum:
            return g.result({{"x", exchanged(Mode::all_gather, dy)}});
        case Mode::scatter:
            return for_first(Mode::gather);
        case Mode::all_to_all:
            return g.result({{"x", exchanged(Mode::all_to_all, dy)}});
    }
    MGE_CHECK(false);
}

}  // namespace mge::ops
