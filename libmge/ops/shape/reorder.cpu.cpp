// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <optional>

#include "libmge/kernel/cpu/strided_copy.h"
#include "libmge/ops/shape/reorder.h"
#include "libmge/ops/shape/reorder_onednn.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

// Where index i of an axis lies: (i / block) * outer + (i % block) * inner elements from the start.
struct AxisPlaces {
    int64_t block = 1, outer = 0, inner = 0;
    int64_t at(int64_t i) const { return i / block * outer + i % block * inner; }
};
using Places = std::array<AxisPlaces, max_rank>;

// Nullopt when an axis has several blocks.
std::optional<Places> places_of(const TensorSpec& spec) {
    Places places;
    if (spec.layout.is_plain()) {
        Strides strides = dense_strides(spec.shape);
        for (int i = 0; i < spec.shape.rank(); ++i) places[size_t(i)].outer = strides[size_t(i)];
        return places;
    }
    for (int i = 0; i < spec.layout.size(); ++i) {
        auto digit = spec.layout[i];
        if (digit.block && std::exchange(places[digit.axis].block, digit.block) != 1) return std::nullopt;
    }
    int64_t stride = 1;
    for (int i = spec.layout.size() - 1; i >= 0; --i) {
        auto digit = spec.layout[i];
        auto& axis = places[digit.axis];
        (digit.block ? axis.inner : axis.outer) = stride;
        int64_t extent = spec.shape[digit.axis];
        stride *= digit.block ? digit.block : (extent + axis.block - 1) / axis.block;
    }
    return places;
}

bool pads(const TensorSpec& spec) { return spec.bytes() > size_t(spec.numel()) * size_of(spec.dtype); }

// --- reference: element by element ---

struct ReferenceState {
    TensorSpec x;
    Places from, to;
    size_t y_bytes;
};

Support has_places(const Problem& problem) {
    if (!places_of(problem.inputs[0]) || !places_of(problem.outputs[0]))
        return {"an axis has several blocks"};
    return supported;
}

Prepared prepare_reference(const PrepareContext& context) {
    auto &x = context.problem.inputs[0], &y = context.problem.outputs[0];
    return Prepared::make(ReferenceState{x, *places_of(x), *places_of(y), y.bytes()});
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<ReferenceState>();
    std::memset(launch.outputs[0], 0, s.y_bytes);
    dispatch_size(s.x.dtype, [&](auto type) {
        using T = typename decltype(type)::type;
        for (int64_t element = 0; element < s.x.numel(); ++element) {
            int64_t rest = element, from = 0, to = 0;
            for (int i = s.x.shape.rank() - 1; i >= 0; --i) {
                from += s.from[size_t(i)].at(rest % s.x.shape[i]);
                to += s.to[size_t(i)].at(rest % s.x.shape[i]);
                rest /= s.x.shape[i];
            }
            launch.out<T>(0)[to] = launch.in<T>(0)[from];
        }
    });
}

// --- strided: whole blocks as one copy along strides, the last, incomplete ones as another ---

struct CopyState {
    std::vector<StridedCopy> copies;
    size_t zeroed = 0;  // bytes to clear before: where the target pads
};

// The two layouts may both have blocks only when these are the same; index i = q * block + r.
int64_t common_block(const AxisPlaces& from, const AxisPlaces& to) { return std::max(from.block, to.block); }

Support supports_strided(const Problem& problem) {
    if (auto support = has_places(problem); !support) return support;
    Places from = *places_of(problem.inputs[0]), to = *places_of(problem.outputs[0]);
    for (int i = 0; i < problem.inputs[0].shape.rank(); ++i) {
        auto &a = from[size_t(i)], &b = to[size_t(i)];
        if (a.block != 1 && b.block != 1 && a.block != b.block) return {"blocks of different sizes"};
    }
    return supported;
}

int64_t whole_stride(const AxisPlaces& axis, int64_t block) {
    return axis.block == block ? axis.outer : block * axis.outer;
}
int64_t part_stride(const AxisPlaces& axis, int64_t block) {
    return axis.block == block && block > 1 ? axis.inner : axis.outer;
}

// The elements whose index in `split` (an axis with blocks, or −1) lies in whole blocks, or in the last one.
StridedCopy copy_part(const TensorSpec& x, const Places& from, const Places& to, int split, bool is_tail) {
    Shape shape;
    StridedSide source, target;
    auto add = [&](int64_t extent, int64_t from_stride, int64_t to_stride) {
        source.strides[size_t(shape.rank())] = from_stride;
        target.strides[size_t(shape.rank())] = to_stride;
        shape.push_back(extent);
    };
    for (int i = 0; i < x.shape.rank(); ++i) {
        auto &a = from[size_t(i)], &b = to[size_t(i)];
        int64_t block = common_block(a, b), whole = x.shape[i] / block;
        if (i == split && is_tail) {
            source.offset = whole * whole_stride(a, block);
            target.offset = whole * whole_stride(b, block);
            add(x.shape[i] % block, part_stride(a, block), part_stride(b, block));
            continue;
        }
        add(whole, whole_stride(a, block), whole_stride(b, block));
        if (block > 1) add(block, part_stride(a, block), part_stride(b, block));
    }
    return {size_of(x.dtype), shape, source, target};
}

Prepared prepare_strided(const PrepareContext& context) {
    auto &x = context.problem.inputs[0], &y = context.problem.outputs[0];
    Places from = *places_of(x), to = *places_of(y);
    int split = -1;
    for (int i = 0; i < x.shape.rank(); ++i)
        if (common_block(from[size_t(i)], to[size_t(i)]) > 1) split = i;
    CopyState state;
    if (pads(y)) state.zeroed = y.bytes();
    if (split < 0 || x.shape[split] >= common_block(from[size_t(split)], to[size_t(split)]))
        state.copies.push_back(copy_part(x, from, to, split, false));
    if (split >= 0 && x.shape[split] % common_block(from[size_t(split)], to[size_t(split)]))
        state.copies.push_back(copy_part(x, from, to, split, true));
    return Prepared::make(std::move(state));
}

void run_strided(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<CopyState>();
    if (state.zeroed) std::memset(launch.outputs[0], 0, state.zeroed);
    for (auto& copy : state.copies) copy.run(launch.inputs[0], launch.outputs[0], launch.threads);
}

}  // namespace

KernelList kernels(Cpu, Reorder) {
    static const Algorithm list[] = {
        onednn_reorder(),
        {"strided", supports_strided, prepare_strided, run_strided},
        {"reference", has_places, prepare_reference, run_reference, {.naive = true}},
    };
    return list;
}

}  // namespace mge::ops
