// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/names.h"
#include "libmge/ops/reduce/reduce.cuda.cuh"

namespace mge::cuda {
namespace {

template <class A>
struct Candidate {
    A value;
    int32_t index;
};
template <class A>
MGE_DEVICE Candidate<A> exchanged(Candidate<A> c, int bits) {
    return {cuda::exchanged(c.value, bits), cuda::exchanged(c.index, bits)};
}

// The extreme and where it is first; the first NaN if there is one.
template <class T, bool is_max>
struct Search {
    using Value = Candidate<Combined<T>>;
    using Total = Value;
    const void* x;
    int32_t* y;
    int x_type;

    static MGE_DEVICE Value combine(Value a, Value b) {
        bool is_a_nan = a.value != a.value, is_b_nan = b.value != b.value;
        bool are_same = a.value == b.value || (is_a_nan && is_b_nan);
        bool is_b_better = is_b_nan ? !is_a_nan : (is_max ? b.value > a.value : b.value < a.value);
        return is_b_better || (are_same && b.index < a.index) ? b : a;
    }
    static MGE_DEVICE Total join(Total a, Total b) { return combine(a, b); }
    static MGE_DEVICE Total widen(Value value) { return value; }
    // Behind everything that is as good.
    static MGE_DEVICE Total identity() {
        if constexpr (is_integer<Combined<T>>)
            return {is_max ? Limits<Combined<T>>::lowest : Limits<Combined<T>>::highest,
                    Limits<int32_t>::highest};
        else
            return {__uint_as_float(is_max ? 0xff800000 : 0x7f800000), Limits<int32_t>::highest};
    }

    template <int pack>
    MGE_DEVICE void load(int64_t at, int64_t r, int step, Value (&v)[pack]) const {
        Combined<T> values[pack];
        load_elements<Combined<T>, T>(x, at, x_type, values);
#pragma unroll
        for (int k = 0; k < pack; ++k) v[k] = {values[k], int32_t(r) + k * step};
    }
    MGE_DEVICE void store(int64_t output, Total total) const { y[output] = total.index; }
};

template <class T, bool is_max>
void run_search(Stream stream, const ReduceArguments& a) {
    static_assert(sizeof(typename Search<T, is_max>::Total) <= most_total_bytes);
    Search<T, is_max> search{a.x, static_cast<int32_t*>(a.y), a.x_type};
    reduce<packed<T>>(stream, search, a.geometry, is_aligned(a.x), a.workspace);
}

template <bool is_max, class... T>
ReduceKernels searches(Types<T...>) {
    return {{run_search<Read<T>, is_max>...}};
}

}  // namespace

template <>
ReduceKernels reduce_kernels<ops::Argmax>() {
    return searches<true>(AllTypes{});
}
template <>
ReduceKernels reduce_kernels<ops::Argmin>() {
    return searches<false>(AllTypes{});
}

}  // namespace mge::cuda
